package schema

import (
	"fmt"
	"slices"

	"hatchel/hcl/spelling"
)

// Mismatch returns why values of type from cannot be passed where type to is expected, or "" if they
// can. It rejects mismatches that are known at load: another kind, null, a value outside an enum.
// Bounds and strings that must match an enum are checked during the call.
func Mismatch(from, to *Type) string {
	if to = to.Unfolded(); from == to || from.Kind == Any || to.isAny() {
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
	if to.OneOf != nil {
		fits := func(a *Type) bool { return Mismatch(from.NotNull(), a) == "" }
		if slices.ContainsFunc(to.OneOf, fits) || from.OneOf != nil {
			return ""
		}
		return fmt.Sprintf("it is %s, and %s is needed", from, to)
	}
	if from.Kind.base() != to.Kind.base() {
		return fmt.Sprintf("it is %s, and %s is needed", from, to)
	}
	for _, e := range from.Enum {
		if len(to.Enum) > 0 && !hasEnum(to.Enum, e.Value) {
			return fmt.Sprintf("it may be %s, which is not one of %s", showJSON(e.Value), listValues(enumValues(to)))
		}
	}
	switch {
	case from.Elem != nil && to.Elem != nil:
		if why := Mismatch(from.Elem, to.Elem); why != "" {
			return "of its elements: " + why
		}
	case to.Kind == Object && from.Kind == Object:
		return memberMismatch(from, to)
	case to.Kind == Object && from.Kind == Map:
		for _, m := range to.Members {
			if why := Mismatch(from.Elem, m.Type); why != "" {
				return fmt.Sprintf("of its member %q: %s", m.Name, why)
			}
		}
	case to.Kind == Map:
		for _, m := range from.Members {
			if why := Mismatch(m.Type, to.Elem); why != "" {
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
		if why := Mismatch(given.Type, wanted); why != "" {
			return fmt.Sprintf("of its member %q: %s", m.Name, why)
		}
	}
	for _, m := range from.Members {
		if _, ok := to.Lookup(m.Name); !ok && !to.Open {
			why := fmt.Sprintf("it has a member %q that is not accepted", m.Name)
			if near := spelling.Nearest(m.Name, to.MemberNames()); near != "" {
				why += fmt.Sprintf("; did you mean %q?", near)
			}
			return why
		}
	}
	return ""
}

// Unify returns the narrowest type that contains the values of both types, or Any if they differ in
// kind. It drops descriptions, bounds and formats: the result is the type of a conditional and is
// never advertised.
func Unify(a, b *Type) *Type {
	nullable := a.Nullable || b.Nullable || a.Kind == Null || b.Kind == Null
	switch {
	case a == b:
		return a
	case a.isRef && b.isRef && a.def == b.def:
		return withNull(a, nullable)
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

// unifyNonNull merges two types without null. Two maps, or two objects with the same names, keep
// their kind; other objects become a map.
func unifyNonNull(a, b *Type) *Type {
	if a.Kind.base() != b.Kind.base() {
		return &Type{}
	}
	out := &Type{Kind: a.Kind}
	if a.Kind != b.Kind {
		out.Kind = a.Kind.base()
	}
	switch {
	case len(a.Enum) > 0 && len(b.Enum) > 0:
		out.Enum = slices.Clone(a.Enum)
		for _, e := range b.Enum {
			if !hasEnum(a.Enum, e.Value) {
				out.Enum = append(out.Enum, e)
			}
		}
	case a.Elem != nil && b.Elem != nil:
		out.Elem = Unify(a.Elem, b.Elem)
	case a.Kind == Object && b.Kind == Object && sameNames(a, b):
		out.Open = a.Open || b.Open
		for _, m := range a.Members {
			o, _ := b.Lookup(m.Name)
			out.Members = append(out.Members, &Member{Name: m.Name, Type: Unify(m.Type, o.Type),
				Optional: m.Optional && !m.HasDefault || o.Optional && !o.HasDefault})
		}
	case out.Kind == Object:
		return &Type{Kind: Map, Elem: &Type{}}
	}
	return out
}

// sameNames reports whether two objects have members of the same names.
func sameNames(a, b *Type) bool {
	return len(a.Members) == len(b.Members) && !slices.ContainsFunc(a.Members, func(m *Member) bool {
		_, ok := b.Lookup(m.Name)
		return !ok
	})
}
