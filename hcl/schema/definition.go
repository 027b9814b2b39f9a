package schema

import (
	"slices"
	"sync"

	hclv2 "github.com/hashicorp/hcl/v2"
)

// Definition is the type of a type block. Types that come from it remember it, so that a schema can hold it once.
type Definition struct {
	Name string

	typ       *Type // nil while the block is read, and if it is invalid
	of        *Definition
	recursion []hclv2.Range // the places where the block refers to itself
	openOnce  sync.Once
	opened    *Definition
	typeOnce  sync.Once
	checkOnce [2]sync.Once
	checks    [2]check // of values that may be shown, and of sensitive ones
}

// Recursion returns the type of a reference at a place inside the block itself. It has no parts, so that types stay
// finite: Unfolded returns the type with its parts.
func (d *Definition) Recursion(at hclv2.Range) *Type {
	d.recursion = append(d.recursion, at)
	return &Type{def: d, isRef: true}
}

// RecursionRange returns the first place where the block refers to itself.
func (d *Definition) RecursionRange() (at hclv2.Range, ok bool) {
	if len(d.recursion) == 0 {
		return at, false
	}
	return d.recursion[0], true
}

// Complete sets the type that the block declares, and returns it as the one to use. The problem is a sentence about a
// type that refers to itself in a way that has no meaning.
func (d *Definition) Complete(t *Type) (named *Type, problem string) {
	if len(d.recursion) > 0 {
		problem = d.problem(t)
	}
	if problem != "" || t.broken {
		return t, problem
	}
	c := *t
	c.def, c.isRef = d, false
	d.typ = &c
	return d.typ, ""
}

func (d *Definition) problem(t *Type) string {
	name := "type." + d.Name
	switch {
	case d.isAlternative(t):
		return name + " is itself, with nothing in between. Put it into a list, a map or a member of an object."
	case t.Nullable:
		return name + " contains itself, so it cannot be nullable as a whole. Write nullable(" + name +
			") where it is used."
	case !d.isFinite(t):
		return name + " contains itself in a value that is required, so it would have no end. Write optional(" + name +
			"), nullable(" + name + ") or list(" + name + ")."
	case t.HoldsFile():
		return name + " contains itself, so it cannot hold a file. Declare an input for the file."
	case t.findDefault() != "" && d.isInUnion(t, false):
		return name + " contains itself in a one_of, whose values are kept as they are sent, so its members have no " +
			"defaults. Leave out the default of " + t.findDefault() + ": optional(T)."
	}
	return ""
}

// isAlternative reports whether a value of t is a value of the definition without a level in between.
func (d *Definition) isAlternative(t *Type) bool {
	return t.isRef && t.def == d || slices.ContainsFunc(t.OneOf, d.isAlternative)
}

// isFinite reports whether t has a value that holds no value of the definition.
func (d *Definition) isFinite(t *Type) bool {
	endless := func(m *Member) bool { return !m.Optional && !d.isFinite(m.Type) }
	switch {
	case t.Nullable:
		return true
	case t.isRef:
		return t.def != d
	case t.OneOf != nil:
		return slices.ContainsFunc(t.OneOf, d.isFinite)
	case t.Elem != nil:
		return t.MinItems == nil || *t.MinItems == 0 || d.isFinite(t.Elem)
	}
	return !slices.ContainsFunc(t.Members, endless)
}

// isInUnion reports whether t refers to the definition from within an alternative.
func (d *Definition) isInUnion(t *Type, inside bool) bool {
	if t.isRef {
		return inside && t.def == d
	}
	found := false
	t.eachPart(func(part *Type) { found = found || d.isInUnion(part, inside || t.OneOf != nil) })
	return found
}

// eachPart calls do for the types that t is written with.
func (t *Type) eachPart(do func(*Type)) {
	switch {
	case t.OneOf != nil:
		for _, a := range t.OneOf {
			do(a)
		}
	case t.Elem != nil:
		do(t.Elem)
	}
	if t.OneOf == nil {
		for _, m := range t.Members {
			do(m.Type)
		}
	}
}

// holdsRef reports whether t contains a reference from within a definition to itself.
func (t *Type) holdsRef() bool {
	found := t.isRef
	t.eachPart(func(part *Type) { found = found || part.holdsRef() })
	return found
}

// Unfolded returns the type with its parts: for a reference from within a definition to itself the type that is
// defined, for every other type itself.
func (t *Type) Unfolded() *Type {
	if t == nil || !t.isRef {
		return t
	}
	target := t.def.target()
	if target == nil {
		return &Type{}
	}
	return withNull(target, t.Nullable)
}

func withNull(t *Type, nullable bool) *Type {
	if nullable {
		return t.AsNullable()
	}
	return t
}

// target returns the defined type, or nil while it is not known.
func (d *Definition) target() *Type {
	if d.of != nil {
		d.typeOnce.Do(func() { d.typ = d.of.target().Opened() })
	}
	return d.typ
}

// open returns the definition of the type with unknown members allowed.
func (d *Definition) open() *Definition {
	if d.of != nil {
		return d
	}
	d.openOnce.Do(func() { d.opened = &Definition{Name: d.Name, of: d, recursion: d.recursion} })
	return d.opened
}

// recursionCheck checks a value that a definition has inside itself.
func (c checkCompiler) recursionCheck(d *Definition) check {
	i := 0
	if c.sensitive {
		i = 1
	}
	return func(v any, p pass) (any, bool, []Violation) {
		target := d.target()
		if target == nil {
			return v, false, singleViolation("cannot be a value of type." + d.Name + ", which is being declared")
		}
		d.checkOnce[i].Do(func() { d.checks[i] = c.compile(target) })
		return d.checks[i](v, p)
	}
}
