package hcl

import (
	"errors"
	"io/fs"
	"net/url"
	"path"
	"strings"

	"hatchel/hcl/agentskill"
	"hatchel/hcl/decode"
	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
	"hatchel/internal/lazyregexp"
)

// Skill is one skill block: a directory in the format of Agent Skills, whose files clients read as resources. The
// embedded Resource is that of its SKILL.md.
type Skill struct {
	Resource
	Directory string // below the configuration directory
	Content   *agentskill.Skill

	path string // before the name in the URI; empty for none
}

// skillScheme is that of the URIs of skills.
const skillScheme = "skill://"

// Root returns the URI of the directory of the skill.
func (s *Skill) Root() string { return strings.TrimSuffix(s.URI, "/"+agentskill.ManifestName) }

// URIOf returns the URI of a file or a directory of the skill, by its path; empty for the directory itself.
func (s *Skill) URIOf(name string) string {
	uri := s.Root()
	if name == "" {
		return uri
	}
	for segment := range strings.SplitSeq(name, "/") {
		uri += "/" + url.PathEscape(segment)
	}
	return uri
}

// PathOf returns the path of what a URI names in the skill, whether there is such a file or not: empty for the
// directory itself. It reports false for a URI of something else.
func (s *Skill) PathOf(uri string) (name string, ok bool) {
	if uri == s.Root() {
		return "", true
	}
	name, ok = strings.CutPrefix(uri, s.Root()+"/")
	if !ok {
		return "", false
	}
	name, err := url.PathUnescape(name)
	return name, err == nil && name != ""
}

// skillDecoder decodes a skill block.
type skillDecoder struct {
	*operationDecoder
	skill *Skill
}

func newSkillDecoder(l *loader, b sourceBlock) *skillDecoder {
	s := &skillDecoder{skill: &Skill{Resource: Resource{Listed: true, MimeType: "text/markdown"}}}
	s.operationDecoder = newOperationDecoder(l, b, "skill", &s.skill.Operation)
	s.result = s.skill
	return s
}

// decodeSkills decodes the skill blocks. The resources are complete by now.
func (l *loader) decodeSkills() {
	l.decodeOperations("skill", func(b sourceBlock) *operationDecoder { return newSkillDecoder(l, b).decode() })
	total := 0
	for _, s := range l.config.Skills {
		if s.Content == nil {
			continue // its mistake was reported
		}
		l.checkSkillURIs(s)
		for _, f := range s.Content.Files {
			total += len(f.Content)
		}
		if total > maxSkills {
			l.diags.Errorf(s.Range, "Skills too large", "The files of all skills have more than %d MiB. They are kept "+
				"in memory: serve large files as resources.", maxSkills>>20)
			return
		}
	}
}

// checkSkillURIs reports what else is served at a URI of the skill. A skill in another one is a part of it, so its
// files are the same.
func (l *loader) checkSkillURIs(s *Skill) {
	for _, r := range l.config.Resources {
		uri := r.URI
		if r.Template != nil {
			uri = r.Template.Prefix()
		}
		if _, inside := s.PathOf(uri); inside {
			l.diags.Errorf(r.Range, "URI of a skill", "%s is in the directory of the skill %q, all of whose files are "+
				"served there. Write another URI.", uri, s.Name)
			l.diags.Relate(s.Range)
		}
	}
	for _, outer := range l.config.Skills {
		at, inside := outer.PathOf(s.Root())
		if inside && outer != s && path.Join(outer.Directory, at) != s.Directory {
			l.diags.Errorf(s.Range, "URI of a skill", "%s is in the directory of the skill %q, so its directory must "+
				"be %s, not %s. Or write another path.", s.Root(), outer.Name, path.Join(outer.Directory, at),
				s.Directory)
			l.diags.Relate(outer.Range)
		}
	}
}

// maxSkills is how many bytes the files of all skills have.
const maxSkills = 64 << 20

// skillSpec is the spec of a skill block, in the order of the reference.
func skillSpec(s *skillDecoder) decode.Spec { return decode.Join(s.headSpec(), s.accessSpec()) }

func (s *skillDecoder) headSpec() decode.Spec {
	return decode.Spec{
		decode.Attr(&s.skill.Directory, "directory", "The directory with the SKILL.md, relative to the configuration "+
			"directory. All of its files are published, except hidden ones, those that .hatchelignore names, and "+
			"links that lead out of it.").DefaultDoc("skills/<name>"),
		decode.Attr(&s.skill.path, "path", "A path before the name in the URI: with \"acme/billing\" it is "+
			"skill://acme/billing/<name>/SKILL.md.").Check(s.checkPath),
		s.enabledField(),
	}
}

func (s *skillDecoder) accessSpec() decode.Spec {
	return decode.Spec{
		s.guard(s.requiredScopesField()),
		s.guard(decode.Guard(&s.op.Allow, "allow",
			"Who may read the skill: an expression over caller. Policies can only restrict this further.")),
	}
}

func (s *skillDecoder) decode() *operationDecoder {
	d, b := s.dec, s.block
	s.op.Name = b.Labels[0]
	if !agentskill.IsName(s.op.Name) {
		d.Errorf(b.LabelRanges[0], "Invalid skill name", "The name of a skill has 1 to %d lower-case letters and "+
			"digits, with single hyphens between them, not %q.", agentskill.MaxName, s.op.Name)
	}
	head, access := s.headSpec(), s.accessSpec()
	d.CheckNames(b.Block, head, access)
	d.Fields(b.Block, head)
	s.inputs.buildInputType()
	d.Scope = s.scope()
	d.Fields(b.Block, access)
	s.skill.URI = skillScheme + path.Join(s.skill.path, s.op.Name, agentskill.ManifestName)
	if !d.MissingValue && !d.Diags.HasErrors() {
		s.readDirectory()
	}
	s.skill.Digest = s.digest()
	return s.operationDecoder
}

var skillPath = lazyregexp.New(`^[A-Za-z0-9_~-][A-Za-z0-9._~-]*(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)*$`)

// checkPath reports an invalid path.
func (s *skillDecoder) checkPath(d *decode.Decoder, at Range) {
	if !skillPath.MatchString(s.skill.path) {
		d.Diags.Errorf(at, "Invalid skill path", "The path has names of letters, digits, _, ~, - and . that do not "+
			"begin with a dot, with slashes between them, as in \"acme/billing\", not %q.", s.skill.path)
	}
}

// readDirectory reads the files of the skill, which become dependencies of the block.
func (s *skillDecoder) readDirectory() {
	d, at := s.dec, s.attrRange("directory")
	if !s.has("directory") {
		s.skill.Directory = path.Join("skills", s.op.Name)
	}
	s.skill.Directory = path.Clean(s.skill.Directory)
	if !fs.ValidPath(s.skill.Directory) || s.skill.Directory == "." {
		d.Diags.Errorf(at, "Invalid skill directory", "The directory of a skill is one below the configuration "+
			"directory, as in \"skills/%s\", not %q.", s.op.Name, s.skill.Directory)
		return
	}
	content, err := agentskill.Read(s.loader.skillFiles(s.skill.Directory), s.skill.Directory)
	d.Deps.ReadsFiles = true
	manifest := path.Join(s.skill.Directory, agentskill.ManifestName)
	if wrong, ok := errors.AsType[*agentskill.FrontmatterError](err); ok {
		place := diag.Pos{Line: wrong.Line, Column: 1}
		d.Diags.Errorf(Range{File: manifest, Start: place, End: place}, "Invalid frontmatter", "%s.", wrong.Text)
		return
	}
	if err != nil {
		d.Diags.Errorf(at, "Unreadable skill", "%s.", diag.ToSentence(err.Error()))
		return
	}
	if name := content.Frontmatter.Name; name != s.op.Name {
		d.Errorf(s.block.LabelRanges[0], "Contradictory skill name", "The name in %s is %q, and hosts refuse a skill "+
			"with another name in its URI. Write the same name in both.", manifest, name)
	}
	for _, f := range content.Files {
		name := path.Join(s.skill.Directory, f.Path)
		s.loader.fileDigests.Store(name, f.Digest)
		d.Deps.FilesDigest = eval.HashParts(d.Deps.FilesDigest, name, f.Digest)
		if _, isConfiguration := s.loader.config.Sources[name]; isConfiguration {
			d.Diags.Errorf(at, "Configuration in a skill", "%s is read as configuration, because its name ends in "+
				".hcl. Give an example in a skill another name, such as %s.txt.", name, name)
		}
	}
	s.skill.Content, s.skill.Description = content, content.Frontmatter.Description
	s.skill.Size = len(content.Manifest().Content)
}

// skillLister is a file system that lists what a skill publishes of a directory. Within is the directory of the skill,
// out of which no link leads.
type skillLister interface {
	ListSkill(dir, within string) ([]fs.DirEntry, error)
}

// skillFiles implements agentskill.Directory.
type skillFiles struct {
	fsys   fs.FS
	within string
}

func (l *loader) skillFiles(within string) skillFiles { return skillFiles{l.fsys, within} }

// List implements agentskill.Directory.
func (s skillFiles) List(dir string) ([]fs.DirEntry, error) {
	if lister, ok := s.fsys.(skillLister); ok {
		return lister.ListSkill(dir, s.within)
	}
	all, err := fs.ReadDir(s.fsys, dir)
	var list []fs.DirEntry
	for _, e := range all {
		if !strings.HasPrefix(e.Name(), ".") && (e.IsDir() || e.Type().IsRegular()) {
			list = append(list, e)
		}
	}
	return list, err
}

// ReadFile implements agentskill.Directory.
func (s skillFiles) ReadFile(name string) ([]byte, error) { return fs.ReadFile(s.fsys, name) }

// AppliesToSkill reports whether the policy applies to the skill.
func (p *Policy) AppliesToSkill(name string) bool { return p.appliesTo("skills", name) }

// HasSkill reports whether the toolset contains the skill.
func (t *Toolset) HasSkill(name string) bool { return t == nil || matchesAny(t.Skills, name) }
