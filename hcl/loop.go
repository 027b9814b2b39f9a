package hcl

import (
	"fmt"

	hclv2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/schema"
	"hatchel/hcl/value"
)

// A loopVar is a variable of a for expression, innermost first. The anonymous one of a splat has no name.
type loopVar struct {
	name string
	said string // what a sentence calls it when it has no name
	slot int
	typ  *schema.Type
	null string
	next *loopVar

	sensitive bool // what is looped over holds a secret
}

func (v *loopVar) find(name string) *loopVar {
	for ; v != nil; v = v.next {
		if v.name == name {
			return v
		}
	}
	return nil
}

// variable is a loop variable where it is read.
func (c *compiler) variable(v *loopVar, in env) node {
	slot := v.slot
	c.reads.loop = max(c.reads.loop, loopVars-slot)
	if in.facts.notNull(v.name) {
		v = &loopVar{name: v.name, said: v.said, typ: v.typ, sensitive: v.sensitive}
	}
	return node{typ: v.typ, null: v.null, path: v.name, called: v.said, sensitive: v.sensitive, eval: func(f *Frame) (any, error) { return f.vars[slot], nil }}
}

// declare makes a variable of a loop over something, whose values are of type t.
func (c *compiler) declare(name string, t *schema.Type, over node, in env) (env, int) {
	slot := c.slots
	c.slots++
	v := &loopVar{name: name, slot: slot, typ: t, next: in.vars, sensitive: over.sensitive}
	if t.Nullable {
		v.null = name + " may be null"
	}
	return env{in.facts.forget(name), v}, slot
}

// elements says what a loop over n yields, and reports what cannot be looped over.
func (c *compiler) elements(n node, r hclv2.Range) (key, elem *schema.Type) {
	c.guarded(n, r)
	switch n.typ.Kind {
	case schema.List, schema.Set:
		return integerType, n.typ.Elem
	case schema.Map:
		return stringType, n.typ.Elem
	case schema.Object:
		return stringType, commonMember(n.typ)
	case schema.Any:
		return anyType, anyType
	}
	c.errorf(r, "Not a list", "A loop goes over a list or a map, and %s is %s.", subject(n), describe(n.typ))
	return anyType, anyType
}

// each calls do for every element in order: a list's by index, a map's by key.
func each(v any, what string, do func(key, elem any) error) error {
	v, err := value.Resolve(v)
	if err != nil {
		return err
	}
	switch v := v.(type) {
	case []any:
		for i, e := range v {
			if err := do(i, e); err != nil {
				return err
			}
		}
		return nil
	case map[string]any:
		for _, k := range value.Keys(v) {
			if err := do(k, v[k]); err != nil {
				return err
			}
		}
		return nil
	}
	return fmt.Errorf("a loop goes over a list or a map, and %s is %s", what, value.Kind(v))
}

func (c *compiler) forExpr(e *hclsyntax.ForExpr, in env) node {
	var n node
	read := c.looping(func() { n = c.forParts(e, in) })
	n.sensitive, n.caller, n.known = read.sensitive, read.caller, read.known()
	return c.fold(n, e.Range())
}

func (c *compiler) forParts(e *hclsyntax.ForExpr, in env) node {
	coll := c.expr(e.CollExpr, in)
	keyType, elemType := c.elements(coll, e.CollExpr.Range())
	body, keySlot := in, -1
	if e.KeyVar != "" {
		body, keySlot = c.declare(e.KeyVar, keyType, coll, body)
	}
	body, valSlot := c.declare(e.ValVar, elemType, coll, body)
	var n, cond, key node
	if e.CondExpr != nil {
		cond = c.boolean(e.CondExpr, body)
		yes, _ := body.facts.assume(c.narrowing(e.CondExpr, body))
		body.facts = yes
	}
	if e.KeyExpr != nil {
		key = c.expr(e.KeyExpr, body)
	}
	val := c.expr(e.ValExpr, body)
	loop := &forLoop{coll: coll, cond: cond, key: key, val: val, keySlot: keySlot, valSlot: valSlot, group: e.Group, what: subject(coll)}
	if e.KeyExpr != nil {
		n.typ, n.eval = &schema.Type{Kind: schema.Map, Elem: val.held()}, loop.object
		if e.Group {
			n.typ = &schema.Type{Kind: schema.Map, Elem: schema.ListOf(val.held())}
		}
	} else {
		n.typ, n.eval = schema.ListOf(val.held()), loop.list
	}
	return n
}

type forLoop struct {
	coll, cond, key, val node
	keySlot, valSlot     int
	group                bool
	what                 string
}

func (l *forLoop) run(f *Frame, do func() error) error {
	v, err := l.coll.eval(f)
	if err != nil {
		return err
	}
	return each(v, l.what, func(k, e any) error {
		if err := f.round(); err != nil {
			return err
		}
		if l.keySlot >= 0 {
			f.bind(l.keySlot, k)
		}
		f.bind(l.valSlot, e)
		if l.cond.eval != nil {
			if ok, err := truth(l.cond, f); err != nil || !ok {
				return err
			}
		}
		return do()
	})
}

func (l *forLoop) list(f *Frame) (any, error) {
	out := []any{}
	err := l.run(f, func() error {
		v, err := l.val.eval(f)
		if err != nil {
			return err
		}
		out = append(out, v)
		return f.charge(v)
	})
	return out, err
}

func (l *forLoop) object(f *Frame) (any, error) {
	out := map[string]any{}
	err := l.run(f, func() error {
		k, err := l.key.eval(f)
		if err != nil {
			return err
		}
		name, err := value.Text(k)
		if err != nil || k == nil {
			return fmt.Errorf("the key of an object must be a string, got %s", value.Kind(k))
		}
		v, err := l.val.eval(f)
		if err == nil {
			err = f.charge(v)
		}
		if err != nil {
			return err
		}
		if l.group {
			group, _ := out[name].([]any)
			out[name] = append(group, v)
			return nil
		}
		if _, twice := out[name]; twice {
			return fmt.Errorf("two elements have the key %q; write `...` after the value to group them", name)
		}
		out[name] = v
		return nil
	})
	return out, err
}

// splat compiles list[*].name: the member of each element; null is an empty list and any other single value a list of one.
func (c *compiler) splat(e *hclsyntax.SplatExpr, in env) node {
	var n node
	read := c.looping(func() { n = c.splatParts(e, in) })
	n.sensitive, n.caller, n.known = read.sensitive, read.caller, read.known()
	return c.fold(n, e.Range())
}

func (c *compiler) splatParts(e *hclsyntax.SplatExpr, in env) node {
	src := c.expr(e.Source, in)
	elem := src.typ
	switch src.typ.Kind {
	case schema.List, schema.Set:
		elem = src.typ.Elem
	case schema.Any:
		elem = anyType
	}
	if src.null != "" {
		elem = elem.NotNull()
	}
	body, slot := c.declare("", elem, src, in)
	body.vars.said = subject(src) + "[*]"
	val := c.expr(e.Each, body)
	n := node{typ: schema.ListOf(val.held())}
	n.eval = func(f *Frame) (any, error) {
		v, err := src.eval(f)
		if err == nil {
			v, err = value.Resolve(v)
		}
		if err != nil {
			return nil, err
		}
		elems, ok := v.([]any)
		if !ok && v != nil {
			elems = []any{v}
		}
		out := make([]any, len(elems))
		for i, el := range elems {
			if err := f.round(); err != nil {
				return nil, err
			}
			f.bind(slot, el)
			if out[i], err = val.eval(f); err == nil {
				err = f.charge(out[i])
			}
			if err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	return n
}

// anonymous is the element inside a splat.
func (c *compiler) anonymous(in env) node {
	if v := in.vars.find(""); v != nil {
		return c.variable(v, in)
	}
	return broken()
}
