package exprlang

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/expr-lang/expr/ast"

	"hatchel/hcl/eval"
	"hatchel/hcl/functions"
	"hatchel/hcl/schema"
	"hatchel/hcl/value"
)

func (c *compiler) compileAdd(n *ast.BinaryNode, l, r typedExpr) typedExpr {
	numbers, texts := c.checkOperands(n, l, r, "added")
	typ := eval.AnyType
	switch {
	case l.typ.Kind == schema.Integer && r.typ.Kind == schema.Integer:
		typ = eval.IntegerType
	case numbers && (eval.IsNumeric(l.typ) || eval.IsNumeric(r.typ)):
		typ = eval.NumberType
	case texts && (l.typ.Kind == schema.String || r.typ.Kind == schema.String):
		typ = eval.StringType
	}
	return typedExpr{typ: typ, at: c.spanOf(n), eval: func(f *frame) (any, error) {
		a, b, err := evalPair(f, l.eval, r.eval)
		if err != nil {
			return nil, err
		}
		if x, ok := a.(string); ok {
			if y, ok := b.(string); ok {
				if err := f.call.Spend(len(x) + len(y)); err != nil {
					return nil, err
				}
				return x + y, nil
			}
		}
		if value.IsNumber(a) && value.IsNumber(b) {
			return functions.Add(a, b)
		}
		return nil, fmt.Errorf("a %s and a %s cannot be added", value.Kind(a), value.Kind(b))
	}}
}

func evalPair(f *frame, l, r evalFunc) (a, b any, err error) {
	if a, err = evalResolved(f, l); err != nil {
		return nil, nil, err
	}
	b, err = evalResolved(f, r)
	return a, b, err
}

func (c *compiler) compileArithmetic(n *ast.BinaryNode, l, r typedExpr) typedExpr {
	compute := map[string]func(a, b any) (any, error){
		"-": functions.Subtract, "*": functions.Multiply, "/": functions.Divide, "%": functions.Modulo, "^": functions.Power, "**": functions.Power,
	}[n.Operator]
	if compute == nil {
		c.report(c.spanOf(n), "Unknown operator", "There is no operator %q in programs.", n.Operator)
		return broken(c.spanOf(n))
	}
	ok := c.checkKind(n.Left, l, schema.Number)
	ok = c.checkKind(n.Right, r, schema.Number) && ok
	typ := eval.NumberType
	if ok && l.typ.Kind == schema.Integer && r.typ.Kind == schema.Integer && strings.Contains("-*%", n.Operator) {
		typ = eval.IntegerType
	}
	return typedExpr{typ: typ, at: c.spanOf(n), eval: func(f *frame) (any, error) {
		a, b, err := evalPair(f, l.eval, r.eval)
		if err != nil {
			return nil, err
		}
		if !value.IsNumber(a) || !value.IsNumber(b) {
			if value.IsNumber(a) {
				a = b
			}
			return nil, fmt.Errorf("a number is expected beside %q, got %s", n.Operator, value.Kind(a))
		}
		return compute(a, b)
	}}
}

func (c *compiler) compileSign(n *ast.UnaryNode) typedExpr {
	t := c.compile(n.Node)
	c.checkKind(n.Node, t, schema.Number)
	typ := t.typ
	if !eval.IsNumeric(typ) {
		typ = eval.NumberType
	}
	minus := n.Operator == "-"
	if v, ok := t.value.(int); t.known && ok && minus {
		return constant(-v, eval.IntegerType, c.fullSpan(n))
	}
	return typedExpr{typ: typ, at: c.spanOf(n), eval: func(f *frame) (any, error) {
		v, err := evalResolved(f, t.eval)
		if err != nil {
			return nil, err
		}
		if !value.IsNumber(v) {
			return nil, fmt.Errorf("a number is expected after %q, got %s", n.Operator, value.Kind(v))
		}
		if !minus {
			return v, nil
		}
		return functions.Negate(v)
	}}
}

func (c *compiler) compileRange(n *ast.BinaryNode, l, r typedExpr) typedExpr {
	c.checkKind(n.Left, l, schema.Integer)
	c.checkKind(n.Right, r, schema.Integer)
	return typedExpr{typ: schema.ListOf(eval.IntegerType), at: c.spanOf(n), eval: func(f *frame) (any, error) {
		a, b, err := evalPair(f, l.eval, r.eval)
		if err != nil {
			return nil, err
		}
		from, ok := value.Int(a)
		to, too := value.Int(b)
		if !ok || !too {
			return nil, errors.New("the bounds of .. must be integers")
		}
		if to < from {
			return []any{}, nil
		}
		count := uint64(to) - uint64(from)
		if count >= math.MaxInt32 {
			return nil, functions.ErrMemory
		}
		if err := f.call.Spend(int(count+1) * 24); err != nil {
			return nil, err
		}
		list := make([]any, int(count)+1)
		for i := range list {
			list[i] = from + i
		}
		return list, nil
	}}
}
