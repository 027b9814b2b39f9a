package schema

import (
	"fmt"

	"hatchel/hcl/spelling"
)

// Compatible reports whether values of type from can be passed where type to is expected, and if
// not why. It rejects mismatches that are known at load: another kind, null, a value outside an
// enum. Bounds and strings that must match an enum are checked during the call.
func Compatible(from, to *Type) (ok bool, why string) {
	why = mismatch(from, to)
	return why == "", why
}

func mismatch(from, to *Type) string {
	if from.Kind == Any || to.Kind == Any {
		return ""
	}
	if from.AllowsNull() && !to.AllowsNull() {
		if from.Kind == Null {
			return fmt.Sprintf("it is null, and %s is needed", to)
		}
		return fmt.Sprintf("it may be null, and %s is needed", to)
	}
	if from.Kind == Null {
		return ""
	}
	if baseKind(from.Kind) != baseKind(to.Kind) {
		return fmt.Sprintf("it is %s, and %s is needed", from, to)
	}
	for _, e := range from.Enum {
		if len(to.Enum) > 0 && !hasEnum(to.Enum, e.Value) {
			return fmt.Sprintf("it may be %s, which is not one of %s", showJSON(e.Value), listValues(enumValues(to)))
		}
	}
	switch {
	case from.Elem != nil && to.Elem != nil:
		if why := mismatch(from.Elem, to.Elem); why != "" {
			return "of its elements: " + why
		}
	case to.Kind == Object && from.Kind == Object:
		return memberMismatch(from, to)
	case to.Kind == Object && from.Kind == Map:
		for _, m := range to.Members {
			if why := mismatch(from.Elem, m.Type); why != "" {
				return fmt.Sprintf("of its member %q: %s", m.Name, why)
			}
		}
	case to.Kind == Map:
		for _, m := range from.Members {
			if why := mismatch(m.Type, to.Elem); why != "" {
				return fmt.Sprintf("of its member %q: %s", m.Name, why)
			}
		}
	}
	return ""
}

// memberMismatch compares two objects by their members.
func memberMismatch(from, to *Type) string {
	for _, m := range to.Members {
		given, ok := from.Lookup(m.Name)
		switch {
		case !ok && !m.Optional && !from.Open:
			return fmt.Sprintf("it has no member %q", m.Name)
		case !ok:
			continue
		case given.Optional && !given.HasDefault && !m.Optional:
			return fmt.Sprintf("its member %q may be absent, and it is required", m.Name)
		}
		wanted := m.Type
		if m.dropsNull() {
			wanted = wanted.AsNullable()
		}
		if why := mismatch(given.Type, wanted); why != "" {
			return fmt.Sprintf("of its member %q: %s", m.Name, why)
		}
	}
	for _, m := range from.Members {
		if _, ok := to.Lookup(m.Name); !ok && !to.Open {
			if near := spelling.Nearest(m.Name, to.MemberNames()); near != "" {
				return fmt.Sprintf("it has a member %q that is not accepted; did you mean %q?", m.Name, near)
			}
			return fmt.Sprintf("it has a member %q that is not accepted", m.Name)
		}
	}
	return ""
}

// baseKind maps kinds with the same set of values to one of them.
func baseKind(k Kind) Kind {
	switch k {
	case Integer:
		return Number
	case Set:
		return List
	case Map:
		return Object
	}
	return k
}

// Unify returns the narrowest type that contains the values of both types, or Any if they differ in
// kind. It drops descriptions, bounds and formats: the result is the type of a conditional and is
// never advertised.
func Unify(a, b *Type) *Type {
	nullable := a.Nullable || b.Nullable || a.Kind == Null || b.Kind == Null
	switch {
	case a == b:
		return a
	case a.Kind == Null && b.Kind == Null:
		return &Type{Kind: Null}
	case a.Kind == Any || b.Kind == Any:
		return &Type{Sensitive: a.Sensitive || b.Sensitive}
	case a.Kind == Null:
		a = b
	case b.Kind == Null:
		b = a
	}
	out := unifyNonNull(a, b)
	out.Nullable = nullable && out.Kind != Any
	out.Sensitive = a.Sensitive || b.Sensitive
	return out
}

func unifyNonNull(a, b *Type) *Type {
	if baseKind(a.Kind) != baseKind(b.Kind) {
		return &Type{}
	}
	kind := a.Kind
	if a.Kind != b.Kind {
		kind = baseKind(a.Kind)
	}
	out := &Type{Kind: kind}
	switch baseKind(kind) {
	case String, Number:
		if len(a.Enum) > 0 && len(b.Enum) > 0 {
			out.Enum = append(out.Enum, a.Enum...)
			for _, e := range b.Enum {
				if !hasEnum(a.Enum, e.Value) {
					out.Enum = append(out.Enum, e)
				}
			}
		}
	case List:
		out.Elem = Unify(a.Elem, b.Elem)
	case Object:
		return unifyObjects(a, b)
	}
	return out
}

// unifyObjects merges two maps, or two objects with the same names. Other pairs become a map of the
// common type of their members.
func unifyObjects(a, b *Type) *Type {
	if a.Kind == Object && b.Kind == Object && sameNames(a, b) {
		out := &Type{Kind: Object, Open: a.Open || b.Open}
		for _, m := range a.Members {
			o, _ := b.Lookup(m.Name)
			out.Members = append(out.Members, &Member{Name: m.Name, Type: Unify(m.Type, o.Type),
				Optional: m.Optional || o.Optional})
		}
		return out
	}
	if a.Kind == Map && b.Kind == Map {
		return &Type{Kind: Map, Elem: Unify(a.Elem, b.Elem)}
	}
	return &Type{Kind: Map, Elem: &Type{}}
}

func sameNames(a, b *Type) bool {
	if len(a.Members) != len(b.Members) {
		return false
	}
	for _, m := range a.Members {
		if _, ok := b.Lookup(m.Name); !ok {
			return false
		}
	}
	return true
}
