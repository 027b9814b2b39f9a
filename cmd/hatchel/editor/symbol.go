package editor

import (
	"bytes"
	"slices"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl"
	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
)

// Symbol is a declaration of a configuration. Two places with the same Symbol name the same declaration.
type Symbol struct {
	Kind  string // "var", "secret", "local", "input", "step", "type", "connection", "tool", "prompt", …
	Name  string
	Owner string // the block that it belongs to, such as "tool x", or the kind of a connection; empty for none
}

// symbolOf returns the declaration that a place names.
func symbolOf(r *eval.Reference) Symbol { return Symbol{r.Kind, r.Name, r.Owner} }

// complete shrinks the place of a read to its name, and names the block that a local declaration belongs to.
func (p *Project) complete(r eval.Reference) eval.Reference {
	src := p.Config.Sources[r.At.File]
	from, to := max(0, r.At.Start.Byte), min(len(src), r.At.End.Byte)
	if i := bytes.LastIndex(src[from:max(from, to)], []byte(r.Name)); i >= 0 {
		r.At.End.Byte = from + i + len(r.Name)
		r.At.Start.Byte = from + i
	}
	if r.Local && r.Owner == "" {
		r.Owner = p.ownerAt(r.At)
	}
	return r
}

// ownerAt returns the first line of the top-level block around a place.
func (p *Project) ownerAt(at diag.Range) string {
	for i := range p.Config.Blocks {
		b := &p.Config.Blocks[i]
		if b.Whole.File == at.File && b.Whole.Start.Byte <= at.Start.Byte && at.End.Byte <= b.Whole.End.Byte {
			return ownerOf(b)
		}
	}
	return ""
}

func ownerOf(b *hcl.BlockHeader) string {
	if len(b.Labels) == 0 {
		return b.Type
	}
	return b.Type + " " + b.Labels[0]
}

// symbolOfHeader returns the declaration of a top-level block and the index of the label that is its name.
func symbolOfHeader(b *hcl.BlockHeader) (Symbol, int, bool) {
	kind := hcl.DeclaredKind(b.Type)
	switch {
	case kind == "" || len(b.Labels) == 0:
		return Symbol{}, 0, false
	case b.Type == "connection" && len(b.Labels) == 2:
		return Symbol{kind, b.Labels[1], b.Labels[0]}, 1, true
	}
	return Symbol{Kind: kind, Name: b.Labels[0]}, 0, true
}

// Declared is a declaration and where its name is written.
type Declared struct {
	Symbol
	At    diag.Range // of the name, without quotes
	Whole diag.Range // of the block or the argument
}

// Declarations returns the declarations of a file, in written order.
func Declarations(f *File) (all []Declared) {
	for _, b := range f.Body.Blocks {
		h := hcl.HeaderOf(b)
		if s, label, ok := symbolOfHeader(&h); ok {
			all = append(all, Declared{s, unquoted(f, h.Names[label]), h.Whole})
		}
		if b.Type == "locals" {
			all = append(all, localsOf(b, "")...)
			continue
		}
		for _, inner := range b.Body.Blocks {
			all = append(all, innerDeclarations(f, inner, ownerOf(&h))...)
		}
	}
	slices.SortStableFunc(all, func(a, b Declared) int { return a.At.Start.Byte - b.At.Start.Byte })
	return all
}

// innerDeclarations returns the declarations of a block inside of a top-level block.
func innerDeclarations(f *File, b *hclsyntax.Block, owner string) []Declared {
	kind := map[string]string{"input": "input", "argument": "input", "step": "step"}[b.Type]
	switch {
	case b.Type == "locals":
		return localsOf(b, owner)
	case kind == "" || len(b.Labels) == 0:
		return nil
	}
	h := hcl.HeaderOf(b)
	return []Declared{{Symbol{kind, b.Labels[0], owner}, unquoted(f, h.Names[0]), h.Whole}}
}

func localsOf(b *hclsyntax.Block, owner string) (all []Declared) {
	for _, a := range b.Body.Attributes {
		all = append(all, Declared{Symbol{"local", a.Name, owner}, diag.RangeOf(a.NameRange), diag.RangeOf(a.SrcRange)})
	}
	return all
}

// unquoted returns the range of a label without its quotes.
func unquoted(f *File, r diag.Range) diag.Range {
	if r.End.Byte-r.Start.Byte >= 2 && f.Src[r.Start.Byte] == '"' && f.Src[r.End.Byte-1] == '"' {
		r.Start.Byte, r.Start.Column = r.Start.Byte+1, r.Start.Column+1
		r.End.Byte, r.End.Column = r.End.Byte-1, r.End.Column-1
	}
	return r
}
