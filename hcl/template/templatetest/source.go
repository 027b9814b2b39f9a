package templatetest

import (
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"testing"

	hclv2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/template"
)

// Parse returns the tree of a template.
func Parse(t testing.TB, types map[string]template.Type, text string) *template.Tree {
	t.Helper()
	e, diags := hclsyntax.ParseTemplate([]byte(text), "tool.hcl", hclv2.InitialPos)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	return (&Source{Types: types, Text: text}).Tree(e)
}

// A Source builds trees of HCL: input.x is a value of the frame, with the type that Types has for
// x.
type Source struct {
	Types map[string]template.Type
	Text  string
}

// A Frame is the values of one call, by name.
type Frame map[string]any

// Tree returns the tree of a template that was parsed from Text.
func (s *Source) Tree(e hclsyntax.Expression) *template.Tree {
	return &template.Tree{Nodes: s.nodes(e), Range: e.Range()}
}

func (s *Source) nodes(e hclsyntax.Expression) []template.Node {
	switch e := e.(type) {
	case *hclsyntax.TemplateExpr:
		var out []template.Node
		for _, p := range e.Parts {
			out = append(out, s.part(p)...)
		}
		return merge(out)
	case *hclsyntax.TemplateWrapExpr:
		return []template.Node{s.Interpolation(e.Wrapped, e.SrcRange)}
	}
	return []template.Node{s.Interpolation(e, e.Range())}
}

func (s *Source) part(e hclsyntax.Expression) []template.Node {
	switch e := e.(type) {
	case *hclsyntax.LiteralValueExpr:
		return []template.Node{s.literal(e.Val.AsString(), e.SrcRange)}
	case *hclsyntax.ConditionalExpr:
		if strings.HasPrefix(s.Text[e.SrcRange.Start.Byte:], "%{") {
			cond := template.Condition{Cond: s.Interpolation(e.Condition, e.Condition.Range()).Value}
			return []template.Node{&template.If{Condition: cond,
				Then: s.nodes(e.TrueResult), Else: s.nodes(e.FalseResult), Range: e.Condition.Range()}}
		}
	case *hclsyntax.TemplateJoinExpr:
		f := e.Tuple.(*hclsyntax.ForExpr)
		over := s.Interpolation(f.CollExpr, f.CollExpr.Range()).Value
		return []template.Node{&template.For{Body: s.nodes(f.ValExpr), Range: f.CollExpr.Range(),
			Over: func(fr template.Frame, body func(template.Frame) error) error {
				list, _ := over(fr)
				items, _ := list.([]any)
				for _, item := range items {
					inner := maps.Clone(fr.(Frame))
					inner[f.ValVar] = item
					if err := body(inner); err != nil {
						return err
					}
				}
				return nil
			}}}
	}
	r := e.Range()
	r.Start.Byte, r.Start.Column = r.Start.Byte-2, r.Start.Column-2
	r.End.Byte, r.End.Column = r.End.Byte+1, r.End.Column+1
	return []template.Node{s.Interpolation(e, r)}
}

// literal assumes that there are no escapes on the way; Goldens that have some show where their
// places drift.
func (s *Source) literal(text string, r hclv2.Range) template.Node {
	return &template.Text{Value: text, Place: func(from, to int) hclv2.Range {
		return hclv2.Range{Filename: r.Filename, Start: step(r.Start, text[:from]), End: step(r.Start, text[:to])}
	}}
}

func step(p hclv2.Pos, text string) hclv2.Pos {
	for _, c := range text {
		p.Column++
		if c == '\n' {
			p.Line, p.Column = p.Line+1, 1
		}
	}
	p.Byte += len(text)
	return p
}

// merge joins neighbouring texts.
func merge(nodes []template.Node) []template.Node {
	var out []template.Node
	for _, n := range nodes {
		if t, ok := n.(*template.Text); ok && len(out) > 0 {
			if last, ok := out[len(out)-1].(*template.Text); ok {
				out[len(out)-1] = join(last, t)
				continue
			}
		}
		out = append(out, n)
	}
	return out
}

func join(a, b *template.Text) *template.Text {
	border := len(a.Value)
	return &template.Text{Value: a.Value + b.Value, Place: func(from, to int) hclv2.Range {
		if from >= border {
			return b.Place(from-border, to-border)
		}
		if to <= border {
			return a.Place(from, to)
		}
		return hclv2.RangeBetween(a.Place(from, border), b.Place(0, to-border))
	}}
}

// Interpolation returns the interpolation that computes e and is at r.
func (s *Source) Interpolation(e hclsyntax.Expression, r hclv2.Range) *template.Interpolation {
	h := &template.Interpolation{Source: s.Text[e.Range().Start.Byte:e.Range().End.Byte], Range: r}
	switch e := e.(type) {
	case *hclsyntax.ScopeTraversalExpr:
		name := e.Traversal.RootName()
		if len(e.Traversal) > 1 {
			name = e.Traversal[1].(hclv2.TraverseAttr).Name
		}
		h.Type = s.Types[name]
		h.Value = func(f template.Frame) (any, error) {
			if h.Type.Known {
				return h.Type.Constant, nil
			}
			return f.(Frame)[name], nil
		}
	case *hclsyntax.FunctionCallExpr:
		h.Func = e.Name
		for _, a := range e.Args {
			h.Args = append(h.Args, s.Interpolation(a, a.Range()))
		}
		h.Value, h.Type = h.Args[0].Value, h.Args[0].Type
		if e.Name == "filename" {
			h.Type.Path = template.PathSafe
		}
		if e.Name == "under" {
			h.Type = template.Type{Kind: template.String, Path: template.PathUnder}
			h.Value = func(f template.Frame) (any, error) {
				dir, _ := h.Args[0].Value(f)
				name, _ := h.Args[1].Value(f)
				if !filepath.IsLocal(name.(string)) {
					return nil, fmt.Errorf("leaves the folder")
				}
				return filepath.Join(dir.(string), name.(string)), nil
			}
		}
	case *hclsyntax.TemplateExpr:
		v, _ := e.Value(nil)
		h.Type = template.Type{Kind: template.String, Known: true, Constant: v.AsString()}
		h.Value = func(template.Frame) (any, error) { return h.Type.Constant, nil }
	default:
		panic(fmt.Sprintf("%T", e))
	}
	return h
}
