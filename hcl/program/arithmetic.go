package program

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/expr-lang/expr/ast"

	"hatchel/hcl/functions"
	"hatchel/hcl/value"
)

func (c *compiler) plus(n *ast.BinaryNode, l, r term) term {
	numbers, texts := c.operands(n, l, r, "added")
	shape := anything
	switch {
	case l.shape.Kind == Integer && r.shape.Kind == Integer:
		shape = integer
	case numbers && (l.shape.numeric() || r.shape.numeric()):
		shape = number
	case texts && (l.shape.Kind == String || r.shape.Kind == String):
		shape = text
	}
	return term{shape: shape, at: c.at(n), eval: func(f *frame) (any, error) {
		a, b, err := pair(f, l.eval, r.eval)
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

func pair(f *frame, l, r eval) (a, b any, err error) {
	if a, err = resolved(f, l); err != nil {
		return nil, nil, err
	}
	b, err = resolved(f, r)
	return a, b, err
}

func (c *compiler) arithmetic(n *ast.BinaryNode, l, r term) term {
	compute := map[string]func(a, b any) (any, error){
		"-": functions.Subtract, "*": functions.Multiply, "/": functions.Divide, "%": functions.Modulo, "^": functions.Power, "**": functions.Power,
	}[n.Operator]
	if compute == nil {
		c.problem(c.at(n), "Unknown operator", "There is no operator %q in programs.", n.Operator)
		return broken(c.at(n))
	}
	ok := c.expect(n.Left, l, Number)
	ok = c.expect(n.Right, r, Number) && ok
	shape := number
	if ok && l.shape.Kind == Integer && r.shape.Kind == Integer && strings.Contains("-*%", n.Operator) {
		shape = integer
	}
	return term{shape: shape, at: c.at(n), eval: func(f *frame) (any, error) {
		a, b, err := pair(f, l.eval, r.eval)
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

func (c *compiler) sign(n *ast.UnaryNode) term {
	t := c.expr(n.Node)
	c.expect(n.Node, t, Number)
	shape := t.shape
	if !shape.numeric() {
		shape = number
	}
	minus := n.Operator == "-"
	if v, ok := t.value.(int); t.known && ok && minus {
		return constant(-v, integer, c.extent(n))
	}
	return term{shape: shape, at: c.at(n), eval: func(f *frame) (any, error) {
		v, err := resolved(f, t.eval)
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

func (c *compiler) interval(n *ast.BinaryNode, l, r term) term {
	c.expect(n.Left, l, Integer)
	c.expect(n.Right, r, Integer)
	return term{shape: listOf(integer), at: c.at(n), eval: func(f *frame) (any, error) {
		a, b, err := pair(f, l.eval, r.eval)
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
