package editor

import (
	"strings"

	hclv2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/decode"
)

// Place is what stands at an offset of a file.
type Place struct {
	File   *File
	Offset int
	Blocks []Block // around the offset, outermost first
	Part   Part
	Label  int // which label of the innermost block, if Part is PartLabel
	// the argument, if Part is PartName or PartValue; Field is nil for an argument that the Spec does not have
	Attribute     *hclsyntax.Attribute
	Field         *decode.Field
	Exprs         []hclsyntax.Expression // of the value, around the offset, outermost first
	Interpolation *Span                  // the innermost ${...} around the offset, with its braces; nil for none
}

// Block is a block and its kind, which is nil for one that the language does not have.
type Block struct {
	*hclsyntax.Block
	Kind *Kind
}

// Part is a part of a block or of a file.
type Part int

const (
	PartBody  Part = iota // between the arguments and blocks of the innermost block, or of the file
	PartType              // the type of the innermost block
	PartLabel             // a label of the innermost block
	PartName              // the name of an argument
	PartValue             // the value of an argument
)

// At returns what stands at an offset of a file. An offset right after a name belongs to the name.
func (l *Language) At(f *File, offset int) *Place {
	p := &Place{File: f, Offset: offset}
	l.descend(p, f.Body, nil)
	if p.Attribute != nil && p.Part == PartValue {
		p.Exprs = exprsAt(p.Attribute.Expr, offset)
		p.findInterpolation()
	}
	return p
}

// descend finds the part of a body that holds the offset.
func (l *Language) descend(p *Place, body *hclsyntax.Body, kind *Kind) {
	for _, b := range body.Blocks {
		if !spanOf(b.Range()).Contains(p.Offset) {
			continue
		}
		inner := l.keyed(b.Type, b.Labels)
		if len(p.Blocks) > 0 {
			inner = l.Inside(kind, b.Type, b.Labels)
		}
		p.Blocks = append(p.Blocks, Block{b, inner})
		if spanOf(b.TypeRange).Contains(p.Offset) {
			p.Part = PartType
			return
		}
		for i, r := range b.LabelRanges {
			if spanOf(r).Contains(p.Offset) {
				p.Part, p.Label = PartLabel, i
				return
			}
		}
		l.descend(p, b.Body, inner)
		return
	}
	for _, a := range body.Attributes {
		switch {
		case spanOf(a.NameRange).Contains(p.Offset):
			p.Attribute, p.Part = a, PartName
		case a.EqualsRange.End.Byte <= p.Offset && p.Offset <= valueEnd(p.File, a):
			p.Attribute, p.Part = a, PartValue
		default:
			continue
		}
		p.Field = kind.Field(a.Name, true)
		return
	}
}

// valueEnd returns the end of a value. The end marker of a heredoc belongs to it.
func valueEnd(f *File, a *hclsyntax.Attribute) int {
	return max(a.SrcRange.End.Byte, a.Expr.Range().End.Byte)
}

// Block returns the innermost block around the place; nil at the top level.
func (p *Place) Block() *Block {
	if len(p.Blocks) == 0 {
		return nil
	}
	return &p.Blocks[len(p.Blocks)-1]
}

// Expr returns the innermost expression at the place; nil for none.
func (p *Place) Expr() hclsyntax.Expression {
	if len(p.Exprs) == 0 {
		return nil
	}
	return p.Exprs[len(p.Exprs)-1]
}

// exprsAt returns the expressions that hold an offset, outermost first.
func exprsAt(e hclsyntax.Expression, offset int) []hclsyntax.Expression {
	w := &exprWalker{offset: offset}
	hclsyntax.Walk(e, w)
	return w.found
}

type exprWalker struct {
	offset int
	found  []hclsyntax.Expression
}

func (w *exprWalker) Enter(n hclsyntax.Node) hclv2.Diagnostics {
	if e, ok := n.(hclsyntax.Expression); ok && spanOf(e.Range()).Contains(w.offset) {
		w.found = append(w.found, e)
	}
	return nil
}

func (w *exprWalker) Exit(hclsyntax.Node) hclv2.Diagnostics { return nil }

// findInterpolation finds the ${...} around the offset. The parts of a template lie between its constant texts.
func (p *Place) findInterpolation() {
	for _, e := range p.Exprs {
		var parts []hclsyntax.Expression
		switch t := e.(type) {
		case *hclsyntax.TemplateExpr:
			parts = t.Parts
		case *hclsyntax.TemplateWrapExpr:
			parts = []hclsyntax.Expression{t.Wrapped}
		case *hclsyntax.ConditionalExpr, *hclsyntax.TemplateJoinExpr:
			continue
		}
		for _, part := range parts {
			found := interpolationAround(p.File.Src, spanOf(part.Range()))
			if found != nil && found.Contains(p.Offset) {
				p.Interpolation = found
			}
		}
	}
}

// interpolationAround returns the ${...} around an expression; nil for none.
func interpolationAround(src []byte, s Span) *Span {
	if s.From < 0 || s.To > len(src) || s.From > s.To {
		return nil
	}
	before := strings.TrimRight(string(src[max(0, s.From-64):s.From]), " \t\r\n~")
	after := strings.TrimLeft(string(src[s.To:min(len(src), s.To+64)]), " \t\r\n~")
	if !strings.HasSuffix(before, "${") || !strings.HasPrefix(after, "}") {
		return nil
	}
	return &Span{max(0, s.From-64) + len(before) - 2, min(len(src), s.To+64) - len(after) + 1}
}

func spanOf(r hclv2.Range) Span { return Span{r.Start.Byte, r.End.Byte} }
