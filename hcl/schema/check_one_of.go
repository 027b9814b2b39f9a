package schema

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"hatchel/hcl/diag"
	"hatchel/hcl/value"
)

// unionChecker is the check of a type of alternatives.
type unionChecker struct {
	checkCompiler
	t         *Type
	checks    []check
	recursive bool   // an alternative contains the type itself
	tag       string // the member that tells objects apart, or ""
	noTag     check  // of a tag that no alternative has
}

func (c checkCompiler) unionCheck(t *Type) check {
	u := &unionChecker{checkCompiler: c, t: t, recursive: t.holdsRef(), tag: tagMember(t.OneOf)}
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

// A memo holds what the checks of types that contain themselves have found. A value is tried with several alternatives
// at every level, so that checking it again each time would take exponential time.
type memo map[memoKey]*memoResult

type memoKey struct {
	u      *unionChecker
	object uintptr // a map, or the first element of a list, which lives as long as the validation
	length int
}

type memoResult struct {
	out        any
	changed    bool
	violations []Violation
}

func (u *unionChecker) check(v any, p pass) (any, bool, []Violation) {
	if d, ok := v.(value.LazyJSON); ok {
		decoded, err := d.Value()
		if err != nil {
			return v, false, singleViolation("could not be read")
		}
		out, _, violations := u.check(decoded, p)
		return out, true, violations
	}
	p.owned = false // another alternative is tried with the same value
	key := memoKey{u: u}
	switch v := v.(type) {
	case map[string]any:
		key.object, key.length = reflect.ValueOf(v).Pointer(), len(v)
	case []any:
		key.object, key.length = reflect.ValueOf(v).Pointer(), len(v)
	}
	if !u.recursive || key.length == 0 {
		return u.try(v, p)
	}
	if p.memo == nil {
		p.memo = memo{}
	}
	known := p.memo[key]
	if known == nil {
		known = new(memoResult)
		known.out, known.changed, known.violations = u.try(v, p)
		p.memo[key] = known
	}
	return known.out, known.changed, slices.Clone(known.violations) // prefix changes them
}

// try returns the result of the first alternative that the value fits, or the violations of the nearest one.
func (u *unionChecker) try(v any, p pass) (any, bool, []Violation) {
	nearest, least, best, ofKind := -1, 0, []Violation(nil), false
	for i, a := range u.t.OneOf {
		if !mayBe(a, v) {
			continue
		}
		if ofKind = true; !u.hasTag(a, v) {
			continue
		}
		if !p.time.take(1) {
			return v, false, singleViolation("was not checked")
		}
		out, changed, violations := u.checks[i](v, p)
		if violations == nil {
			return out, changed, nil
		}
		d := a.distance(v)
		if best == nil || d < least || d == least && len(violations) < len(best) {
			nearest, least, best = i, d, violations
		}
	}
	switch {
	case !ofKind:
		violations := u.violation("must be "+u.kinds(), describeValue(v))
		violations[0].Message += unquoteAdvice(v, p, u.t.OneOf...)
		return v, false, violations
	case nearest < 0:
		object, _ := v.(map[string]any)
		sent, ok := object[u.tag]
		if !ok {
			return v, false, []Violation{{memberKey(u.tag), "is required"}}
		}
		_, _, violations := u.noTag(sent, p)
		return v, false, prefix(memberKey(u.tag), violations)
	}
	head := fmt.Sprintf("fits none of the %d alternatives; the nearest is %s", len(u.t.OneOf), u.describe(nearest))
	return v, false, limitViolations(append(singleViolation(head), best...))
}

// mayBe reports whether a value has the kind of a type.
func mayBe(t *Type, v any) bool {
	switch t.Kind {
	case Any, Null, Bytes, File:
		return true
	}
	return kindOf(v) == t.Kind.base().String()
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

// distance returns how many names of an object do not fit the members of the type.
func (t *Type) distance(v any) (n int) {
	object, ok := v.(map[string]any)
	if !ok || t.Kind != Object || t.OneOf != nil {
		return 0
	}
	for _, m := range t.Members {
		if _, sent := object[m.Name]; !sent && !m.Optional {
			n++
		}
	}
	for name := range object {
		if _, known := t.Lookup(name); !known && !t.Open {
			n++
		}
	}
	return n
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
