package editor

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl"
	"hatchel/hcl/diag"
	"hatchel/hcl/eval/exprlang"
	"hatchel/hcl/functions"
)

// Hover is a text about a part of a file, as Markdown.
type Hover struct {
	Text string
	Span Span
}

// Hover returns what there is to say about an offset of a file; nil for nothing.
func (p *Project) Hover(f *File, offset int) *Hover {
	at := p.At(f, offset)
	switch b := at.Block(); at.Part {
	case PartType:
		if b.Kind != nil {
			return &Hover{b.Kind.Documentation(), spanOf(b.TypeRange)}
		}
	case PartLabel:
		return p.hoverLabel(at)
	case PartName:
		if at.Field != nil {
			return &Hover{fieldDocumentation(at.Field), spanOf(at.Attribute.NameRange)}
		}
		return p.hoverValue(at, spanOf(at.Attribute.Expr.Range()), spanOf(at.Attribute.NameRange))
	case PartValue:
		return p.hoverExpr(at)
	}
	return nil
}

// hoverExpr describes the innermost part of a value of which something is known, and how the ${} around it is bound.
func (p *Project) hoverExpr(at *Place) *Hover {
	if pin := p.hoverPin(at); pin != nil {
		return pin
	}
	known := p.notesOf(at.File.Name)
	var text []string
	var span Span
	v := known.valueAt(at.Offset)
	if v != nil && isLiteral(at.Expr()) && length(v.At) >= at.Expr().Range().End.Byte-at.Expr().Range().Start.Byte {
		v = nil // everybody sees what it is
	}
	if v != nil {
		text, span = append(text, valueText(v)), spanOfRange(v.At)
	}
	if usage, doc, name := functionAt(at); usage != "" {
		text, span = []string{"```\n" + usage + "\n```\n" + doc}, name
	}
	if r := known.referenceAt(at.Offset); r != nil && text == nil {
		if about := p.describe(symbolOf(r)); about != "" {
			return &Hover{about, spanOfRange(r.At)}
		}
	}
	if at.Interpolation != nil {
		if b := known.bindingAt(at.Offset); b != nil {
			how := b.How
			if bound := known.outermostIn(*at.Interpolation); bound != nil {
				how += ", " + cmp.Or(bound.Type.Format, bound.Type.Kind.String())
			}
			text = append(text, "Bound as "+how+".")
			if len(text) == 1 {
				span = spanOfRange(b.At)
			}
		}
	}
	if text == nil {
		return nil
	}
	return &Hover{strings.Join(text, "\n\n"), span}
}

func isLiteral(e hclsyntax.Expression) bool {
	switch e := e.(type) {
	case *hclsyntax.LiteralValueExpr:
		return true
	case *hclsyntax.TemplateExpr:
		return e.IsStringLiteral()
	}
	return false
}

// functionAt returns the usage and the documentation of the function whose name is at the place, in HCL or in a quoted
// expression; empty for none.
func functionAt(at *Place) (usage, doc string, name Span) {
	if call, ok := at.Expr().(*hclsyntax.FunctionCallExpr); ok && spanOf(call.NameRange).Contains(at.Offset) {
		name = spanOf(call.NameRange)
	} else if at.Quoted() {
		name = wordAt(at.File.Src, at.Offset)
	}
	word := string(at.File.Src[name.From:name.To])
	after := strings.TrimLeft(string(at.File.Src[name.To:min(len(at.File.Src), name.To+8)]), " ")
	if word == "" || !strings.HasPrefix(after, "(") {
		return "", "", name
	}
	if fn, ok := functions.Lookup(word); ok {
		return fn.Usage(), fn.Doc, name
	}
	if at.Quoted() {
		for _, b := range exprlang.Builtins() {
			if b.Name == word {
				return b.Usage, b.Doc, name
			}
		}
	} else {
		for _, f := range hcl.TemplateFunctions() {
			if before, _, _ := strings.Cut(f.Usage, "("); before == word {
				return f.Usage, f.Doc, name
			}
		}
	}
	return "", "", name
}

// Quoted reports whether the value is an expression in quotes.
func (p *Place) Quoted() bool {
	return p.Part == PartValue && p.Field != nil && strings.HasPrefix(p.Field.Type, "expr")
}

// wordAt returns the identifier around an offset; an empty span for none.
func wordAt(src []byte, offset int) Span {
	isWord := func(c byte) bool {
		return c == '_' || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
	}
	s := Span{offset, offset}
	for s.From > 0 && isWord(src[s.From-1]) {
		s.From--
	}
	for s.To < len(src) && isWord(src[s.To]) {
		s.To++
	}
	return s
}

func (p *Project) hoverValue(at *Place, of, span Span) *Hover {
	if v := p.notesOf(at.File.Name).valueOf(of); v != nil {
		return &Hover{valueText(v), span}
	}
	return nil
}

// maxShownValue is the number of bytes of a value that a hover shows.
const maxShownValue = 200

// valueText describes a value: its type, whether it may be null, and itself if it is known.
func valueText(v *notedValue) string {
	text := "`" + v.Type.String() + "`"
	if v.Type.Format != "" {
		text += ", " + v.Type.Format
	}
	switch {
	case v.Sensitive:
		text += ", secret"
	case v.Known:
		if shown, err := json.Marshal(v.Value); err == nil && v.Value != nil && len(shown) <= maxShownValue {
			text += " = `" + string(shown) + "`"
		}
	}
	if v.NullReason != "" {
		text += "\n\nMay be null: " + v.NullReason + "."
	} else if v.Type.Nullable {
		text += "\n\nMay be null."
	}
	if v.Type.Description != "" {
		text += "\n\n" + v.Type.Description
	}
	if len(v.Type.Examples) > 0 {
		if shown, err := json.Marshal(v.Type.Examples[0]); err == nil {
			text += "\n\nExample: `" + string(shown) + "`"
		}
	}
	return text
}

func spanOfRange(r diag.Range) Span { return Span{r.Start.Byte, r.End.Byte} }
