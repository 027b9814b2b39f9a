package exprlang

import (
	"hatchel/hcl/eval"
	"hatchel/hcl/schema"
)

// fileType is what a program sees of an uploaded file.
var fileType = func() *schema.Type {
	t := &schema.Type{Kind: schema.Object}
	for _, m := range schema.FileMembers().Members {
		if m.Name != "path" && m.Name != "url" {
			t.Members = append(t.Members, m)
		}
	}
	return t
}()

// programType is a type as programs see it: a set is a list, a file an object of what is known of
// it, and an object that lets unknown members pass a map.
func programType(t *schema.Type) *schema.Type {
	t = t.Unfolded()
	seen := t
	switch {
	case t == nil || t.Kind == schema.Any && t.OneOf == nil:
		return eval.AnyType
	case t.Kind == schema.Any:
		return t
	case t.Kind == schema.Set:
		seen = schema.ListOf(t.Elem)
	case t.Kind == schema.File:
		seen = fileType
	case t.Kind == schema.Object && t.Open:
		seen = &schema.Type{Kind: schema.Map, Declared: t.Members}
	}
	if t.Nullable {
		return seen.AsNullable()
	}
	return seen
}

func elemType(t *schema.Type) *schema.Type { return programType(eval.ElemType(t)) }

// memberType returns the type of a member of an object, or nil. A member that may be missing may be
// null.
func memberType(t *schema.Type, name string) *schema.Type {
	m, ok := t.Lookup(name)
	if !ok {
		return nil
	}
	if m.Optional && !m.HasDefault {
		return programType(m.Type).AsNullable()
	}
	return programType(m.Type)
}

func isKeyed(t *schema.Type) bool { return t.Kind == schema.Object || t.Kind == schema.Map }

// enumTexts are the texts that a value of the type can be, or nil if that is not known.
func enumTexts(t *schema.Type) (texts []string) {
	for _, e := range t.Enum {
		if text, ok := e.Value.(string); ok {
			texts = append(texts, text)
		}
	}
	return texts
}

// mayEqual reports whether a value of one type can be equal to a value of the other.
func mayEqual(a, b *schema.Type) bool {
	return a.Kind == schema.Null || b.Kind == schema.Null || a.Nullable && b.Nullable || b.Kind == schema.Any ||
		eval.CanBe(a, b.Kind)
}

// unifyTypes is the type of a value that has one type or the other.
func unifyTypes(a, b *schema.Type) *schema.Type { return programType(schema.Unify(a, b)) }
