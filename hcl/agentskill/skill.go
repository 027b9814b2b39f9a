// Package agentskill reads a directory in the format of Agent Skills (agentskills.io): a SKILL.md with YAML
// frontmatter, and the files that it refers to.
package agentskill

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"hatchel/hcl/eval"
	"hatchel/hcl/media"
	"hatchel/internal/lazyregexp"
)

// ManifestName is the name of the file that every skill has.
const ManifestName = "SKILL.md"

// The limits of one skill are those of the extension of the protocol (SEP-2640), up to which hosts must load a skill.
const (
	MaxFiles = 512
	MaxSize  = 16 << 20 // bytes of all files
	maxDepth = 16       // of directories
)

// File is one file of a skill.
type File struct {
	Path     string // below the directory of the skill, with slashes
	Content  []byte
	Digest   string // "sha256:" and 64 hexadecimal digits
	MimeType string
	IsText   bool // it is UTF-8, so that it can be sent as a text
}

// Skill is what a directory holds.
type Skill struct {
	Files       []*File // by path
	Frontmatter *Frontmatter
}

// Manifest returns the SKILL.md.
func (s *Skill) Manifest() *File { return s.File(ManifestName) }

// File returns the file with a path; nil for none.
func (s *Skill) File(name string) *File {
	i, ok := slices.BinarySearchFunc(s.Files, name, func(f *File, name string) int {
		return strings.Compare(f.Path, name)
	})
	if !ok {
		return nil
	}
	return s.Files[i]
}

// Directory lists and reads what is below the configuration directory, by slash paths.
type Directory interface {
	// List returns what may be published of a directory, by name.
	List(dir string) ([]fs.DirEntry, error)
	ReadFile(name string) ([]byte, error)
}

// Read reads a skill. The error is a phrase for the author, and a *FrontmatterError for a mistake in the SKILL.md.
func Read(from Directory, dir string) (*Skill, error) {
	r := &reader{from: from, root: dir, skill: new(Skill)}
	if err := r.directory(dir, 0); err != nil {
		return nil, err
	}
	slices.SortFunc(r.skill.Files, func(a, b *File) int { return strings.Compare(a.Path, b.Path) })
	manifest := r.skill.Manifest()
	if manifest == nil {
		return nil, fmt.Errorf("the directory %s has no file %s", dir, ManifestName)
	}
	if !manifest.IsText {
		return nil, fmt.Errorf("the file %s is not UTF-8", path.Join(dir, ManifestName))
	}
	frontmatter, err := ParseFrontmatter(manifest.Content)
	if err != nil {
		return nil, err
	}
	r.skill.Frontmatter = frontmatter
	return r.skill, nil
}

// reader reads the files of one skill.
type reader struct {
	from  Directory
	root  string
	skill *Skill
	dirs  int
	size  int
}

func (r *reader) directory(dir string, depth int) error {
	if r.dirs++; depth > maxDepth || r.dirs > MaxFiles {
		return fmt.Errorf("the directory %s has more than %d levels of directories, or more than %d directories",
			r.root, maxDepth, MaxFiles)
	}
	entries, err := r.from.List(dir)
	if err != nil {
		return reasonOf("directory "+dir, err)
	}
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		if e.IsDir() {
			err = r.directory(name, depth+1)
		} else {
			err = r.file(name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) file(name string) error {
	content, err := r.from.ReadFile(name)
	if err != nil {
		return reasonOf("file "+name, err)
	}
	r.size += len(content)
	switch {
	case len(r.skill.Files) == MaxFiles:
		return fmt.Errorf("the directory %s has more than %d files, the limit of the protocol", r.root, MaxFiles)
	case r.size > MaxSize:
		return fmt.Errorf("the files of %s have more than %d bytes, the limit of the protocol", r.root, MaxSize)
	}
	file := &File{Path: strings.TrimPrefix(name, r.root+"/"), Content: content, Digest: eval.ContentDigest(content),
		IsText: utf8.Valid(content)}
	if r.root == "." {
		file.Path = name
	}
	file.MimeType = media.TypeByExtension(name)
	switch {
	case file.MimeType != "":
	case file.IsText:
		file.MimeType = "text/plain"
	default:
		file.MimeType = "application/octet-stream"
	}
	r.skill.Files = append(r.skill.Files, file)
	return nil
}

// reasonOf returns why a file or a directory cannot be read.
func reasonOf(what string, err error) error {
	var known interface{ Reason() string }
	switch {
	case errors.As(err, &known):
		return fmt.Errorf("the %s cannot be read: %s", what, known.Reason())
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("the %s does not exist", what)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("permission to read the %s is denied", what)
	}
	return fmt.Errorf("the %s cannot be read", what)
}

var namePattern = lazyregexp.New(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// MaxName is how many characters the name of a skill has.
const MaxName = 64

// IsName reports whether a text satisfies the naming rules of skills.
func IsName(text string) bool { return len(text) <= MaxName && namePattern.MatchString(text) }

// scriptEndings are those of files that are run, and not read.
var scriptEndings = strings.Fields("awk bash bat cjs cmd com dll dylib exe fish jar js ksh lua mjs msi php pl ps1 py " +
	"pyc rb scpt sh so tcl ts vbs wasm zsh")

// IsScript reports whether a file is a script or a program, by its name or its first bytes. The protocol sends no mode.
func (f *File) IsScript() bool {
	if slices.Contains(scriptEndings, strings.ToLower(strings.TrimPrefix(path.Ext(f.Path), "."))) {
		return true
	}
	for _, magic := range []string{"#!", "\x7fELF", "MZ", "\xcf\xfa\xed\xfe", "\xca\xfe\xba\xbe", "\x00asm"} {
		if bytes.HasPrefix(f.Content, []byte(magic)) {
			return true
		}
	}
	return false
}
