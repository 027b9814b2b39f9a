package shelltext

import (
	"testing"

	hclv2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/template"
	"hatchel/hcl/template/templatetest"
)

type frame = templatetest.Frame

// argsOf parses a written list.
func argsOf(t testing.TB, types map[string]template.Type, text string) []Arg {
	t.Helper()
	e, diags := hclsyntax.ParseExpression([]byte(text), "tool.hcl", hclv2.InitialPos)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	return argOf(&templatetest.Source{Types: types, Text: text}, e).Group
}

func argOf(s *templatetest.Source, e hclsyntax.Expression) Arg {
	a := Arg{Range: e.Range(), Source: s.Text[e.Range().Start.Byte:e.Range().End.Byte]}
	switch e := e.(type) {
	case *hclsyntax.TupleConsExpr:
		a.Group = []Arg{}
		for _, x := range e.Exprs {
			a.Group = append(a.Group, argOf(s, x))
		}
	case *hclsyntax.ConditionalExpr:
		then, els := argOf(s, e.TrueResult), argOf(s, e.FalseResult)
		a.Cond, a.Then, a.Else = s.Interpolation(e.Condition, e.Condition.Range()).Value, &then, &els
	case *hclsyntax.TemplateExpr:
		a.Text = s.Tree(e)
	case *hclsyntax.TemplateWrapExpr:
		a.Value = s.Interpolation(e.Wrapped, e.SrcRange)
	case *hclsyntax.LiteralValueExpr:
		if !e.Val.IsNull() {
			panic("only null is a literal")
		}
	default:
		a.Value = s.Interpolation(e, e.Range())
	}
	return a
}
