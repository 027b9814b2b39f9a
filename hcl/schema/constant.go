package schema

import (
	"math/big"
	"strings"

	"hatchel/hcl/value"

	hclv2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// unwrap removes parentheses.
func unwrap(expr hclv2.Expression) hclv2.Expression {
	for {
		e, ok := expr.(*hclsyntax.ParenthesesExpr)
		if !ok {
			return expr
		}
		expr = e.Expression
	}
}

func callOf(expr hclv2.Expression) *hclv2.StaticCall {
	if _, ok := unwrap(expr).(*hclsyntax.FunctionCallExpr); !ok {
		return nil
	}
	call, _ := hclv2.ExprCall(unwrap(expr))
	return call
}

func isObject(expr hclv2.Expression) bool {
	_, ok := unwrap(expr).(*hclsyntax.ObjectConsExpr)
	return ok
}

func literalText(expr hclv2.Expression) (string, bool) {
	e, ok := expr.(*hclsyntax.TemplateExpr)
	if !ok || !e.IsStringLiteral() {
		if ok && len(e.Parts) == 0 {
			return "", true
		}
		return "", false
	}
	v, diags := e.Value(nil)
	if diags.HasErrors() {
		return "", false
	}
	return v.AsString(), true
}

// literal returns the value of a literal. Numbers keep their digits.
func literal(e *hclsyntax.LiteralValueExpr) (any, bool) {
	switch v := e.Val; {
	case !v.IsKnown():
		return nil, false // a number too large for the HCL parser
	case v.IsNull():
		return nil, true
	case v.Type() == cty.Bool:
		return v.True(), true
	case v.Type() == cty.Number:
		f := v.AsBigFloat()
		if e := f.MantExp(nil); e > maxExponent || e < -maxExponent {
			return nil, false // its decimal digits would take minutes to find
		}
		return exact(f), true
	case v.Type() == cty.String:
		return v.AsString(), true
	}
	return nil, false
}

// constant returns the value of an expression that is known at load. It evaluates literals itself
// and leaves other expressions to the environment.
func (p *parser) constant(expr hclv2.Expression) (any, bool) {
	switch e := unwrap(expr).(type) {
	case *hclsyntax.LiteralValueExpr:
		if v, ok := literal(e); ok {
			return v, true
		}
	case *hclsyntax.TemplateExpr:
		if text, ok := literalText(e); ok {
			return text, true
		}
	case *hclsyntax.UnaryOpExpr:
		if v, ok := negative(e); ok {
			return v, true
		}
	case *hclsyntax.TupleConsExpr:
		list, ok := make([]any, len(e.Exprs)), true
		for i, expr := range e.Exprs {
			v, known := p.constant(expr)
			list[i], ok = v, ok && known
		}
		return list, ok
	case *hclsyntax.ObjectConsExpr:
		return p.constantObject(e)
	}
	if p.env.Eval == nil {
		p.fail(expr.Range(), "Not a constant",
			"A constant is needed here: a string in quotes, a number, true, false, null, [...] or {...}.")
		return nil, false
	}
	v, diags := p.env.Eval(expr)
	p.diags = append(p.diags, diags...)
	if diags.HasErrors() {
		return nil, false
	}
	v, err := value.ResolveAll(v)
	if err == nil {
		_, err = value.AppendJSON(nil, v)
	}
	if err != nil {
		p.fail(expr.Range(), "Not a constant", "A value that JSON can represent is needed here, not %s.",
			describeValue(v))
		return nil, false
	}
	return v, true
}

func (p *parser) constantObject(e *hclsyntax.ObjectConsExpr) (any, bool) {
	m, ok := make(map[string]any, len(e.Items)), true
	for _, item := range e.Items {
		name, named := p.key(item.KeyExpr)
		v, known := p.constant(item.ValueExpr)
		ok = ok && named && known
		if _, twice := m[name]; twice && named {
			p.fail(item.KeyExpr.Range(), "Duplicate key", "The key %q is written twice.", name)
			ok = false
		}
		m[name] = v
	}
	return m, ok
}

func negative(e *hclsyntax.UnaryOpExpr) (any, bool) {
	n, ok := unwrap(e.Val).(*hclsyntax.LiteralValueExpr)
	if !ok || e.Op != hclsyntax.OpNegate || !n.Val.IsKnown() || n.Val.IsNull() ||
		n.Val.Type() != cty.Number {
		return nil, false
	}
	return exact(new(big.Float).Neg(n.Val.AsBigFloat())), true
}

const maxExponent = 1 << 20 // binary exponent of a number in the source

// exact returns a number with its original digits, and with an exponent only where a person would
// write one.
func exact(f *big.Float) any {
	if i, accuracy := f.Int64(); accuracy == big.Exact {
		return int(i)
	}
	if e := f.MantExp(nil); e > -64 && e < 1024 {
		return value.ParseNumber(f.Text('f', -1))
	}
	return value.ParseNumber(f.Text('g', -1))
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

// sourceOf returns the source of an expression for a hint: names, calls and literals as written,
// anything longer as "...".
func sourceOf(expr hclv2.Expression) string {
	switch e := unwrap(expr).(type) {
	case *hclsyntax.ScopeTraversalExpr:
		var b strings.Builder
		for i, step := range e.Traversal {
			switch s := step.(type) {
			case hclv2.TraverseRoot:
				b.WriteString(s.Name)
			case hclv2.TraverseAttr:
				b.WriteString("." + s.Name)
			default:
				if i > 0 {
					b.WriteString("[...]")
				}
			}
		}
		return b.String()
	case *hclsyntax.TemplateExpr:
		if text, ok := literalText(e); ok {
			return quoteShort(text)
		}
	case *hclsyntax.LiteralValueExpr:
		if v, ok := literal(e); ok {
			return showJSON(v)
		}
	case *hclsyntax.FunctionCallExpr:
		args := make([]string, len(e.Args))
		for i, a := range e.Args {
			args[i] = sourceOf(a)
		}
		return e.Name + "(" + strings.Join(args, ", ") + ")"
	case *hclsyntax.ObjectConsExpr:
		return "{...}"
	case *hclsyntax.TupleConsExpr:
		return "[...]"
	}
	return "..."
}
