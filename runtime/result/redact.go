package result

import (
	"hatchel/hcl"
	"hatchel/hcl/schema"
	"hatchel/hcl/value"
	"slices"
)

// Redact returns a value without what its type says is sensitive. What an object does not declare may be a sensitive member under a wrong name, so it is left out, too.
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

func MemberType(t *schema.Type, name string) *schema.Type {
	if t.Kind != schema.Object {
		return t.Elem
	}
	if m, ok := t.Lookup(name); ok {
		return m.Type
	}
	return sensitiveType
}

// HasSensitive reports whether any part of a type is.
func HasSensitive(t *schema.Type) bool {
	return t != nil && (t.Sensitive || HasSensitive(t.Elem) || slices.ContainsFunc(t.Members, func(m *schema.Member) bool { return HasSensitive(m.Type) }))
}

// SensitiveTexts are the sensitive texts and numbers of a value; within says that all of it is sensitive.
func SensitiveTexts(dst []string, v any, t *schema.Type, within bool) []string {
	within = within || t != nil && t.Sensitive
	switch v := v.(type) {
	case map[string]any:
		for name, e := range v {
			var of *schema.Type
			if t != nil {
				of = MemberType(t, name)
			}
			dst = SensitiveTexts(dst, e, of, within)
		}
	case []any:
		for _, e := range v {
			var of *schema.Type
			if t != nil {
				of = t.Elem
			}
			dst = SensitiveTexts(dst, e, of, within)
		}
	case nil, bool:
	default:
		if text, err := value.Text(v); within && err == nil && len(text) > 2 {
			dst = append(dst, text)
		}
	}
	return dst
}
