package result

import (
	"slices"

	"hatchel/hcl/schema"
	"hatchel/hcl/value"
)

var sensitiveType = &schema.Type{Sensitive: true}

// MemberType returns the type of a member of an object or a map; nil for nil. An undeclared member is
// sensitive.
func MemberType(t *schema.Type, name string) *schema.Type {
	if t == nil || t.Kind != schema.Object {
		return elemType(t)
	}
	if m, ok := t.Lookup(name); ok {
		return m.Type
	}
	return sensitiveType
}

func elemType(t *schema.Type) *schema.Type {
	if t == nil {
		return nil
	}
	return t.Elem
}

// HasSensitive reports whether any part of a type is sensitive.
func HasSensitive(t *schema.Type) bool {
	member := func(m *schema.Member) bool { return HasSensitive(m.Type) }
	return t != nil && (t.Sensitive || HasSensitive(t.Elem) || slices.ContainsFunc(t.Members, member))
}

// SensitiveTexts appends the sensitive texts and numbers of a value. Within says that all of the
// value is sensitive.
func SensitiveTexts(dst []string, v any, t *schema.Type, within bool) []string {
	within = within || t != nil && t.Sensitive
	switch v := v.(type) {
	case map[string]any:
		for name, e := range v {
			dst = SensitiveTexts(dst, e, MemberType(t, name), within)
		}
	case []any:
		for _, e := range v {
			dst = SensitiveTexts(dst, e, elemType(t), within)
		}
	case nil, bool:
	default:
		if text, err := value.Text(v); within && err == nil && len(text) > 2 {
			dst = append(dst, text)
		}
	}
	return dst
}
