package program

import (
	"fmt"

	"github.com/expr-lang/expr/ast"

	"hatchel/hcl/value"
)

// condition compiles a part that must give a bool.
func (c *compiler) condition(n ast.Node) term {
	t := c.expr(n)
	c.expect(n, t, Bool)
	return t
}

func truth(f *frame, e eval) (bool, error) {
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

func (c *compiler) and(n *ast.BinaryNode) term {
	l := c.condition(n.Left)
	r := c.given(l.truths(), func() term { return c.condition(n.Right) })
	return term{shape: boolean, at: c.at(n),
		whenTrue: both(l.truths(), r.truths()), whenFalse: shared(l.whenFalse, r.whenFalse),
		eval: func(f *frame) (any, error) {
			if ok, err := truth(f, l.eval); !ok || err != nil {
				return false, err
			}
			ok, err := truth(f, r.eval)
			return ok, err
		}}
}

func (c *compiler) or(n *ast.BinaryNode) term {
	l := c.condition(n.Left)
	r := c.given(l.whenFalse, func() term { return c.condition(n.Right) })
	return term{shape: boolean, at: c.at(n),
		whenTrue: shared(l.truths(), r.truths()), whenFalse: both(l.whenFalse, r.whenFalse),
		eval: func(f *frame) (any, error) {
			if ok, err := truth(f, l.eval); ok || err != nil {
				return ok, err
			}
			ok, err := truth(f, r.eval)
			return ok, err
		}}
}

// truths are the paths that are not null when the term is true; a traversal that is true is itself not null.
func (t term) truths() [][]string {
	if t.path != nil {
		return prefixes(t.path)
	}
	return t.whenTrue
}

func (c *compiler) unary(n *ast.UnaryNode) term {
	switch n.Operator {
	case "!", "not":
		t := c.condition(n.Node)
		inner := t.eval
		return term{shape: boolean, at: c.at(n), whenTrue: t.whenFalse, whenFalse: t.truths(), eval: func(f *frame) (any, error) {
			ok, err := truth(f, inner)
			return !ok, err
		}}
	}
	return c.sign(n)
}

func (c *compiler) conditional(n *ast.ConditionalNode) term {
	cond := c.condition(n.Cond)
	yes := c.given(cond.truths(), func() term { return c.expr(n.Exp1) })
	no := c.given(cond.whenFalse, func() term { return c.expr(n.Exp2) })
	return term{shape: unify(yes.shape, no.shape), at: c.at(n), eval: func(f *frame) (any, error) {
		ok, err := truth(f, cond.eval)
		if err != nil {
			return nil, err
		}
		if ok {
			return yes.eval(f)
		}
		return no.eval(f)
	}}
}

func (c *compiler) coalesce(n *ast.BinaryNode) term {
	l := c.expr(n.Left)
	r := c.expr(n.Right)
	shape := l.shape
	switch {
	case shape.Kind == Null:
		shape = r.shape
	case shape.Nullable:
		shape = unify(shape.notNull(), r.shape)
	}
	return term{shape: shape, at: c.at(n), eval: func(f *frame) (any, error) {
		v, err := resolvedNull(f, l.eval)
		if err != nil || v != nil {
			return v, err
		}
		return r.eval(f)
	}}
}

// resolvedNull keeps a Deferred as it is unless it is null.
func resolvedNull(f *frame, e eval) (any, error) {
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
