package editor

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl"
	"hatchel/hcl/diag"
	"hatchel/internal/lazyregexp"
)

// Edit replaces a part of a file.
type Edit struct {
	Span
	Text string
}

// RenameError says why a name cannot be changed.
type RenameError struct{ Text string }

func (e *RenameError) Error() string { return e.Text }

func refusef(format string, args ...any) error { return &RenameError{fmt.Sprintf(format, args...)} }

// Rename returns the changes of files, by name, that give what is named at an offset another name everywhere: where it
// is declared, where it is read, in quoted expressions, in tests, in toolsets and policies, and in descriptions. The
// error is a *RenameError if the name is not valid or means something else, and if the loaded result would differ in
// more than the name.
func (p *Project) Rename(f *File, offset int, name string) (map[string][]Edit, error) {
	if f.Broken() {
		return nil, refusef("%s has a syntax error in line %d. Mend it first.", f.Name, f.Diags[0].Subject.Start.Line)
	}
	found := p.SymbolAt(f, offset)
	if found == nil || strings.Contains(found.Name, "*") {
		return nil, refusef("There is no name here that can be changed.")
	}
	s := found.Symbol
	if err := p.checkNewName(s, name); err != nil {
		return nil, err
	}
	whole := p.withAllNotes()
	for _, d := range whole.Diags {
		if d.Severity == diag.Error && p.file(d.Subject.File).Broken() {
			return nil, refusef("%s has a syntax error in line %d, so the places that name %s are not known. Mend it "+
				"first.", d.Subject.File, d.Subject.Start.Line, s.Name)
		}
	}
	edits, err := whole.renameEdits(s, name)
	if err != nil {
		return nil, err
	}
	return edits, whole.checkRenamed(s, name, edits)
}

var exposedName = lazyregexp.New(`^[A-Za-z0-9_.-]{1,64}$`)

// checkNewName refuses a name that is not valid or taken.
func (p *Project) checkNewName(s Symbol, name string) error {
	switch s.Kind {
	case "tool", "prompt", "resource", "toolset", "policy":
		if !exposedName.MatchString(name) {
			return refusef("The name of %s has 1 to 64 letters, digits, _, - and ., not %q.",
				diag.WithArticle(s.Kind), name)
		}
	case "test":
		if name == "" || strings.ContainsAny(name, "\"\\\n$%") {
			return refusef("%q cannot be the name of a test.", name)
		}
	default:
		if !hclsyntax.ValidIdentifier(name) {
			return refusef("The name must start with a letter and consist of letters, digits, _ and -, not %q.", name)
		}
	}
	if len(p.declared(s)) == 0 {
		return refusef("%s is not declared in this configuration.", s.Name)
	}
	other := s
	other.Name = name
	if taken := p.declared(other); len(taken) > 0 && name != s.Name {
		return refusef("There is already %s %q at %s:%d.", diag.WithArticle(s.Noun()), name, taken[0].At.File,
			taken[0].At.Start.Line)
	}
	return nil
}

// renameEdits returns the changes for a new name, in a project with all notes.
func (p *Project) renameEdits(s Symbol, name string) (map[string][]Edit, error) {
	edits := map[string][]Edit{}
	add := func(r diag.Range, text string) {
		edits[r.File] = append(edits[r.File], Edit{spanOfRange(r), text})
	}
	for _, d := range p.declared(s) {
		add(d.At, name)
	}
	for _, u := range p.uses(s) {
		switch {
		case !u.Pattern:
			add(u.At, name)
		case s.Kind == "input":
			if meant := p.meant(u.Symbol); p.haveInput(meant) > 1 {
				return nil, refusef("%s reads the input %q of several tools at %s:%d. Change it by hand.", u.Owner,
					s.Name, u.At.File, u.At.Start.Line)
			}
			add(u.At, name)
		case !hcl.MatchesPattern(u.Symbol.Name, name): // the pattern no longer has it
			if len(p.meant(u.Symbol)) == 1 {
				add(u.At, name)
				continue
			}
			at := u.At
			at.Start = at.End
			add(at, `", "`+name)
		}
	}
	if err := p.checkPatterns(s, name); err != nil {
		return nil, err
	}
	for file := range edits {
		slices.SortFunc(edits[file], func(a, b Edit) int { return a.From - b.From })
		edits[file] = slices.Compact(edits[file])
	}
	return edits, nil
}

// haveInput counts the inputs that are declared.
func (p *Project) haveInput(inputs []Symbol) (n int) {
	for _, s := range inputs {
		if len(p.declared(s)) > 0 {
			n++
		}
	}
	return n
}

// checkPatterns refuses a name that a pattern matches which does not match the old one: a toolset would offer more, or
// a policy apply to more.
func (p *Project) checkPatterns(s Symbol, name string) error {
	for _, n := range p.notes {
		for _, r := range n.References {
			if r.Kind == s.Kind && strings.Contains(r.Name, "*") && hcl.MatchesPattern(r.Name, name) &&
				!hcl.MatchesPattern(r.Name, s.Name) {
				return refusef("The pattern %q at %s:%d would have %s too.", r.Name, r.At.File, r.At.Start.Line, name)
			}
		}
	}
	return nil
}

// checkRenamed loads the changed configuration and refuses a change that gives other mistakes, or that makes a name
// mean something else.
func (p *Project) checkRenamed(s Symbol, name string, edits map[string][]Edit) error {
	files := map[string][]byte{}
	for file, list := range edits {
		files[file] = Apply(p.Config.Sources[file], list)
	}
	after := p.Load(overlay{p.fsys, files}, p.opts, p.noted)
	before := countMistakes(p.Diags)
	for _, d := range after.Diags {
		key := mistakeOf(d)
		if before[key]--; before[key] < 0 {
			return refusef("With the name %q the configuration has a mistake at %s:%d: %s. %s", name, d.Subject.File,
				d.Subject.Start.Line, d.Summary, d.Text())
		}
	}
	renamed := s
	renamed.Name = name
	if s.Kind == "tool" || s.Kind == "prompt" || s.Kind == "resource" || s.Kind == "test" {
		return nil // their inputs and steps have another owner, and patterns are checked
	}
	if had, has := len(p.uses(s)), len(after.uses(renamed)); had != has {
		return refusef("%q means something else in some places.", name)
	}
	return nil
}

func countMistakes(ds diag.Diagnostics) map[string]int {
	n := map[string]int{}
	for _, d := range ds {
		n[mistakeOf(d)]++
	}
	return n
}

// mistakeOf identifies a diagnostic without its position, which a change moves, and without its text, which may name
// what is renamed.
func mistakeOf(d *diag.Diagnostic) string { return d.Subject.File + "\x00" + d.Rule() }

// Apply returns a text with changes, which are sorted and do not overlap.
func Apply(src []byte, edits []Edit) []byte {
	var out []byte
	last := 0
	for _, e := range edits {
		out = append(append(out, src[last:e.From]...), e.Text...)
		last = e.To
	}
	return append(out, src[last:]...)
}

// overlay is a file system in which some files have another content.
type overlay struct {
	fs.FS
	files map[string][]byte
}

// ReadFile implements fs.ReadFileFS.
func (o overlay) ReadFile(name string) ([]byte, error) {
	if content, ok := o.files[name]; ok {
		return content, nil
	}
	return fs.ReadFile(o.FS, name)
}

// ReadDir implements fs.ReadDirFS.
func (o overlay) ReadDir(name string) ([]fs.DirEntry, error) { return fs.ReadDir(o.FS, name) }

// Stat implements fs.StatFS.
func (o overlay) Stat(name string) (fs.FileInfo, error) { return fs.Stat(o.FS, name) }
