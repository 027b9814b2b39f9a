package editor

import (
	"cmp"
	"slices"
	"strings"

	"hatchel/hcl"
	"hatchel/hcl/diag"
)

// Found is the name of a declaration at an offset of a file.
type Found struct {
	Symbol
	Span Span // of the name
}

// SymbolAt returns the declaration that is named or declared at an offset; nil for none.
func (p *Project) SymbolAt(f *File, offset int) *Found {
	for _, d := range Declarations(f) {
		if spanOfRange(d.At).Contains(offset) {
			return &Found{d.Symbol, spanOfRange(d.At)}
		}
	}
	if r := p.notesOf(f.Name).referenceAt(offset); r != nil {
		return &Found{symbolOf(r), spanOfRange(r.At)}
	}
	return nil
}

// Definition returns where the declarations are that are named at an offset: one, or several for a pattern such as
// "invoice_*" and for an input in a policy of several tools.
func (p *Project) Definition(f *File, offset int) (all []Declared) {
	found := p.SymbolAt(f, offset)
	if found == nil {
		return nil
	}
	for _, s := range p.meant(found.Symbol) {
		all = append(all, p.declared(s)...)
	}
	return all
}

// meant returns the declarations that a symbol stands for: itself, what a pattern matches, or the inputs of the
// operations of a policy.
func (p *Project) meant(s Symbol) (all []Symbol) {
	policy, isPolicy := strings.CutPrefix(s.Owner, "policy ")
	switch {
	case s.Kind == "input" && isPolicy:
		for _, owner := range p.ownersUnder(policy) {
			all = append(all, Symbol{"input", s.Name, owner})
		}
		return all
	case strings.Contains(s.Name, "*"):
		for i := range p.Config.Blocks {
			d, _, ok := symbolOfHeader(&p.Config.Blocks[i])
			if ok && d.Kind == s.Kind && hcl.MatchesPattern(s.Name, d.Name) {
				all = append(all, d)
			}
		}
		return all
	}
	return []Symbol{s}
}

// ownersUnder returns the blocks to which a policy applies.
func (p *Project) ownersUnder(policy string) (owners []string) {
	for _, x := range p.Config.Policies {
		if x.Name != policy {
			continue
		}
		for _, t := range p.Config.Tools {
			if x.AppliesToTool(t.Name) {
				owners = append(owners, "tool "+t.Name)
			}
		}
		for _, t := range p.Config.Prompts {
			if x.AppliesToPrompt(t.Name) {
				owners = append(owners, "prompt "+t.Name)
			}
		}
		for _, t := range p.Config.Resources {
			if x.AppliesToResource(t.Name) {
				owners = append(owners, "resource "+t.Name)
			}
		}
	}
	return owners
}

// declared returns the declarations of a symbol. There are several if a name is declared twice.
func (p *Project) declared(s Symbol) (all []Declared) {
	names := map[string]bool{}
	for i := range p.Config.Blocks {
		b := &p.Config.Blocks[i]
		own, _, _ := symbolOfHeader(b)
		if own == s || s.Owner != "" && ownerOf(b) == s.Owner || s.Kind == "local" && b.Type == "locals" {
			names[b.Header.File] = true
		}
	}
	for _, name := range diag.SortedNames(names) {
		for _, d := range Declarations(p.file(name)) {
			if d.Symbol == s {
				all = append(all, d)
			}
		}
	}
	return all
}

// file returns a file of the load.
func (p *Project) file(name string) *File {
	if f, ok := p.files.Load(name); ok {
		return f.(*File)
	}
	f, _ := p.files.LoadOrStore(name, Parse(name, p.Config.Sources[name]))
	return f.(*File)
}

// Use is a place that names a declaration.
type Use struct {
	At      diag.Range
	Pattern bool // a pattern with * that matches the name, or a policy's input that several tools have
	Symbol
}

// References returns the places of the whole configuration that name what is named at an offset, and with
// declarations also those, sorted.
func (p *Project) References(f *File, offset int, declarations bool) (all []diag.Range) {
	found := p.SymbolAt(f, offset)
	if found == nil {
		return nil
	}
	whole := p.withAllNotes()
	for _, s := range p.meant(found.Symbol) {
		for _, u := range whole.uses(s) {
			all = append(all, u.At)
		}
		if declarations {
			for _, d := range p.declared(s) {
				all = append(all, d.At)
			}
		}
	}
	slices.SortFunc(all, compareRanges)
	return slices.Compact(all)
}

func compareRanges(a, b diag.Range) int {
	return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.Start.Byte, b.Start.Byte))
}

// uses returns the places that name a declaration, in a project with all notes, sorted, each once.
func (p *Project) uses(s Symbol) (all []Use) {
	p.once.Do(p.gatherNotes)
	for _, n := range p.notes {
		for i := range n.References {
			r := &n.References[i]
			if r.Kind != s.Kind {
				continue
			}
			named := symbolOf(r)
			if named == s {
				all = append(all, Use{r.At, false, named})
			} else if slices.Contains(p.meant(named), s) {
				all = append(all, Use{r.At, true, named})
			}
		}
	}
	slices.SortFunc(all, func(a, b Use) int { return compareRanges(a.At, b.At) })
	return slices.CompactFunc(all, func(a, b Use) bool { return a.At == b.At })
}

// Occurrences returns the places of one file that name what is named at an offset, sorted.
func (p *Project) Occurrences(f *File, offset int) (all []Span) {
	found := p.SymbolAt(f, offset)
	if found == nil {
		return nil
	}
	for _, d := range Declarations(f) {
		if d.Symbol == found.Symbol {
			all = append(all, spanOfRange(d.At))
		}
	}
	for _, r := range p.notesOf(f.Name).References {
		if symbolOf(&r) == found.Symbol {
			all = append(all, spanOfRange(r.At))
		}
	}
	slices.SortFunc(all, func(a, b Span) int { return a.From - b.From })
	return slices.Compact(all)
}

// Declares reports whether the configuration declares a symbol.
func (p *Project) Declares(s Symbol) bool { return len(p.declared(s)) > 0 }
