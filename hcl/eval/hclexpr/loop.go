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
	sensitive  bool // the collection holds a secret
	next       *loopVar
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
	n := eval.TypedExpr{Type: v.typ, NullReason: v.nullReason, Path: v.name, Phrase: v.phrase,
		Sensitive: v.sensitive, Eval: func(f *eval.Frame) (any, error) { return f.Vars[slot], nil }}
	if in.NonNull.Has(v.name) {
		n.NullReason = ""
	}
	return n
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

// compileDerived computes what is known of an expression from what its parts read.
func (c *Compiler) compileDerived(r hclv2.Range, compile func() eval.TypedExpr) eval.TypedExpr {
	var n eval.TypedExpr
	read := c.trackReads(func() { n = compile() })
	n.Sensitive, n.CallerSpecific, n.Known = read.Sensitive, read.Caller, read.Known()
	return c.foldConstant(n, r)
}

// trackReads returns what the expressions that compile compiles read. They do not depend on
// variables of loops inside them.
func (c *Compiler) trackReads(compile func()) eval.ReadSet {
	first, outer := c.slots, c.reads
	c.reads = eval.ReadSet{}
	compile()
	if eval.MaxLoopVars-c.reads.Loop >= first {
		c.reads.Loop = 0
	}
	inner := c.reads
	c.reads = outer.Union(inner)
	return inner
}

func (c *Compiler) compileFor(e *hclsyntax.ForExpr, in LexicalEnv) eval.TypedExpr {
	loop, body := c.compileForHead(e, in)
	if e.CondExpr != nil {
		loop.cond = c.compileBool(e.CondExpr, body)
		body.NonNull, _ = body.NonNull.Branches(loop.cond)
	}
	if e.KeyExpr == nil {
		loop.val = c.Compile(e.ValExpr, body)
		return eval.TypedExpr{Type: schema.ListOf(loop.val.TypeWithNull()), Eval: loop.list}
	}
	loop.key = objectKey(c.Compile(e.KeyExpr, body).Eval)
	loop.val = c.Compile(e.ValExpr, body)
	elem := loop.val.TypeWithNull()
	if e.Group {
		elem = schema.ListOf(elem)
	}
	return eval.TypedExpr{Type: &schema.Type{Kind: schema.Map, Elem: elem}, Eval: loop.object}
}

// compileForHead compiles the collection of a loop, and declares its variables for the body.
func (c *Compiler) compileForHead(e *hclsyntax.ForExpr, in LexicalEnv) (*forLoop, LexicalEnv) {
	coll := c.Compile(e.CollExpr, in)
	keyType, elemType := c.ElementTypes(coll, e.CollExpr.Range())
	loop := &forLoop{coll: coll, keySlot: -1, group: e.Group, what: eval.Subject(coll)}
	if e.KeyVar != "" {
		in, loop.keySlot = c.bindLoopVar(e.KeyVar, keyType, coll, in)
	}
	in, loop.valSlot = c.bindLoopVar(e.ValVar, elemType, coll, in)
	return loop, in
}

type forLoop struct {
	coll, cond, val  eval.TypedExpr
	key              func(*eval.Frame) (string, error)
	keySlot, valSlot int // keySlot is -1 if there is no variable for the key
	group            bool
	what             string
}

// run calls do for every element of a list, by index, or of a map, sorted by key.
func (l *forLoop) run(f *eval.Frame, do func() error) error {
	v, err := eval.Resolved(l.coll.Eval(f))
	if err != nil {
		return err
	}
	switch v := v.(type) {
	case []any:
		for i := 0; i < len(v) && err == nil; i++ {
			err = l.round(f, i, v[i], do)
		}
		return err
	case map[string]any:
		for _, k := range value.Keys(v) {
			if err := l.round(f, k, v[k], do); err != nil {
				return err
			}
		}
		return nil
	}
	return fmt.Errorf("a loop needs a list or a map, but %s is %s", l.what, value.Kind(v))
}

func (l *forLoop) round(f *eval.Frame, key, elem any, do func() error) error {
	if err := f.SpendIteration(); err != nil {
		return err
	}
	if l.keySlot >= 0 {
		f.BindVar(l.keySlot, key)
	}
	f.BindVar(l.valSlot, elem)
	if l.cond.Eval != nil {
		if ok, err := eval.Bool(l.cond.Eval(f)); err != nil || !ok {
			return err
		}
	}
	return do()
}

// value computes the value of one round, and charges for it.
func (l *forLoop) value(f *eval.Frame) (any, error) {
	v, err := l.val.Eval(f)
	if err == nil {
		err = f.SpendBytes(v)
	}
	return v, err
}

func (l *forLoop) list(f *eval.Frame) (any, error) {
	out := []any{}
	err := l.run(f, func() error {
		v, err := l.value(f)
		out = append(out, v)
		return err
	})
	return out, err
}

func (l *forLoop) object(f *eval.Frame) (any, error) {
	out := map[string]any{}
	err := l.run(f, func() error {
		name, err := l.key(f)
		if err != nil {
			return err
		}
		v, err := l.value(f)
		if err != nil {
			return err
		}
		before, twice := out[name]
		switch {
		case l.group:
			group, _ := before.([]any)
			out[name] = append(group, v)
		case twice:
			return fmt.Errorf("two elements have the key %q; write `...` after the value to group them", name)
		default:
			out[name] = v
		}
		return nil
	})
	return out, err
}

// compileSplat compiles list[*].name: the member of every element. Null is taken as an empty list,
// any other value as a list of one.
func (c *Compiler) compileSplat(e *hclsyntax.SplatExpr, in LexicalEnv) eval.TypedExpr {
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
	loop := &forLoop{coll: src, val: c.Compile(e.Each, body), keySlot: -1, valSlot: slot}
	loop.coll.Eval = func(f *eval.Frame) (any, error) {
		v, err := eval.Resolved(src.Eval(f))
		if _, ok := v.([]any); ok || err != nil {
			return v, err
		}
		if v == nil {
			return []any{}, nil
		}
		return []any{v}, nil
	}
	return eval.TypedExpr{Type: schema.ListOf(loop.val.TypeWithNull()), Eval: loop.list}
}

// splatElement compiles reading the element of a splat.
func (c *Compiler) splatElement(in LexicalEnv) eval.TypedExpr {
	if v := in.vars.find(""); v != nil {
		return c.loopVariable(v, in)
	}
	return eval.Broken()
}
