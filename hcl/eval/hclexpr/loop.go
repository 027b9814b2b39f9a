package hclexpr

import (
	"cmp"
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
	name string
	slot int
	loop int // number of %{for} around it, with its own
	expr eval.TypedExpr
	next *loopVar
}

func (v *loopVar) find(name string) *loopVar {
	for ; v != nil; v = v.next {
		if v.name == name {
			return v
		}
	}
	return nil
}

// types returns the types of the variables by their names.
func (v *loopVar) types() map[string]*schema.Type {
	all := map[string]*schema.Type{}
	for ; v != nil; v = v.next {
		if all[v.name] == nil && v.name != "" {
			all[v.name] = v.expr.Type
		}
	}
	return all
}

// loopVariable compiles reading a loop variable.
func (c *Compiler) loopVariable(v *loopVar, in LexicalEnv) eval.TypedExpr {
	c.reads.Loop = max(c.reads.Loop, eval.MaxLoopVars-v.slot)
	n := v.expr
	if in.NonNull.Has(v.name) {
		n.NullReason = ""
	}
	return n
}

// bindLoopVar declares a variable of a loop over something, whose values are as of. Phrase is what a sentence calls it
// if it has no name.
func (c *Compiler) bindLoopVar(name, phrase string, of, over eval.TypedExpr, in LexicalEnv) (LexicalEnv, int) {
	slot := c.slots
	c.slots++
	read := eval.TypedExpr{Type: of.Type, Facts: eval.Same(of), Path: name, Phrase: phrase, Read: over.Read,
		Eval: func(f *eval.Frame) (any, error) { return f.Vars[slot], nil }}
	read.NullReason = eval.NullableReason(cmp.Or(name, phrase), of.Type)
	read.Call = true // each round has its own value
	in.NonNull, in.vars = in.NonNull.Shadow(name), &loopVar{name, slot, in.loops, read, in.vars}
	return in, slot
}

// Elements returns the type of the keys, and what is known of the elements, in a loop over n. It reports what is no
// collection.
func (c *Compiler) Elements(n eval.TypedExpr, r hclv2.Range) (key *schema.Type, elem eval.TypedExpr) {
	c.checkNotNull(n, r)
	elem = eval.TypedExpr{Type: eval.ElemType(n.Type), Facts: n.ElementFacts(true)} // the loop reads which there are
	switch n.Type.Kind {
	case schema.List, schema.Set:
		return eval.IntegerType, elem
	case schema.Map:
		return eval.StringType, elem
	case schema.Object:
		elem.Type = commonMemberType(n.Type)
		return eval.StringType, elem
	case schema.Any:
		return eval.AnyType, elem
	}
	c.Errorf(r, "Not a list", "A loop needs a list or a map, but %s is %s.", eval.Subject(n),
		eval.TypePhrase(n.Type))
	elem.Type = eval.AnyType
	return eval.AnyType, elem
}

// compileDerived computes what is known of an expression from what its parts read.
func (c *Compiler) compileDerived(r hclv2.Range, compile func() eval.TypedExpr) eval.TypedExpr {
	var n eval.TypedExpr
	read := c.trackReads(func() { n = compile() })
	n.Marks, n.Call = read.Marks, read.Call || read.Loop > 0
	n.AddCuts(read.Cuts)
	n.AddMasks(read.Masked)
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
		var cond eval.TypedExpr
		cond, body, _ = c.compileCondition(e.CondExpr, body)
		loop.cond = cond.Eval
	}
	if e.KeyExpr != nil {
		loop.key = eval.KeyName(c.Compile(e.KeyExpr, body), false)
	}
	val := c.Compile(e.ValExpr, body)
	loop.val = chargeForText(val.Eval)
	list := eval.TypedExpr{Type: schema.ListOf(val.TypeWithNull()), Facts: eval.EachOf(val), Eval: loop.list}
	switch {
	case e.KeyExpr == nil:
		return list
	case e.Group:
		val = list
	}
	return eval.TypedExpr{Type: &schema.Type{Kind: schema.Map, Elem: val.TypeWithNull()}, Facts: eval.EachOf(val),
		Eval: loop.object}
}

// compileForHead compiles the collection of a loop, and declares its variables for the body.
func (c *Compiler) compileForHead(e *hclsyntax.ForExpr, in LexicalEnv) (*forLoop, LexicalEnv) {
	coll := c.CompileCollection(e.CollExpr, in)
	keyType, elem := c.Elements(coll, e.CollExpr.Range())
	loop := &forLoop{coll: coll.Eval, keySlot: -1, group: e.Group, what: eval.Subject(coll),
		notEmpty: coll.Type.MinItems != nil && *coll.Type.MinItems > 0}
	if e.KeyVar != "" {
		in, loop.keySlot = c.bindLoopVar(e.KeyVar, "", eval.Computed(keyType, nil, coll), coll, in)
	}
	in, loop.valSlot = c.bindLoopVar(e.ValVar, "", elem, coll, in)
	return loop, in
}

type forLoop struct {
	coll, cond, val  eval.Func // cond is nil if there is no condition
	key              func(*eval.Frame) (string, error)
	keySlot, valSlot int // keySlot is -1 if there is no variable for the key
	group, notEmpty  bool
	what             string
}

// run calls do for every element of a list, by index, or of a map, sorted by key.
func (l *forLoop) run(f *eval.Frame, do func() error) error {
	v, err := eval.Resolved(l.coll(f))
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
		keys, err := value.KeysSteps(v, f.Budget().Step)
		if err != nil {
			return err
		}
		for _, k := range keys {
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
	if l.cond != nil {
		if ok, err := eval.Bool(l.cond(f)); err != nil || !ok {
			return err
		}
	}
	return do()
}

// chargeForText returns a value in a loop that is charged for what it writes.
func chargeForText(compute eval.Func) eval.Func {
	return func(f *eval.Frame) (any, error) {
		v, err := compute(f)
		if err == nil {
			err = f.SpendBytes(v)
		}
		return v, err
	}
}

func (l *forLoop) list(f *eval.Frame) (any, error) {
	out := []any{}
	err := l.run(f, func() error {
		v, err := l.val(f)
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
		v, err := l.val(f)
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
	src := c.CompileCollection(e.Source, in)
	elem := src
	switch src.Type.Kind {
	case schema.List, schema.Set, schema.Any:
		elem = eval.TypedExpr{Type: eval.ElemType(src.Type), Facts: src.ElementFacts(true)}
	}
	if src.NullReason != "" {
		elem.Type = elem.Type.NotNull()
	}
	body, slot := c.bindLoopVar("", eval.Subject(src)+"[*]", elem, src, in)
	val := c.Compile(e.Each, body)
	coll := func(f *eval.Frame) (any, error) {
		v, err := eval.Resolved(src.Eval(f))
		if _, ok := v.([]any); ok || err != nil {
			return v, err
		}
		if v == nil {
			return []any{}, nil
		}
		return []any{v}, nil
	}
	loop := &forLoop{coll: coll, val: chargeForText(val.Eval), keySlot: -1, valSlot: slot}
	return eval.TypedExpr{Type: schema.ListOf(val.TypeWithNull()), Facts: eval.EachOf(val), Eval: loop.list}
}
