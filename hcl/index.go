package hcl

import (
	"fmt"
	"strconv"

	hclv2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/schema"
	"hatchel/hcl/value"
)

func (c *compiler) index(e *hclsyntax.IndexExpr, in env) node {
	n, key := c.expr(e.Collection, in), c.expr(e.Key, in)
	if name, ok := key.value.(string); ok && key.known {
		return c.attribute(n, name, e.BracketRange, in)
	}
	return c.element(n, key, e.BracketRange, in)
}

// element compiles n[key] with a key that is not a constant text.
func (c *compiler) element(n, key node, r hclv2.Range, in env) node {
	c.guarded(n, r)
	out := node{called: fmt.Sprintf("%s[%s]", subject(n), indexText(key)), typ: anyType, known: n.known && key.known, sensitive: n.sensitive || key.sensitive, caller: n.caller || key.caller}
	switch n.typ.Kind {
	case schema.List, schema.Set, schema.Map:
		out.typ = n.typ.Elem
		out.null = nullableReason(out.called, n.typ.Elem)
	case schema.Object:
		out.typ = commonMember(n.typ)
		out.finite(n, key)
	case schema.Any:
	default:
		c.errorf(r, "Not a list", "%s is %s, and only lists, maps and objects have elements.", opening(n), describe(n.typ))
		return broken()
	}
	what := subject(n)
	out.eval = func(f *Frame) (any, error) {
		v, err := n.eval(f)
		if err != nil {
			return nil, err
		}
		k, err := key.eval(f)
		if err != nil {
			return nil, err
		}
		return element(f, v, k, what)
	}
	if out.known {
		return c.fold(out, r)
	}
	return out
}

// indexText is how a sentence writes an index.
func indexText(key node) string {
	if i, ok := key.value.(int); ok && key.known {
		return strconv.Itoa(i)
	}
	if key.path != "" {
		return key.path
	}
	return "…"
}

func element(f *Frame, v, key any, what string) (any, error) {
	v, err := value.Resolve(v)
	if err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case []any:
		i, ok := value.Int(key)
		if s, isText := key.(string); isText {
			n, err := strconv.Atoi(s)
			i, ok = n, err == nil
		}
		if !ok {
			return nil, fmt.Errorf("an index into %s must be a whole number, got %s", what, value.Kind(key))
		}
		if i < 0 || i >= len(v) {
			if f.lenient {
				return nil, nil
			}
			return nil, fmt.Errorf("%s has %d elements, and there is none at index %d", what, len(v), i)
		}
		return v[i], nil
	case map[string]any, nil:
		name, err := value.Text(key)
		if err != nil {
			return nil, err
		}
		return lookup(f, v, name, what, false)
	}
	return nil, fmt.Errorf("%s is a %s and has no elements", what, value.Kind(v))
}

// finite makes an index into a map of known texts an enumeration of those texts, which raw() accepts.
func (n *node) finite(collection, key node) {
	if !collection.known {
		return
	}
	m, ok := collection.value.(map[string]any)
	if !ok {
		return
	}
	t := &schema.Type{Kind: schema.String}
	for _, k := range value.Keys(m) {
		s, ok := m[k].(string)
		if !ok {
			return
		}
		t.Enum = append(t.Enum, schema.EnumValue{Value: s})
	}
	n.typ = t
}

func commonMember(t *schema.Type) *schema.Type {
	var common *schema.Type
	for _, m := range t.Members {
		if common == nil {
			common = m.Type
			continue
		}
		common = schema.Unify(common, m.Type)
	}
	if common == nil {
		return anyType
	}
	return common
}
