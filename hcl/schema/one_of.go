package schema

import (
	"bytes"
	"slices"
	"sync"

	hclv2 "github.com/hashicorp/hcl/v2"
)

// A type of alternatives has OneOf set. Its other fields describe all values of the alternatives together, so that
// expressions and templates need no knowledge of alternatives.

// oneOf reads one_of(T, U, "description", { keyword = value }).
func (p *parser) oneOf(expr hclv2.Expression, args []hclv2.Expression) *Type {
	var alternatives []*Type
	for len(args) > 0 && !isObject(args[0]) {
		text, isText := literalText(unwrap(args[0]))
		if written, _ := namedType(text); isText && (written == "" || len(alternatives) > 1 && written != text) {
			break // the description
		}
		t := p.parse(args[0])
		if p.checkAlternative(t, alternatives, args[0].Range()) {
			alternatives = append(alternatives, t)
		} else {
			alternatives = append(alternatives, brokenType())
		}
		args = args[1:]
	}
	if len(alternatives) < 2 {
		p.fail(expr.Range(), "Incomplete type", "one_of needs %s.", constructors["one_of"])
	}
	broken := func(t *Type) bool { return t.broken }
	if len(alternatives) < 2 || slices.ContainsFunc(alternatives, broken) {
		return p.descriptionAndKeywords("one_of(..., ", args, brokenType())
	}
	return p.descriptionAndKeywords("one_of(..., ", args, unionOf(alternatives))
}

// checkAlternative reports an alternative that means nothing beside the others, or that cannot be kept as it is sent.
func (p *parser) checkAlternative(t *Type, others []*Type, at hclv2.Range) bool {
	reported := len(*p.Diags)
	written := t.AppendSchema(nil)
	same := func(o *Type) bool { return !o.broken && bytes.Equal(o.AppendSchema(nil), written) }
	switch {
	case t.broken:
	case t.isAny():
		p.fail(at, "Invalid alternative", "any takes every value, so it leaves nothing to the other alternatives. "+
			"Write any alone.")
	case t.HoldsFile():
		p.fail(at, "Invalid alternative", "A file cannot be an alternative. Declare an input of its own, as in "+
			"optional(file).")
	case t.findDefault() != "":
		p.fail(at, "Invalid alternative", "The member %q has a default, but the value of an alternative is kept as it "+
			"is sent. Leave out the default: optional(T).", t.findDefault())
	case slices.ContainsFunc(others, same):
		p.fail(at, "Duplicate alternative", "The alternative %s is written twice.", t)
	}
	return len(*p.Diags) == reported
}

// findDefault returns the name of a member that has a default, at any depth, or "".
func (t *Type) findDefault() string {
	if t == nil {
		return ""
	}
	for _, m := range t.Members {
		if m.HasDefault {
			return m.Name
		}
		if name := m.Type.findDefault(); name != "" {
			return name
		}
	}
	return t.Elem.findDefault()
}

// OneOf returns the type of the values of all alternatives, of which there are two or more.
func OneOf(alternatives ...*Type) *Type { return unionOf(alternatives) }

// unionOf returns the type of the values of all alternatives.
func unionOf(alternatives []*Type) *Type {
	nullable := false
	var notNull []*Type
	for _, a := range alternatives {
		nullable = nullable || a.Nullable
		if len(a.OneOf) > 0 && a.Title == "" && a.Description == "" && a.library == nil {
			notNull = append(notNull, a.OneOf...)
		} else {
			notNull = append(notNull, a.NotNull())
		}
	}
	out := *bareType(notNull[0])
	for _, a := range notNull[1:] {
		out = *mergeTypes(&out, a)
	}
	out.OneOf, out.Nullable, out.def, out.isRef = notNull, nullable, nil, false
	out.fits = sync.OnceValue(func() []*Validator {
		validators := make([]*Validator, len(notNull))
		for i, a := range notNull {
			validators[i] = a.Compile()
		}
		return validators
	})
	return &out
}

// openedUnion is Opened for a type of alternatives.
func (t *Type) openedUnion() *Type {
	alternatives := make([]*Type, len(t.OneOf))
	for i, a := range t.OneOf {
		alternatives[i] = a.Opened()
	}
	u, c := unionOf(alternatives), *t
	c.OneOf, c.fits, c.Elem, c.Members, c.Open = u.OneOf, u.fits, u.Elem, u.Members, u.Open
	if t.def != nil {
		c.def = t.def.open()
	}
	return &c
}

// mergeTypes returns a type that contains the values of both. Unlike Unify it keeps the members that only one object
// has: they may be absent.
func mergeTypes(a, b *Type) *Type {
	nullable := a.Nullable || b.Nullable
	var out *Type
	switch {
	case a.Kind == Object && b.Kind == Object:
		out = &Type{Kind: Object, Open: a.Open || b.Open}
		for _, m := range a.Members {
			merged := b.memberBeside(m)
			if o, both := b.Lookup(m.Name); both {
				merged.Type, merged.Optional = mergeTypes(m.Type, o.Type), m.Optional || o.Optional
			}
			out.Members = append(out.Members, merged)
		}
		for _, m := range b.Members {
			if _, both := a.Lookup(m.Name); !both {
				out.Members = append(out.Members, a.memberBeside(m))
			}
		}
	case a.Elem != nil && b.Elem != nil && a.Kind.base() == b.Kind.base():
		out = &Type{Kind: a.Kind, Elem: mergeTypes(a.Elem, b.Elem)}
		if a.Kind != b.Kind {
			out.Kind = a.Kind.base()
		}
	default:
		return bareType(Unify(a, b))
	}
	out.Nullable = nullable
	return out
}

// memberBeside returns a member that t does not have as one of an object that may be a t.
func (t *Type) memberBeside(m *Member) *Member {
	if t.Open {
		return &Member{Name: m.Name, Type: &Type{}, Optional: true}
	}
	return &Member{Name: m.Name, Type: m.Type, Optional: true}
}

// bareType returns the type without what is only advertised or checked.
func bareType(t *Type) *Type {
	return &Type{Kind: t.Kind, Elem: t.Elem, Members: t.Members, Nullable: t.Nullable, Open: t.Open, Enum: t.Enum,
		OneOf: t.OneOf, fits: t.fits, def: t.def, isRef: t.isRef, Sensitive: t.Sensitive}
}

// alternativeOf returns the first alternative that a value fits, or nil.
func (t *Type) alternativeOf(v any, time *checkTime) *Type {
	for i, validator := range t.fits() {
		if _, _, violations := validator.check(v, pass{time: time}); violations == nil {
			return t.OneOf[i]
		}
	}
	return nil
}
