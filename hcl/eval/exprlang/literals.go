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
	elems := make([]typedExpr, len(n.Nodes))
	for i, part := range n.Nodes {
		elems[i] = c.compile(part)
		if i == 0 {
			elem = elems[i].Type
		} else {
			elem = unifyTypes(elem, elems[i].Type)
		}
	}
	return eval.ListOf(elem, elems)
}

func (c *compiler) compileObject(n *ast.MapNode) typedExpr {
	entries := make([]eval.Entry, len(n.Pairs))
	t := &schema.Type{Kind: schema.Object}
	known := true
	for i, p := range n.Pairs {
		p := p.(*ast.PairNode)
		key, val := c.compile(p.Key), c.compile(p.Value)
		entries[i].Value = val.Eval
		name, isText := key.Value.(string)
		if !isText {
			c.checkKind(p.Key, key, schema.String)
			entries[i].Key, known = evalKey(key.Eval), false
			continue
		}
		if _, twice := t.Lookup(name); twice {
			c.report(c.spanOf(p.Key), "Duplicate key", "The object already has the key %q.", name)
		}
		entries[i].Name = name
		t.Members = append(t.Members, &schema.Member{Name: name, Type: val.Type})
	}
	if !known {
		t = &schema.Type{Kind: schema.Map}
	}
	return eval.ObjectOf(t, entries)
}

func evalKey(key eval.Func) func(*eval.Frame) (string, error) {
	return func(f *eval.Frame) (string, error) {
		k, err := key(f)
		name, ok := k.(string)
		if err == nil && !ok {
			err = fmt.Errorf("a key must be a string, got %s", value.Kind(k))
		}
		return name, err
	}
}
