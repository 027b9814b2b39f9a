package exprlang

import (
	"fmt"

	"github.com/expr-lang/expr/ast"

	"hatchel/hcl/eval"
	"hatchel/hcl/schema"
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
	elem := eval.AnyType
	evals := make([]evalFunc, len(n.Nodes))
	for i, part := range n.Nodes {
		t := c.compile(part)
		evals[i] = t.eval
		if i == 0 {
			elem = t.typ
		} else {
			elem = unifyTypes(elem, t.typ)
		}
	}
	return typedExpr{typ: schema.ListOf(elem), at: c.spanOf(n), eval: func(f *frame) (any, error) {
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
		key  evalFunc // nil when the name is known
		val  evalFunc
	}
	pairs := make([]pair, len(n.Pairs))
	typ := &schema.Type{Kind: schema.Object}
	known := true
	for i, p := range n.Pairs {
		p := p.(*ast.PairNode)
		key, val := c.compile(p.Key), c.compile(p.Value)
		pairs[i].val = val.eval
		name, isText := key.value.(string)
		if !key.known || !isText {
			c.checkKind(p.Key, key, schema.String)
			pairs[i].key, known = key.eval, false
			continue
		}
		if _, twice := typ.Lookup(name); twice {
			c.report(key.at, "Key written twice", "The key %q stands in the same object already.", name)
		}
		pairs[i].name = name
		typ.Members = append(typ.Members, &schema.Member{Name: name, Type: val.typ})
	}
	if !known {
		typ = &schema.Type{Kind: schema.Map}
	}
	return typedExpr{typ: typ, at: c.spanOf(n), eval: func(f *frame) (any, error) {
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
