package schema

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"hatchel/hcl/diag"
	"hatchel/hcl/value"

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
	case t.Kind == Any && t.OneOf == nil:
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
	out.OneOf, out.Nullable = notNull, nullable
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
		OneOf: t.OneOf, fits: t.fits, Sensitive: t.Sensitive, Cuts: t.Cuts}
}

// alternativeOf returns the first alternative that a value fits, or nil.
func (t *Type) alternativeOf(v any) *Type {
	for i, validator := range t.fits() {
		if _, _, violations := validator.check(v, false); violations == nil {
			return t.OneOf[i]
		}
	}
	return nil
}

// unionChecker is the check of a type of alternatives.
type unionChecker struct {
	checkCompiler
	t      *Type
	checks []check
	tag    string // the member that tells objects apart, or ""
	noTag  check  // of a tag that no alternative has
}

func (c checkCompiler) unionCheck(t *Type) check {
	u := &unionChecker{checkCompiler: c, t: t, tag: tagMember(t.OneOf)}
	tags := &Type{Kind: String}
	for _, a := range t.OneOf {
		u.checks = append(u.checks, c.compile(a))
		if m, ok := a.Lookup(u.tag); ok {
			for _, e := range m.Type.Enum {
				if !hasEnum(tags.Enum, e.Value) {
					tags.Enum = append(tags.Enum, e)
				}
			}
		}
	}
	u.noTag = c.textCheck(tags)
	return u.check
}

// tagMember returns the member whose text tells the objects among the alternatives apart, or "": each of them requires
// it, and the texts of its enumeration are not the same everywhere.
func tagMember(alternatives []*Type) string {
	objects := slices.DeleteFunc(slices.Clone(alternatives), func(a *Type) bool { return a.Kind != Object })
	if len(objects) < 2 || len(objects[0].OneOf) > 0 {
		return ""
	}
	for _, m := range objects[0].Members {
		differ := false
		isTag := !slices.ContainsFunc(objects, func(a *Type) bool {
			o, ok := a.Lookup(m.Name)
			if !ok || a.OneOf != nil || o.Optional || o.Type.Nullable || o.Type.Kind != String ||
				len(o.Type.Enum) == 0 {
				return true
			}
			differ = differ || !slices.EqualFunc(o.Type.Enum, m.Type.Enum, sameValue)
			return false
		})
		if isTag && differ {
			return m.Name
		}
	}
	return ""
}

func sameValue(a, b EnumValue) bool { return value.Equal(a.Value, b.Value) }

func (u *unionChecker) check(v any, _ bool) (any, bool, []Violation) {
	deferred := false
	if d, ok := v.(value.LazyJSON); ok {
		decoded, err := d.Value()
		if err != nil {
			return v, false, singleViolation("could not be read")
		}
		v, deferred = decoded, true
	}
	for i, a := range u.t.OneOf {
		if !mayBe(a, v) || !u.hasTag(a, v) {
			continue
		}
		// not owned, because another alternative is tried with the same value
		if out, changed, violations := u.checks[i](v, false); violations == nil {
			return out, changed || deferred, nil
		}
	}
	return v, false, u.explain(v)
}

// mayBe reports whether a value has the kind of a type.
func mayBe(t *Type, v any) bool {
	switch t.Kind {
	case Any, Null, Bytes, File:
		return true
	}
	return value.Kind(v) == t.Kind.base().String()
}

// hasTag reports whether an object has the tag of an alternative, or there is none.
func (u *unionChecker) hasTag(a *Type, v any) bool {
	m, ok := a.Lookup(u.tag)
	if u.tag == "" || !ok {
		return true
	}
	object, _ := v.(map[string]any)
	return hasEnum(m.Type.Enum, object[u.tag])
}

// explain returns why a value fits no alternative: the violations of the nearest one, and which that is.
func (u *unionChecker) explain(v any) []Violation {
	nearest, best, ofKind := -1, []Violation(nil), false
	for i, a := range u.t.OneOf {
		if !mayBe(a, v) {
			continue
		}
		ofKind = true
		if !u.hasTag(a, v) {
			continue
		}
		if _, _, violations := u.checks[i](v, false); best == nil || len(violations) < len(best) {
			nearest, best = i, violations
		}
	}
	switch {
	case !ofKind:
		return u.violation("must be "+u.kinds(), describeValue(v))
	case nearest < 0:
		object, _ := v.(map[string]any)
		sent, ok := object[u.tag]
		if !ok {
			return []Violation{{memberKey(u.tag), "is required"}}
		}
		_, _, violations := u.noTag(sent, false)
		return prefix(memberKey(u.tag), violations)
	}
	head := fmt.Sprintf("fits none of the %d alternatives; the nearest is %s", len(u.t.OneOf), u.describe(nearest))
	return append(singleViolation(head), best...)
}

// kinds lists the kinds of the alternatives for a message.
func (u *unionChecker) kinds() string {
	var words []string
	for _, a := range u.t.OneOf {
		if word := wordFor(a.Kind); !slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	if u.t.Nullable {
		words = append(words, "null")
	}
	return diag.JoinOr(words)
}

func wordFor(k Kind) string {
	switch k {
	case Bool:
		return "true or false"
	case Set:
		k = List
	case Map:
		k = Object
	}
	return diag.WithArticle(k.String())
}

// describe names an alternative by what a caller knows of it: its tag, its title or its form.
func (u *unionChecker) describe(i int) string {
	a := u.t.OneOf[i]
	if m, ok := a.Lookup(u.tag); ok && a.Kind == Object {
		return fmt.Sprintf("the object with %s = %s", u.tag, listValues(enumValues(m.Type)))
	}
	if a.Title != "" {
		return quoteShort(a.Title)
	}
	if a.Kind == Object && len(a.OneOf) == 0 {
		return "the object with " + cmp.Or(strings.Join(a.MemberNames(), ", "), "no members")
	}
	return clip(a.String())
}
