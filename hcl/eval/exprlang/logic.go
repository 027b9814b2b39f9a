package exprlang

import (
	"fmt"

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

func evalBool(f *frame, e evalFunc) (bool, error) {
	v, err := e(f)
	if err != nil {
		return false, err
	}
	b, ok := v.(bool)
	if !ok {
		if v, err = value.Resolve(v); err != nil {
			return false, errUnreadable
		}
		if b, ok = v.(bool); !ok {
			return false, fmt.Errorf("true or false is expected, got %s", value.Kind(v))
		}
	}
	return b, nil
}

func (c *compiler) compileAnd(n *ast.BinaryNode) typedExpr {
	l := c.compileCondition(n.Left)
	r := c.withNonNull(l.nonNullWhenTrue(), func() typedExpr { return c.compileCondition(n.Right) })
	return typedExpr{typ: eval.BoolType, at: c.spanOf(n),
		whenTrue: unionPaths(l.nonNullWhenTrue(), r.nonNullWhenTrue()), whenFalse: intersectPaths(l.whenFalse, r.whenFalse),
		eval: func(f *frame) (any, error) {
			if ok, err := evalBool(f, l.eval); !ok || err != nil {
				return false, err
			}
			ok, err := evalBool(f, r.eval)
			return ok, err
		}}
}

func (c *compiler) compileOr(n *ast.BinaryNode) typedExpr {
	l := c.compileCondition(n.Left)
	r := c.withNonNull(l.whenFalse, func() typedExpr { return c.compileCondition(n.Right) })
	return typedExpr{typ: eval.BoolType, at: c.spanOf(n),
		whenTrue: intersectPaths(l.nonNullWhenTrue(), r.nonNullWhenTrue()), whenFalse: unionPaths(l.whenFalse, r.whenFalse),
		eval: func(f *frame) (any, error) {
			if ok, err := evalBool(f, l.eval); ok || err != nil {
				return ok, err
			}
			ok, err := evalBool(f, r.eval)
			return ok, err
		}}
}

// nonNullWhenTrue are the paths that are not null when the term is true; a traversal that is true is itself not null.
func (t typedExpr) nonNullWhenTrue() [][]string {
	if t.path != nil {
		return prefixes(t.path)
	}
	return t.whenTrue
}

func (c *compiler) compileUnary(n *ast.UnaryNode) typedExpr {
	switch n.Operator {
	case "!", "not":
		t := c.compileCondition(n.Node)
		inner := t.eval
		return typedExpr{typ: eval.BoolType, at: c.spanOf(n), whenTrue: t.whenFalse, whenFalse: t.nonNullWhenTrue(), eval: func(f *frame) (any, error) {
			ok, err := evalBool(f, inner)
			return !ok, err
		}}
	}
	return c.compileSign(n)
}

func (c *compiler) compileConditional(n *ast.ConditionalNode) typedExpr {
	cond := c.compileCondition(n.Cond)
	yes := c.withNonNull(cond.nonNullWhenTrue(), func() typedExpr { return c.compile(n.Exp1) })
	no := c.withNonNull(cond.whenFalse, func() typedExpr { return c.compile(n.Exp2) })
	return typedExpr{typ: unifyTypes(yes.typ, no.typ), at: c.spanOf(n), eval: func(f *frame) (any, error) {
		ok, err := evalBool(f, cond.eval)
		if err != nil {
			return nil, err
		}
		if ok {
			return yes.eval(f)
		}
		return no.eval(f)
	}}
}

func (c *compiler) compileCoalesce(n *ast.BinaryNode) typedExpr {
	l := c.compile(n.Left)
	r := c.compile(n.Right)
	typ := l.typ
	switch {
	case typ.Kind == schema.Null:
		typ = r.typ
	case typ.Nullable:
		typ = unifyTypes(typ.NotNull(), r.typ)
	}
	return typedExpr{typ: typ, at: c.spanOf(n), eval: func(f *frame) (any, error) {
		v, err := evalResolvedNull(f, l.eval)
		if err != nil || v != nil {
			return v, err
		}
		return r.eval(f)
	}}
}

// evalResolvedNull keeps a Deferred as it is unless it is null.
func evalResolvedNull(f *frame, e evalFunc) (any, error) {
	v, err := e(f)
	if d, ok := v.(value.Deferred); ok && err == nil {
		inner, err := d.Value()
		if err != nil {
			return nil, errUnreadable
		}
		if inner == nil {
			return nil, nil
		}
	}
	return v, err
}
