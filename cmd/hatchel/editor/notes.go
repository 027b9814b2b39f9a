package editor

import (
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/decode"
	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
	"hatchel/hcl/schema"
	"hatchel/hcl/template"
)

// ignorer is an observer that ignores everything. Observers embed it for what they do not use.
type ignorer struct{}

var _ decode.Observer = ignorer{}

func (ignorer) Value(diag.Range, eval.TypedExpr)                 {}
func (ignorer) Reference(eval.Reference)                         {}
func (ignorer) Binding(diag.Range, string, template.BindingKind) {}
func (ignorer) Name(string, func() eval.Place)                   {}
func (ignorer) Body(*hclsyntax.Block, []decode.Spec)             {}
func (ignorer) Argument(decode.Field, hclsyntax.Expression)      {}

// notes are what is shown of a block: the values of its expressions, what they read, and how each ${...} is bound.
type notes struct {
	ignorer
	Values     []notedValue
	References []eval.Reference
	Bindings   []notedBinding
}

// notedValue is what is known of the value of an expression.
type notedValue struct {
	At   diag.Range
	Type *schema.Type
	eval.Facts
}

// notedBinding is how a ${...} is bound.
type notedBinding struct {
	At   diag.Range // of the whole ${...}
	How  string     // such as "SQL parameter 2"
	Kind template.BindingKind
}

// Value implements eval.Observer.
func (n *notes) Value(at diag.Range, e eval.TypedExpr) {
	if e.Type != nil {
		n.Values = append(n.Values, notedValue{at, e.Type, e.Facts})
	}
}

// Reference implements eval.Observer.
func (n *notes) Reference(r eval.Reference) { n.References = append(n.References, r) }

// Binding implements eval.Observer.
func (n *notes) Binding(at diag.Range, how string, kind template.BindingKind) {
	n.Bindings = append(n.Bindings, notedBinding{at, how, kind})
}

// notesOf returns the notes about a file. It has none about a file that was not open when the project was loaded.
func (p *Project) notesOf(name string) *notes {
	p.once.Do(p.gatherNotes)
	if n := p.notes[name]; n != nil {
		return n
	}
	return &notes{}
}

// gatherNotes sorts the notes of the load by file, and completes what the decoder of a block did not know.
func (p *Project) gatherNotes() {
	p.notes = map[string]*notes{}
	of := func(r diag.Range) *notes {
		n := p.notes[r.File]
		if n == nil {
			n = &notes{}
			p.notes[r.File] = n
		}
		return n
	}
	for _, o := range p.Config.Observers {
		list := o.(*notes)
		for _, v := range list.Values {
			n := of(v.At)
			n.Values = append(n.Values, v)
		}
		for _, r := range list.References {
			n := of(r.At)
			n.References = append(n.References, p.complete(r))
		}
		for _, b := range list.Bindings {
			n := of(b.At)
			n.Bindings = append(n.Bindings, b)
		}
	}
}

// valueAt returns what is known of the innermost expression around an offset; nil for nothing.
func (n *notes) valueAt(offset int) (found *notedValue) {
	for i := range n.Values {
		v := &n.Values[i]
		if s := spanOfRange(v.At); s.Contains(offset) && (found == nil || s.To-s.From <= length(found.At)) {
			found = v
		}
	}
	return found
}

// outermostIn returns what is known of the longest expression in a span; nil for nothing.
func (n *notes) outermostIn(s Span) (found *notedValue) {
	for i := range n.Values {
		v := &n.Values[i]
		of := spanOfRange(v.At)
		if s.From <= of.From && of.To <= s.To && (found == nil || of.To-of.From > length(found.At)) {
			found = v
		}
	}
	return found
}

// valueOf returns what is known of the expression at exactly a span; nil for nothing.
func (n *notes) valueOf(s Span) *notedValue {
	for i := range n.Values {
		if spanOfRange(n.Values[i].At) == s {
			return &n.Values[i]
		}
	}
	return nil
}

// bindingAt returns how the innermost ${...} around an offset is bound; nil if that is not known.
func (n *notes) bindingAt(offset int) (found *notedBinding) {
	for i := range n.Bindings {
		b := &n.Bindings[i]
		if s := spanOfRange(b.At); s.Contains(offset) && (found == nil || s.To-s.From < length(found.At)) {
			found = b
		}
	}
	return found
}

// referenceAt returns the declaration that is named at an offset; nil for none.
func (n *notes) referenceAt(offset int) *eval.Reference {
	for i := range n.References {
		if spanOfRange(n.References[i].At).Contains(offset) {
			return &n.References[i]
		}
	}
	return nil
}

func length(r diag.Range) int { return r.End.Byte - r.Start.Byte }
