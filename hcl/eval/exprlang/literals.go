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
		c.report(c.fullSpan(n.Nodes[0]), "Unused expression",
			"Only the last of several expressions is the result. Remove this one, or name it with let.")
	}
	return last
}

func (c *compiler) compileArray(n *ast.ArrayNode) typedExpr {
	elem := eval.AnyType
	evals := make([]evalFunc, len(n.Nodes))
	for i, part := range n.Nodes {
		t := c.compile(part)
		evals[i] = t.Eval
		if i == 0 {
			elem = t.Type
		} else {
			elem = unifyTypes(elem, t.Type)
		}
	}
	return computed(schema.ListOf(elem), c.spanOf(n), func(f *frame) (any, error) {
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
	})
}

// objectPair is one member of an object that a program writes.
type objectPair struct {
	name  string
	key   evalFunc // nil when the name is known
	value evalFunc
}

func (c *compiler) compileObject(n *ast.MapNode) typedExpr {
	pairs := make([]objectPair, len(n.Pairs))
	t := &schema.Type{Kind: schema.Object}
	known := true
	for i, p := range n.Pairs {
		p := p.(*ast.PairNode)
		key, val := c.compile(p.Key), c.compile(p.Value)
		pairs[i].value = val.Eval
		name, isText := key.Value.(string)
		if !key.Known || !isText {
			c.checkKind(p.Key, key, schema.String)
			pairs[i].key, known = key.Eval, false
			continue
		}
		if _, twice := t.Lookup(name); twice {
			c.report(key.at, "Duplicate key", "The object already has the key %q.", name)
		}
		pairs[i].name = name
		t.Members = append(t.Members, &schema.Member{Name: name, Type: val.Type})
	}
	if !known {
		t = &schema.Type{Kind: schema.Map}
	}
	return computed(t, c.spanOf(n), func(f *frame) (any, error) {
		if err := f.call.Spend(48 + 64*len(pairs)); err != nil {
			return nil, err
		}
		m := make(map[string]any, len(pairs))
		for i := range pairs {
			p := &pairs[i]
			v, err := p.value(f)
			if err != nil {
				return nil, err
			}
			name := p.name
			if p.key != nil {
				if name, err = evalKey(f, p.key); err != nil {
					return nil, err
				}
			}
			m[name] = v
		}
		return m, nil
	})
}

func evalKey(f *frame, key evalFunc) (string, error) {
	k, err := key(f)
	if err != nil {
		return "", err
	}
	name, ok := k.(string)
	if !ok {
		return "", fmt.Errorf("a key must be a string, got %s", value.Kind(k))
	}
	return name, nil
}
