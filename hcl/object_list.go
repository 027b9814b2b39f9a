package hcl

import (
	"fmt"

	hclv2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/schema"
	"hatchel/hcl/value"
)

func (c *compiler) object(e *hclsyntax.ObjectConsExpr, in env) node {
	type entry struct{ key, val node }
	entries := make([]entry, 0, len(e.Items))
	t := &schema.Type{Kind: schema.Object}
	n := node{typ: t, known: true}
	seen := map[string]bool{}
	for _, item := range e.Items {
		key := c.key(item.KeyExpr, in)
		val := c.named(key, item.ValueExpr, in)
		entries = append(entries, entry{key, val})
		n.known = n.known && key.known && val.known
		n.sensitive = n.sensitive || key.sensitive || val.sensitive
		n.caller = n.caller || key.caller || val.caller
		name, ok := key.value.(string)
		switch {
		case !ok:
			n.typ = &schema.Type{Kind: schema.Map, Elem: anyType}
		case seen[name]:
			c.errorf(item.KeyExpr.Range(), "Duplicate key", "The key %q is written twice in this object.", name)
		default:
			seen[name] = true
			t.Members = append(t.Members, &schema.Member{Name: name, Type: val.held()})
		}
	}
	n.eval = func(f *Frame) (any, error) {
		m := make(map[string]any, len(entries))
		for _, en := range entries {
			k, err := en.key.eval(f)
			if err != nil {
				return nil, err
			}
			name, err := value.Text(k)
			if err != nil || k == nil {
				return nil, fmt.Errorf("the key of an object must be a string, got %s", value.Kind(k))
			}
			if m[name], err = en.val.eval(f); err != nil {
				return nil, err
			}
		}
		return m, nil
	}
	return c.fold(n, e.Range())
}

// named compiles the value of a member.
func (c *compiler) named(key node, e hclsyntax.Expression, in env) node {
	around := c.name
	c.name, _ = key.value.(string)
	n := c.expr(e, in)
	c.name = around
	return n
}

// key compiles the key of an object: a bare word is that word.
func (c *compiler) key(e hclsyntax.Expression, in env) node {
	if k, ok := e.(*hclsyntax.ObjectConsKeyExpr); ok {
		if word := hclv2.ExprAsKeyword(k.Wrapped); word != "" && !k.ForceNonLiteral {
			return constant(word)
		}
		e = k.Wrapped
	}
	n := c.expr(e, in)
	if n.known && n.value != nil {
		if text, err := value.Text(n.value); err == nil {
			return constant(text)
		}
	}
	return n
}

func (c *compiler) tuple(e *hclsyntax.TupleConsExpr, in env) node {
	elems := make([]node, len(e.Exprs))
	n := node{known: true, typ: &schema.Type{Kind: schema.List, Elem: anyType}}
	for i, x := range e.Exprs {
		el := c.expr(x, in)
		elems[i] = el
		n.known = n.known && el.known
		n.sensitive = n.sensitive || el.sensitive
		n.caller = n.caller || el.caller
		if i == 0 {
			n.typ.Elem = el.held()
		} else {
			n.typ.Elem = schema.Unify(n.typ.Elem, el.held())
		}
	}
	n.eval = func(f *Frame) (any, error) {
		list := make([]any, len(elems))
		for i, el := range elems {
			var err error
			if list[i], err = el.eval(f); err != nil {
				return nil, err
			}
		}
		return list, nil
	}
	return c.fold(n, e.Range())
}
