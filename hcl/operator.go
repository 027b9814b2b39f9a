package hcl

import (
	"fmt"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/functions"
	"hatchel/hcl/schema"
	"hatchel/hcl/value"
)

var operatorText = map[*hclsyntax.Operation]string{
	hclsyntax.OpAdd: "+", hclsyntax.OpSubtract: "-", hclsyntax.OpMultiply: "*", hclsyntax.OpDivide: "/", hclsyntax.OpModulo: "%", hclsyntax.OpNegate: "-",
	hclsyntax.OpGreaterThan: ">", hclsyntax.OpGreaterThanOrEqual: ">=", hclsyntax.OpLessThan: "<", hclsyntax.OpLessThanOrEqual: "<=",
	hclsyntax.OpEqual: "==", hclsyntax.OpNotEqual: "!=", hclsyntax.OpLogicalAnd: "&&", hclsyntax.OpLogicalOr: "||", hclsyntax.OpLogicalNot: "!",
}

func (c *compiler) binary(e *hclsyntax.BinaryOpExpr, in env) node {
	switch e.Op {
	case hclsyntax.OpLogicalAnd, hclsyntax.OpLogicalOr:
		return c.logical(e, in)
	case hclsyntax.OpEqual, hclsyntax.OpNotEqual:
		return c.equality(e, in)
	}
	return c.arithmetic(e, in)
}

// logical evaluates its right side only when the left leaves the answer open, and knows there what the left has said about nulls.
func (c *compiler) logical(e *hclsyntax.BinaryOpExpr, in env) node {
	a := c.boolean(e.LHS, in)
	yes, no := in.facts.assume(c.narrowing(e.LHS, in))
	open, stop := yes, false
	if e.Op == hclsyntax.OpLogicalOr {
		open, stop = no, true
	}
	b := c.boolean(e.RHS, env{open, in.vars})
	n := node{typ: boolType, known: a.known && b.known, sensitive: a.sensitive || b.sensitive, caller: a.caller || b.caller}
	n.eval = func(f *Frame) (any, error) {
		v, err := truth(a, f)
		if err != nil || v == stop {
			return v, err
		}
		return truth(b, f)
	}
	return c.fold(n, e.Range())
}

func (c *compiler) equality(e *hclsyntax.BinaryOpExpr, in env) node {
	a, b := c.expr(e.LHS, in), c.expr(e.RHS, in)
	if a.typ.Kind != schema.Any && b.typ.Kind != schema.Any && !comparable(a.typ, b.typ) && !(a.known && a.value == nil) && !(b.known && b.value == nil) {
		c.warnf(e.Range(), "Comparison never true", "%s is %s and %s is %s: they are never equal.", opening(a), describe(a.typ), subject(b), describe(b.typ))
	}
	negate := e.Op == hclsyntax.OpNotEqual
	n := node{typ: boolType, known: a.known && b.known, sensitive: a.sensitive || b.sensitive, caller: a.caller || b.caller}
	n.eval = func(f *Frame) (any, error) {
		x, err := a.eval(f)
		if err != nil {
			return nil, err
		}
		y, err := b.eval(f)
		if err != nil {
			return nil, err
		}
		return value.Equal(x, y) != negate, nil
	}
	return c.fold(n, e.Range())
}

func comparable(a, b *schema.Type) bool {
	class := func(t *schema.Type) schema.Kind {
		switch t.Kind {
		case schema.Integer:
			return schema.Number
		case schema.Set:
			return schema.List
		case schema.Map:
			return schema.Object
		}
		return t.Kind
	}
	return class(a) == class(b)
}

func (c *compiler) arithmetic(e *hclsyntax.BinaryOpExpr, in env) node {
	a, b := c.number(e.LHS, operatorText[e.Op], in), c.number(e.RHS, operatorText[e.Op], in)
	n := node{typ: &schema.Type{Kind: schema.Number}, known: a.known && b.known, sensitive: a.sensitive || b.sensitive, caller: a.caller || b.caller}
	switch e.Op {
	case hclsyntax.OpGreaterThan, hclsyntax.OpGreaterThanOrEqual, hclsyntax.OpLessThan, hclsyntax.OpLessThanOrEqual:
		n.typ = boolType
	case hclsyntax.OpDivide:
	default:
		if a.typ.Kind == schema.Integer && b.typ.Kind == schema.Integer {
			n.typ = integerType
		}
	}
	op := e.Op
	n.eval = func(f *Frame) (any, error) {
		x, err := a.eval(f)
		if err != nil {
			return nil, err
		}
		y, err := b.eval(f)
		if err != nil {
			return nil, err
		}
		return compute(op, x, y)
	}
	return c.fold(n, e.Range())
}

// number compiles an operand of an operator that takes numbers.
func (c *compiler) number(e hclsyntax.Expression, op string, in env) node {
	n := c.expr(e, in)
	switch n.typ.Kind {
	case schema.Number, schema.Integer, schema.Any:
		if n.null != "" {
			c.errorf(e.Range(), "Value may be null", "%s, and %s takes numbers. Write coalesce(%s, 0), or guard it with a condition.", reason(n), op, c.text(e.Range()))
		}
		return n
	}
	hint := ""
	if op == "+" && n.typ.Kind == schema.String {
		hint = " To join texts write one template: \"${a}${b}\"."
	}
	c.errorf(e.Range(), "Number needed", "%s takes numbers, and this is %s.%s", op, describe(n.typ), hint)
	return broken()
}

var arithmeticOf = map[*hclsyntax.Operation]func(a, b any) (any, error){
	hclsyntax.OpAdd: functions.Add, hclsyntax.OpSubtract: functions.Subtract, hclsyntax.OpMultiply: functions.Multiply,
	hclsyntax.OpDivide: functions.Divide, hclsyntax.OpModulo: functions.Modulo,
}

var orderOf = map[*hclsyntax.Operation]func(order int) bool{
	hclsyntax.OpGreaterThan:        func(o int) bool { return o > 0 },
	hclsyntax.OpGreaterThanOrEqual: func(o int) bool { return o >= 0 },
	hclsyntax.OpLessThan:           func(o int) bool { return o < 0 },
	hclsyntax.OpLessThanOrEqual:    func(o int) bool { return o <= 0 },
}

// compute is exact: integers that leave the range of int, and decimals that a float64 does not hold, keep their digits.
func compute(op *hclsyntax.Operation, a, b any) (any, error) {
	for _, v := range []any{a, b} {
		if value.Kind(v) != "number" {
			return nil, fmt.Errorf("%s takes numbers, got %s", operatorText[op], value.Kind(v))
		}
	}
	if holds, ok := orderOf[op]; ok {
		return holds(value.Compare(a, b)), nil
	}
	return arithmeticOf[op](a, b)
}

func (c *compiler) unary(e *hclsyntax.UnaryOpExpr, in env) node {
	if e.Op == hclsyntax.OpLogicalNot {
		a := c.boolean(e.Val, in)
		a.typ, a.path = boolType, ""
		inner := a
		a.eval = func(f *Frame) (any, error) {
			v, err := truth(inner, f)
			return !v, err
		}
		return c.fold(a, e.Range())
	}
	a := c.number(e.Val, "-", in)
	inner := a.eval
	a.path = ""
	a.eval = func(f *Frame) (any, error) {
		v, err := inner(f)
		if err != nil {
			return nil, err
		}
		return compute(hclsyntax.OpSubtract, 0, v)
	}
	return c.fold(a, e.Range())
}
