package schema

import (
	"bytes"

	"hatchel/hcl/value"

	hclv2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// unwrap removes parentheses.
func unwrap(expr hclv2.Expression) hclv2.Expression {
	if e, ok := expr.(*hclsyntax.ParenthesesExpr); ok {
		return unwrap(e.Expression)
	}
	return expr
}

// callOf returns a call T(...), or nil.
func callOf(expr hclv2.Expression) *hclv2.StaticCall {
	call, _ := hclv2.ExprCall(unwrap(expr))
	return call
}

func isObject(expr hclv2.Expression) bool {
	_, ok := unwrap(expr).(*hclsyntax.ObjectConsExpr)
	return ok
}

func literalText(expr hclv2.Expression) (string, bool) {
	e, ok := expr.(*hclsyntax.TemplateExpr)
	if !ok || len(e.Parts) > 0 && !e.IsStringLiteral() {
		return "", false
	}
	v, _ := e.Value(nil)
	return v.AsString(), true
}

// constant returns the value of an expression that is known at load.
func (p *parser) constant(expr hclv2.Expression) (any, bool) {
	v, ok := p.env.Eval(expr)
	if !ok {
		return nil, false
	}
	v, err := value.ResolveAll(v)
	if err == nil {
		_, err = value.AppendJSON(nil, v)
	}
	if err != nil {
		p.fail(expr.Range(), "Not a constant", "A value that JSON can represent is needed here, not %s.",
			describeValue(v))
	}
	return v, err == nil
}

// text returns a constant string, or reports that one is required; what names it in the message.
func (p *parser) text(expr hclv2.Expression, what string) string {
	v, ok := p.constant(expr)
	if !ok {
		return ""
	}
	s, ok := v.(string)
	if !ok {
		p.fail(expr.Range(), "Not a string", "%s is a string in quotes, not %s.", what, describeValue(v))
	}
	return s
}

// between returns the range from the first to the last expression.
func between(exprs []hclv2.Expression) hclv2.Range {
	return hclv2.RangeBetween(exprs[0].Range(), exprs[len(exprs)-1].Range())
}

// maxShownSource is the length of the longest expression that a hint repeats.
const maxShownSource = 80

// sourceOf returns an expression as written, for a hint, or "..." if it is long.
func (p *parser) sourceOf(expr hclv2.Expression) string {
	text := unwrap(expr).Range().SliceBytes(p.env.Source)
	if len(text) > maxShownSource || bytes.ContainsRune(text, '\n') {
		return "..."
	}
	return string(text)
}
