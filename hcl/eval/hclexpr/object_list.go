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
	entries := make([]eval.Entry, len(e.Items))
	parts := make([]eval.TypedExpr, 0, 2*len(e.Items))
	members := &schema.Type{Kind: schema.Object}
	t := members
	for i, item := range e.Items {
		key := c.compileKey(item.KeyExpr, in)
		val := c.compileNamed(key, item.ValueExpr, in)
		parts = append(parts, key, val)
		entries[i].Value = val.Eval
		name, known := key.Value.(string)
		if !known {
			entries[i].Key = objectKey(key.Eval)
			t = &schema.Type{Kind: schema.Map, Elem: eval.AnyType}
			continue
		}
		if _, twice := members.Lookup(name); twice {
			c.Errorf(item.KeyExpr.Range(), "Duplicate key", "The key %q is written twice in this object.", name)
		}
		entries[i].Name = name
		members.Members = append(members.Members, &schema.Member{Name: name, Type: val.TypeWithNull()})
	}
	return c.foldConstant(eval.ObjectOf(t, entries).DependOn(parts...), e.Range())
}

// objectKey computes a key of an object, which is text or can be written as text.
func objectKey(key eval.Func) func(*eval.Frame) (string, error) {
	return func(f *eval.Frame) (string, error) {
		k, err := key(f)
		if err != nil {
			return "", err
		}
		name, err := value.Text(k)
		if err != nil || k == nil {
			return "", fmt.Errorf("the key of an object must be a string, got %s", value.Kind(k))
		}
		return name, nil
	}
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
		elems[i] = c.Compile(x, in)
		if i == 0 {
			elem = elems[i].TypeWithNull()
		} else {
			elem = schema.Unify(elem, elems[i].TypeWithNull())
		}
	}
	return c.foldConstant(eval.ListOf(elem, elems).DependOn(elems...), e.Range())
}
