package hcl

import (
	"fmt"
	"math/big"
	"time"

	hclv2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"hatchel/hcl/functions"
	"hatchel/hcl/schema"
	"hatchel/hcl/value"
)

// A compiler turns expressions of one file into nodes. It checks everything on the way: both branches of conditionals, the bodies of
// loops, what may be null, where secrets go. It never stops at a mistake; what is wrong compiles to a node of any type.
type compiler struct {
	scope *scope
	src   []byte // of the file, to tell %{if} from ${c ? a : b}
	load  functions.Context
	now   func() time.Time // the clock of programs
	nulls nullRule
	slots int // loop variables in use, so that each gets a place of its own in the frame
	reads reads
	uses  *uses  // what the tool in hand reads; nil outside of tools
	name  string // of the argument or member whose value is compiled
	diags Diagnostics

	fileURLs bool  // files have addresses
	auth     *Auth // whom the server knows; nil for nobody
}

// nullRule says what a null inside a text does.
type nullRule int

const (
	nullRefused    nullRule = iota // it is a mistake: at load where it may be null, at call where it is
	nullPropagates                 // the whole text is null
	nullPrints                     // it reads "null"
)

// A node is one compiled expression.
type node struct {
	eval      func(*Frame) (any, error)
	typ       *schema.Type
	null      string // why it may be null here, or empty when it is not
	known     bool
	value     any // when known
	sensitive bool
	caller    bool   // it depends on the caller's identity
	path      string // the traversal that it is, if it is nothing else: what narrowing is about
	called    string // what a sentence calls it, where that is not the path
}

// held is the type of a place that holds the value: null passes where the value may be null.
func (n node) held() *schema.Type {
	if n.null != "" {
		return n.typ.AsNullable()
	}
	return n.typ
}

// env is what surrounds an expression inside a larger one.
type env struct {
	facts *facts
	vars  *loopVar
}

func constant(v any) node {
	n := node{known: true, value: v, typ: typeOf(v), eval: func(*Frame) (any, error) { return v, nil }}
	if v == nil {
		n.null = "it is null"
	}
	return n
}

// dynamic is a node of which nothing is known; it also stands for what did not compile.
func dynamic(eval func(*Frame) (any, error)) node {
	return node{typ: anyType, eval: eval}
}

func broken() node {
	return dynamic(func(*Frame) (any, error) { return nil, nil })
}

func (c *compiler) errorf(r hclv2.Range, summary, format string, args ...any) {
	c.reads.call = true
	c.diags.errorf(at(r), summary, format, args...)
}

func (c *compiler) warnf(r hclv2.Range, summary, format string, args ...any) {
	c.diags.warnf(at(r), summary, format, args...)
}

// expr compiles one expression.
func (c *compiler) expr(e hclsyntax.Expression, in env) node {
	switch e := e.(type) {
	case *hclsyntax.LiteralValueExpr:
		return c.literal(e)
	case *hclsyntax.TemplateExpr:
		return c.template(e, in)
	case *hclsyntax.TemplateWrapExpr:
		return c.expr(e.Wrapped, in)
	case *hclsyntax.ParenthesesExpr:
		return c.expr(e.Expression, in)
	case *hclsyntax.ScopeTraversalExpr:
		return c.traversal(e.Traversal, in)
	case *hclsyntax.RelativeTraversalExpr:
		return c.steps(c.expr(e.Source, in), e.Traversal, in)
	case *hclsyntax.IndexExpr:
		return c.index(e, in)
	case *hclsyntax.SplatExpr:
		return c.splat(e, in)
	case *hclsyntax.ConditionalExpr:
		return c.conditional(e, in)
	case *hclsyntax.BinaryOpExpr:
		return c.binary(e, in)
	case *hclsyntax.UnaryOpExpr:
		return c.unary(e, in)
	case *hclsyntax.FunctionCallExpr:
		return c.call(e, in)
	case *hclsyntax.ObjectConsExpr:
		return c.object(e, in)
	case *hclsyntax.TupleConsExpr:
		return c.tuple(e, in)
	case *hclsyntax.ForExpr:
		return c.forExpr(e, in)
	case *hclsyntax.AnonSymbolExpr:
		return c.anonymous(in)
	}
	// The parser leaves such a place behind where the syntax is wrong, and has reported it.
	c.reads.call = true
	return broken()
}

// literal takes a number as it was written: no digit is lost and no exponent is multiplied out.
func (c *compiler) literal(e *hclsyntax.LiteralValueExpr) node {
	if !e.Val.IsNull() && e.Val.Type() == cty.Number {
		return constant(value.Number(c.text(e.SrcRange)))
	}
	return constant(native(e.Val))
}

// native converts what the parser makes of a literal, and of the key of an index.
func native(v cty.Value) any {
	switch {
	case v.IsNull() || !v.IsKnown():
		return nil
	case v.Type() == cty.String:
		return v.AsString()
	case v.Type() == cty.Bool:
		return v.True()
	case v.Type() == cty.Number:
		f := v.AsBigFloat()
		if i, exact := f.Int64(); exact == big.Exact {
			return int(i)
		}
		approximate, _ := f.Float64()
		return approximate
	}
	return nil
}

func (c *compiler) conditional(e *hclsyntax.ConditionalExpr, in env) node {
	cond := c.boolean(e.Condition, in)
	yes, no := in.facts.assume(c.narrowing(e.Condition, in))
	a := c.expr(e.TrueResult, env{yes, in.vars})
	b := c.expr(e.FalseResult, env{no, in.vars})
	if cond.known && a.known && b.known {
		chosen := b
		if cond.value == true {
			chosen = a
		}
		chosen.sensitive = a.sensitive || b.sensitive || cond.sensitive
		chosen.path = ""
		return chosen
	}
	null := a.null
	if null == "" {
		null = b.null
	}
	return node{
		typ:       unify(a, b),
		null:      null,
		sensitive: a.sensitive || b.sensitive || cond.sensitive,
		caller:    a.caller || b.caller || cond.caller,
		eval: func(f *Frame) (any, error) {
			ok, err := truth(cond, f)
			if err != nil {
				return nil, err
			}
			if ok {
				return a.eval(f)
			}
			return b.eval(f)
		},
	}
}

// unify is the type of a value that is one of two; null takes the other's type.
func unify(a, b node) *schema.Type {
	switch {
	case a.known && a.value == nil:
		return b.typ
	case b.known && b.value == nil:
		return a.typ
	}
	return schema.Unify(a.typ, b.typ)
}

// boolean compiles a condition.
func (c *compiler) boolean(e hclsyntax.Expression, in env) node {
	n := c.expr(e, in)
	switch {
	case n.typ.Kind != schema.Bool && n.typ.Kind != schema.Any:
		c.errorf(e.Range(), "Condition needed", "A condition is true or false, and this is %s. Compare it with something, as in `x != null` or `length(x) > 0`.", describe(n.typ))
	case n.null != "":
		c.errorf(e.Range(), "Value may be null", "%s Write `%s == true`.", reason(n), c.text(e.Range()))
	}
	return n
}

func truth(n node, f *Frame) (bool, error) {
	v, err := n.eval(f)
	if err != nil {
		return false, err
	}
	b, ok := v.(bool)
	if !ok {
		return false, fmt.Errorf("a condition must be true or false, got %s", value.Kind(v))
	}
	return b, nil
}

const maxKnown = 16 << 20 // bytes of the JSON of a value that is known at load

// fold computes what is known at load once, and places its error.
func (c *compiler) fold(n node, r hclv2.Range) node {
	if !n.known {
		return n
	}
	v, err := n.eval(&Frame{functions: c.load})
	if err != nil {
		c.errorf(r, "Invalid value", "%s.", sentence(err.Error()))
		return broken()
	}
	if size, err := functions.Size(v, maxKnown); err != nil || size > maxKnown { // parts may be shared, so that a few lines double it again and again
		c.errorf(r, "Value too large", "A value that is known when the configuration is loaded may have %d MiB and %d levels, and this one has more.", maxKnown>>20, value.MaxDepth)
		return broken()
	}
	folded := constant(v)
	folded.sensitive, folded.path, folded.called = n.sensitive, n.path, n.called
	if n.typ.Kind != schema.Any && v != nil {
		folded.typ = n.typ
	}
	return folded
}

// text is the source of a range.
func (c *compiler) text(r hclv2.Range) string {
	if r.Start.Byte < 0 || r.End.Byte > len(c.src) || r.Start.Byte > r.End.Byte {
		return ""
	}
	return string(c.src[r.Start.Byte:r.End.Byte])
}
