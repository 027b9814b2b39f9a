package hclexpr

import (
	"fmt"

	hclv2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/eval"
	"hatchel/hcl/schema"
	"hatchel/hcl/value"
)

// loopVar is a variable of a loop; next is that of the loop around it. The variable of a splat has
// no name.
type loopVar struct {
	name       string
	phrase     string // in sentences, if it has no name
	slot       int
	typ        *schema.Type
	nullReason string
	next       *loopVar

	sensitive bool // the collection holds a secret
}

func (v *loopVar) find(name string) *loopVar {
	for ; v != nil; v = v.next {
		if v.name == name {
			return v
		}
	}
	return nil
}

// loopVariable compiles reading a loop variable.
func (c *Compiler) loopVariable(v *loopVar, in LexicalEnv) eval.TypedExpr {
	slot := v.slot
	c.reads.Loop = max(c.reads.Loop, eval.MaxLoopVars-slot)
	if in.NonNull.Has(v.name) {
		v = &loopVar{name: v.name, phrase: v.phrase, typ: v.typ, sensitive: v.sensitive}
	}
	return eval.TypedExpr{Type: v.typ, NullReason: v.nullReason, Path: v.name, Phrase: v.phrase,
		Sensitive: v.sensitive, Eval: func(f *eval.Frame) (any, error) { return f.Vars[slot], nil }}
}

// bindLoopVar declares a variable of a loop over something. Its values are of type t.
func (c *Compiler) bindLoopVar(name string, t *schema.Type, over eval.TypedExpr, in LexicalEnv) (LexicalEnv, int) {
	slot := c.slots
	c.slots++
	v := &loopVar{name: name, slot: slot, typ: t, next: in.vars, sensitive: over.Sensitive}
	if t.Nullable {
		v.nullReason = name + " may be null"
	}
	return LexicalEnv{in.NonNull.Shadow(name), v}, slot
}

// ElementTypes returns the types of keys and elements in a loop over n, and reports what is no
// collection.
func (c *Compiler) ElementTypes(n eval.TypedExpr, r hclv2.Range) (key, elem *schema.Type) {
	c.checkNotNull(n, r)
	switch n.Type.Kind {
	case schema.List, schema.Set:
		return eval.IntegerType, n.Type.Elem
	case schema.Map:
		return eval.StringType, n.Type.Elem
	case schema.Object:
		return eval.StringType, commonMemberType(n.Type)
	case schema.Any:
		return eval.AnyType, eval.AnyType
	}
	c.Errorf(r, "Not a list", "A loop needs a list or a map, but %s is %s.", eval.Subject(n),
		eval.TypePhrase(n.Type))
	return eval.AnyType, eval.AnyType
}

// forEach calls do for every element of a list, by index, or of a map, sorted by key.
func forEach(v any, what string, do func(key, elem any) error) error {
	v, err := eval.Resolve(v)
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
	return fmt.Errorf("a loop needs a list or a map, but %s is %s", what, value.Kind(v))
}

func (c *Compiler) compileFor(e *hclsyntax.ForExpr, in LexicalEnv) eval.TypedExpr {
	var n eval.TypedExpr
	read := c.trackLoop(func() { n = c.compileForParts(e, in) })
	n.Sensitive, n.CallerSpecific, n.Known = read.Sensitive, read.Caller, read.Known()
	return c.foldConstant(n, e.Range())
}

func (c *Compiler) compileForParts(e *hclsyntax.ForExpr, in LexicalEnv) eval.TypedExpr {
	coll := c.Compile(e.CollExpr, in)
	keyType, elemType := c.ElementTypes(coll, e.CollExpr.Range())
	body, keySlot := in, -1
	if e.KeyVar != "" {
		body, keySlot = c.bindLoopVar(e.KeyVar, keyType, coll, body)
	}
	body, valSlot := c.bindLoopVar(e.ValVar, elemType, coll, body)
	var n, cond, key eval.TypedExpr
	if e.CondExpr != nil {
		cond = c.compileBool(e.CondExpr, body)
		yes, _ := body.NonNull.Branches(c.nonNullWhen(e.CondExpr, body))
		body.NonNull = yes
	}
	if e.KeyExpr != nil {
		key = c.Compile(e.KeyExpr, body)
	}
	val := c.Compile(e.ValExpr, body)
	loop := &forLoop{coll: coll, cond: cond, key: key, val: val, keySlot: keySlot, valSlot: valSlot, group: e.Group,
		what: eval.Subject(coll)}
	if e.KeyExpr != nil {
		n.Type, n.Eval = &schema.Type{Kind: schema.Map, Elem: val.TypeWithNull()}, loop.object
		if e.Group {
			n.Type = &schema.Type{Kind: schema.Map, Elem: schema.ListOf(val.TypeWithNull())}
		}
	} else {
		n.Type, n.Eval = schema.ListOf(val.TypeWithNull()), loop.list
	}
	return n
}

type forLoop struct {
	coll, cond, key, val eval.TypedExpr
	keySlot, valSlot     int
	group                bool
	what                 string
}

func (l *forLoop) run(f *eval.Frame, do func() error) error {
	v, err := l.coll.Eval(f)
	if err != nil {
		return err
	}
	return forEach(v, l.what, func(k, e any) error {
		if err := f.SpendIteration(); err != nil {
			return err
		}
		if l.keySlot >= 0 {
			f.BindVar(l.keySlot, k)
		}
		f.BindVar(l.valSlot, e)
		if l.cond.Eval != nil {
			if ok, err := eval.EvalBool(f, l.cond.Eval); err != nil || !ok {
				return err
			}
		}
		return do()
	})
}

func (l *forLoop) list(f *eval.Frame) (any, error) {
	out := []any{}
	err := l.run(f, func() error {
		v, err := l.val.Eval(f)
		if err != nil {
			return err
		}
		out = append(out, v)
		return f.SpendBytes(v)
	})
	return out, err
}

func (l *forLoop) object(f *eval.Frame) (any, error) {
	out := map[string]any{}
	err := l.run(f, func() error {
		k, err := l.key.Eval(f)
		if err != nil {
			return err
		}
		name, err := value.Text(k)
		if err != nil || k == nil {
			return fmt.Errorf("the key of an object must be a string, got %s", value.Kind(k))
		}
		v, err := l.val.Eval(f)
		if err == nil {
			err = f.SpendBytes(v)
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

// compileSplat compiles list[*].name: the member of every element. Null is taken as an empty list,
// any other value as a list of one.
func (c *Compiler) compileSplat(e *hclsyntax.SplatExpr, in LexicalEnv) eval.TypedExpr {
	var n eval.TypedExpr
	read := c.trackLoop(func() { n = c.compileSplatParts(e, in) })
	n.Sensitive, n.CallerSpecific, n.Known = read.Sensitive, read.Caller, read.Known()
	return c.foldConstant(n, e.Range())
}

func (c *Compiler) compileSplatParts(e *hclsyntax.SplatExpr, in LexicalEnv) eval.TypedExpr {
	src := c.Compile(e.Source, in)
	elem := src.Type
	switch src.Type.Kind {
	case schema.List, schema.Set:
		elem = src.Type.Elem
	case schema.Any:
		elem = eval.AnyType
	}
	if src.NullReason != "" {
		elem = elem.NotNull()
	}
	body, slot := c.bindLoopVar("", elem, src, in)
	body.vars.phrase = eval.Subject(src) + "[*]"
	val := c.Compile(e.Each, body)
	n := eval.TypedExpr{Type: schema.ListOf(val.TypeWithNull())}
	n.Eval = func(f *eval.Frame) (any, error) {
		v, err := src.Eval(f)
		if err == nil {
			v, err = eval.Resolve(v)
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
			if err := f.SpendIteration(); err != nil {
				return nil, err
			}
			f.BindVar(slot, el)
			if out[i], err = val.Eval(f); err == nil {
				err = f.SpendBytes(out[i])
			}
			if err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	return n
}

// splatElement compiles reading the element of a splat.
func (c *Compiler) splatElement(in LexicalEnv) eval.TypedExpr {
	if v := in.vars.find(""); v != nil {
		return c.loopVariable(v, in)
	}
	return eval.Broken()
}
