package exprlang

import (
	"errors"
	"fmt"
	"math"

	"github.com/expr-lang/expr/ast"

	"hatchel/hcl/eval"
	"hatchel/hcl/functions"
	"hatchel/hcl/schema"
	"hatchel/hcl/value"
)

// compileAdd compiles +, which adds two numbers or joins two strings.
func (c *compiler) compileAdd(n *ast.BinaryNode, l, r typedExpr) typedExpr {
	numbers, texts := c.checkOperands(n, l, r, "added")
	t := eval.AnyType
	switch {
	case numbers && (eval.IsNumeric(l.Type) || eval.IsNumeric(r.Type)):
		t = eval.ArithmeticType("+", l.Type, r.Type)
	case texts && (l.Type.Kind == schema.String || r.Type.Kind == schema.String):
		t = eval.StringType
	}
	return computed(t, c.spanOf(n), func(f *frame) (any, error) {
		a, b, err := eval.EvalPair(f, l.Eval, r.Eval)
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
	})
}

func (c *compiler) compileArithmetic(n *ast.BinaryNode, l, r typedExpr) typedExpr {
	compute := eval.Arithmetic(n.Operator)
	if compute == nil {
		// unreachable: the parser knows only the operators of Arithmetic.
		c.report(c.spanOf(n), "Unknown operator", "There is no operator %q in programs.", n.Operator)
		return broken(c.spanOf(n))
	}
	ok := c.checkKind(n.Left, l, schema.Number)
	ok = c.checkKind(n.Right, r, schema.Number) && ok
	t := eval.NumberType
	if ok {
		t = eval.ArithmeticType(n.Operator, l.Type, r.Type)
	}
	return computed(t, c.spanOf(n), func(f *frame) (any, error) {
		a, b, err := eval.EvalPair(f, l.Eval, r.Eval)
		if err != nil {
			return nil, err
		}
		for _, v := range []any{a, b} {
			if !value.IsNumber(v) {
				return nil, fmt.Errorf("a number is expected beside %q, got %s", n.Operator, value.Kind(v))
			}
		}
		return compute(a, b)
	})
}

// compileSign compiles the operators - and + in front of a number.
func (c *compiler) compileSign(n *ast.UnaryNode) typedExpr {
	inner := c.compile(n.Node)
	c.checkKind(n.Node, inner, schema.Number)
	t := inner.Type
	if !eval.IsNumeric(t) {
		t = eval.NumberType
	}
	negative := n.Operator == "-"
	if v, ok := inner.Value.(int); inner.Known && ok && negative {
		return constant(-v, eval.IntegerType, c.fullSpan(n))
	}
	return computed(t, c.spanOf(n), func(f *frame) (any, error) {
		v, err := eval.EvalResolved(f, inner.Eval)
		if err != nil {
			return nil, err
		}
		if !value.IsNumber(v) {
			return nil, fmt.Errorf("a number is expected after %q, got %s", n.Operator, value.Kind(v))
		}
		if !negative {
			return v, nil
		}
		return functions.Negate(v)
	})
}

// compileRange compiles a..b, the list of the integers from a to b.
func (c *compiler) compileRange(n *ast.BinaryNode, l, r typedExpr) typedExpr {
	c.checkKind(n.Left, l, schema.Integer)
	c.checkKind(n.Right, r, schema.Integer)
	return computed(schema.ListOf(eval.IntegerType), c.spanOf(n), func(f *frame) (any, error) {
		a, b, err := eval.EvalPair(f, l.Eval, r.Eval)
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
	})
}
