package exprlang

import (
	"github.com/expr-lang/expr/ast"

	"hatchel/hcl/eval"
	"hatchel/hcl/schema"
	"hatchel/hcl/value"
)

// compileCondition compiles a part that must give a bool.
func (c *compiler) compileCondition(n ast.Node) typedExpr {
	t := c.compile(n)
	c.checkKind(n, t, schema.Bool)
	return t
}

// compileLogical compiles && and ||. The right side is computed only if the left side leaves the
// answer open, which is when the left side gave open.
func (c *compiler) compileLogical(n *ast.BinaryNode, open bool) typedExpr {
	l := c.compileCondition(n.Left)
	known := l.whenFalse
	if open {
		known = l.nonNullWhenTrue()
	}
	r := c.withNonNull(known, func() typedExpr { return c.compileCondition(n.Right) })
	t := computed(eval.BoolType, c.spanOf(n), func(f *frame) (any, error) {
		if ok, err := eval.EvalBool(f, l.Eval); ok != open || err != nil {
			return ok, err
		}
		return eval.EvalBool(f, r.Eval)
	})
	if open {
		t.whenTrue = unionPaths(l.nonNullWhenTrue(), r.nonNullWhenTrue())
		t.whenFalse = intersectPaths(l.whenFalse, r.whenFalse)
	} else {
		t.whenTrue = intersectPaths(l.nonNullWhenTrue(), r.nonNullWhenTrue())
		t.whenFalse = unionPaths(l.whenFalse, r.whenFalse)
	}
	return t
}

// nonNullWhenTrue are the traversals that are not null if the part gives true. A traversal that
// gives true is not null itself.
func (t typedExpr) nonNullWhenTrue() [][]string {
	if t.path != nil {
		return prefixes(t.path)
	}
	return t.whenTrue
}

func (c *compiler) compileUnary(n *ast.UnaryNode) typedExpr {
	if n.Operator != "!" && n.Operator != "not" {
		return c.compileSign(n)
	}
	inner := c.compileCondition(n.Node)
	t := computed(eval.BoolType, c.spanOf(n), func(f *frame) (any, error) {
		ok, err := eval.EvalBool(f, inner.Eval)
		return !ok, err
	})
	t.whenTrue, t.whenFalse = inner.whenFalse, inner.nonNullWhenTrue()
	return t
}

func (c *compiler) compileConditional(n *ast.ConditionalNode) typedExpr {
	cond := c.compileCondition(n.Cond)
	yes := c.withNonNull(cond.nonNullWhenTrue(), func() typedExpr { return c.compile(n.Exp1) })
	no := c.withNonNull(cond.whenFalse, func() typedExpr { return c.compile(n.Exp2) })
	return computed(unifyTypes(yes.Type, no.Type), c.spanOf(n), func(f *frame) (any, error) {
		ok, err := eval.EvalBool(f, cond.Eval)
		if err != nil {
			return nil, err
		}
		if ok {
			return yes.Eval(f)
		}
		return no.Eval(f)
	})
}

// compileCoalesce compiles ??, which gives its right side if the left side is null.
func (c *compiler) compileCoalesce(n *ast.BinaryNode) typedExpr {
	l := c.compile(n.Left)
	r := c.compile(n.Right)
	t := l.Type
	switch {
	case t.Kind == schema.Null:
		t = r.Type
	case t.Nullable:
		t = unifyTypes(t.NotNull(), r.Type)
	}
	return computed(t, c.spanOf(n), func(f *frame) (any, error) {
		v, err := l.Eval(f)
		if err != nil {
			return nil, err
		}
		if _, deferred := v.(value.LazyJSON); deferred {
			decoded, err := eval.Resolve(v)
			if err != nil {
				return nil, err
			}
			if decoded == nil {
				v = nil
			}
		}
		if v != nil {
			return v, nil
		}
		return r.Eval(f)
	})
}
