package hclexpr

import (
	"fmt"

	hclv2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/eval"
	"hatchel/hcl/schema"
	"hatchel/hcl/value"
)

func (c *Compiler) compileObject(e *hclsyntax.ObjectConsExpr, in LexicalEnv) eval.TypedExpr {
	type entry struct{ key, val eval.TypedExpr }
	entries := make([]entry, 0, len(e.Items))
	t := &schema.Type{Kind: schema.Object}
	n := eval.Combine[*eval.Frame](t)
	seen := map[string]bool{}
	for _, item := range e.Items {
		key := c.compileKey(item.KeyExpr, in)
		val := c.compileNamed(key, item.ValueExpr, in)
		entries = append(entries, entry{key, val})
		n = eval.Combine(n.Type, n, key, val)
		name, ok := key.Value.(string)
		switch {
		case !ok:
			n.Type = &schema.Type{Kind: schema.Map, Elem: eval.AnyType}
		case seen[name]:
			c.Errorf(item.KeyExpr.Range(), "Duplicate key", "The key %q is written twice in this object.", name)
		default:
			seen[name] = true
			t.Members = append(t.Members, &schema.Member{Name: name, Type: val.TypeWithNull()})
		}
	}
	n.Eval = func(f *eval.Frame) (any, error) {
		m := make(map[string]any, len(entries))
		for _, en := range entries {
			k, err := en.key.Eval(f)
			if err != nil {
				return nil, err
			}
			name, err := value.Text(k)
			if err != nil || k == nil {
				return nil, fmt.Errorf("the key of an object must be a string, got %s", value.Kind(k))
			}
			if m[name], err = en.val.Eval(f); err != nil {
				return nil, err
			}
		}
		return m, nil
	}
	return c.foldConstant(n, e.Range())
}

// compileNamed compiles the value of a member.
func (c *Compiler) compileNamed(key eval.TypedExpr, e hclsyntax.Expression, in LexicalEnv) eval.TypedExpr {
	around := c.Name
	c.Name, _ = key.Value.(string)
	n := c.Compile(e, in)
	c.Name = around
	return n
}

// compileKey compiles the key of an object. A bare word is a literal.
func (c *Compiler) compileKey(e hclsyntax.Expression, in LexicalEnv) eval.TypedExpr {
	if k, ok := e.(*hclsyntax.ObjectConsKeyExpr); ok {
		if word := hclv2.ExprAsKeyword(k.Wrapped); word != "" && !k.ForceNonLiteral {
			return eval.Constant(word)
		}
		e = k.Wrapped
	}
	n := c.Compile(e, in)
	if n.Known && n.Value != nil {
		if text, err := value.Text(n.Value); err == nil {
			return eval.Constant(text)
		}
	}
	return n
}

func (c *Compiler) compileTuple(e *hclsyntax.TupleConsExpr, in LexicalEnv) eval.TypedExpr {
	elems := make([]eval.TypedExpr, len(e.Exprs))
	elem := eval.AnyType
	for i, x := range e.Exprs {
		el := c.Compile(x, in)
		elems[i] = el
		if i == 0 {
			elem = el.TypeWithNull()
		} else {
			elem = schema.Unify(elem, el.TypeWithNull())
		}
	}
	n := eval.Combine(schema.ListOf(elem), elems...)
	n.Eval = func(f *eval.Frame) (any, error) {
		list := make([]any, len(elems))
		for i, el := range elems {
			var err error
			if list[i], err = el.Eval(f); err != nil {
				return nil, err
			}
		}
		return list, nil
	}
	return c.foldConstant(n, e.Range())
}
