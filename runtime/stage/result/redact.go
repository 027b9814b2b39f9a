package result

import (
	"slices"

	"hatchel/hcl"
	"hatchel/hcl/schema"
	"hatchel/hcl/value"
)

// Redact returns a copy of a value without the parts that its type marks as sensitive. Members that
// the type does not declare are redacted, too: they may be sensitive members under a wrong name.
func Redact(v any, t *schema.Type) any {
	switch {
	case t == nil:
		return v
	case t.Sensitive:
		return hcl.Hidden
	}
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, e := range v {
			out[name] = Redact(e, MemberType(t, name))
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = Redact(e, t.Elem)
		}
		return out
	}
	return v
}

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
