package hcl

import (
	"fmt"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/schema"
	"hatchel/hcl/value"
)

// Entries are named values that are computed for every call: query parameters, headers, form fields, environment variables. An entry whose
// value is null is left out, unless it reads the caller's identity: then the call is refused.
type Entries struct {
	written []entry // in written order
	whole   *Expr   // when the map itself is a value
	Range   Range
}

type entry struct {
	key   node
	value node
	rng   Range
}

// Entry is one named value of a call.
type Entry struct {
	Name  string
	Value any // never null
	Range Range
}

// Eval computes the entries in written order; those of a map that is itself a value by name. A nil Entries has none.
func (e *Entries) Eval(f *Frame) ([]Entry, error) {
	if e == nil {
		return nil, nil
	}
	if e.whole != nil {
		return e.dynamic(f)
	}
	out := make([]Entry, 0, len(e.written))
	for _, w := range e.written {
		k, err := w.key.eval(f)
		if err != nil {
			return nil, err
		}
		name, ok := k.(string)
		if !ok {
			return nil, fmt.Errorf("a name must be a string, got %s", value.Kind(k))
		}
		v, err := w.value.eval(f)
		if err != nil {
			return nil, err
		}
		if v == nil {
			if w.value.caller {
				return nil, missingOfCaller(name)
			}
			continue
		}
		out = append(out, Entry{name, v, w.rng})
	}
	return out, nil
}

// missingOfCaller is why a call is refused that needs what is not known of its caller.
func missingOfCaller(name string) error {
	return fmt.Errorf("%s needs something of the caller's identity that is not there", name)
}

func (e *Entries) dynamic(f *Frame) ([]Entry, error) {
	v, err := e.whole.Eval(f)
	if err == nil {
		v, err = value.Resolve(v)
	}
	if err != nil || v == nil {
		return nil, err
	}
	m, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("an object is needed, got %s", value.Kind(v))
	}
	var out []Entry
	for _, k := range value.Keys(m) {
		switch {
		case m[k] != nil:
			out = append(out, Entry{k, m[k], e.Range})
		case e.whole.node.caller:
			return nil, missingOfCaller(k)
		}
	}
	return out, nil
}

// Names are the keys that are known at load.
func (e *Entries) Names() (names []string) {
	if e == nil {
		return nil
	}
	for _, w := range e.written {
		if name, ok := w.key.value.(string); ok {
			names = append(names, name)
		}
	}
	return names
}

// Secret reports whether the entry of that name holds a secret, so that nothing prints it.
func (e *Entries) Secret(name string) bool {
	if e == nil {
		return false
	}
	if e.whole != nil {
		return e.whole.node.sensitive
	}
	for _, w := range e.written {
		if w.key.value == name && w.value.sensitive {
			return true
		}
	}
	return false
}

func (c *compiler) entries(e hclsyntax.Expression, in env, f Field) *Entries {
	c.nulls = nullPropagates
	out := &Entries{Range: at(e.Range())}
	obj, ok := e.(*hclsyntax.ObjectConsExpr)
	if !ok {
		return c.dynamicEntries(e, in, f)
	}
	seen := map[string]bool{}
	for _, item := range obj.Items {
		key := c.key(item.KeyExpr, in)
		if f.Fixed && !key.known {
			c.errorf(item.KeyExpr.Range(), "Known name needed", "The names in %s are the author's: they cannot depend on a call.", f.Name)
		}
		if name, ok := key.value.(string); ok {
			if seen[name] {
				c.errorf(item.KeyExpr.Range(), "Duplicate key", "%q is written twice in %s.", name, f.Name)
			}
			seen[name] = true
		}
		w := entry{key, c.named(key, item.ValueExpr, in), at(item.ValueExpr.Range())}
		c.noFile(w.value, item.ValueExpr, f)
		out.written = append(out.written, w)
	}
	return out
}

func (c *compiler) dynamicEntries(e hclsyntax.Expression, in env, f Field) *Entries {
	n := c.expr(e, in)
	c.noFile(n, e, f)
	switch n.typ.Kind {
	case schema.Object, schema.Map, schema.Any:
	default:
		c.errorf(e.Range(), "Wrong type", "%s takes a map such as { name = value }, and this is %s.", f.Name, describe(n.typ))
	}
	if f.Fixed && !n.known && n.typ.Kind != schema.Object {
		c.errorf(e.Range(), "Known names needed", "The names in %s are the author's: write them out, as in { name = value }.", f.Name)
	}
	return &Entries{whole: &Expr{n, at(e.Range())}, Range: at(e.Range())}
}
