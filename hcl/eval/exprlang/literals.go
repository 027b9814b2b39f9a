package exprlang

import (
	"fmt"

	"github.com/expr-lang/expr/ast"

	"hatchel/hcl/value"
)

func (c *compiler) compileSequence(n *ast.SequenceNode) typedExpr {
	var last typedExpr
	for _, part := range n.Nodes {
		last = c.compile(part)
	}
	if len(n.Nodes) > 1 {
		c.report(c.fullSpan(n.Nodes[0]), "Unused expression", "Only the last of several expressions is the result; drop this one, or name it with let.")
	}
	return last
}

func (c *compiler) compileArray(n *ast.ArrayNode) typedExpr {
	elem := anything
	evals := make([]eval, len(n.Nodes))
	for i, part := range n.Nodes {
		t := c.compile(part)
		evals[i] = t.eval
		if i == 0 {
			elem = t.shape
		} else {
			elem = unifyTypes(elem, t.shape)
		}
	}
	return typedExpr{shape: listOf(elem), at: c.spanOf(n), eval: func(f *frame) (any, error) {
		if err := f.call.Spend(24 + 16*len(evals)); err != nil {
			return nil, err
		}
		list := make([]any, len(evals))
		for i, e := range evals {
			v, err := e(f)
			if err != nil {
				return nil, err
			}
			list[i] = v
		}
		return list, nil
	}}
}

func (c *compiler) compileObject(n *ast.MapNode) typedExpr {
	type pair struct {
		name string
		key  eval // nil when the name is known
		val  eval
	}
	pairs := make([]pair, len(n.Pairs))
	shape := &Shape{Kind: Object, Members: make(map[string]*Shape, len(n.Pairs))}
	for i, p := range n.Pairs {
		p := p.(*ast.PairNode)
		key, val := c.compile(p.Key), c.compile(p.Value)
		pairs[i].val = val.eval
		name, isText := key.value.(string)
		if key.known && isText {
			if _, twice := shape.Members[name]; twice && shape.Kind == Object {
				c.report(key.at, "Key written twice", "The key %q stands in the same object already.", name)
			}
			pairs[i].name, shape.Members[name] = name, val.shape
			continue
		}
		c.checkKind(p.Key, key, String)
		pairs[i].key = key.eval
		shape = &Shape{Kind: Map, Members: shape.Members}
	}
	if shape.Kind == Map {
		shape = &Shape{Kind: Map}
	}
	return typedExpr{shape: shape, at: c.spanOf(n), eval: func(f *frame) (any, error) {
		if err := f.call.Spend(48 + 64*len(pairs)); err != nil {
			return nil, err
		}
		m := make(map[string]any, len(pairs))
		for i := range pairs {
			p := &pairs[i]
			v, err := p.val(f)
			if err != nil {
				return nil, err
			}
			name := p.name
			if p.key != nil {
				k, err := p.key(f)
				if err != nil {
					return nil, err
				}
				var ok bool
				if name, ok = k.(string); !ok {
					return nil, fmt.Errorf("a key must be a string, got %s", value.Kind(k))
				}
			}
			m[name] = v
		}
		return m, nil
	}}
}
