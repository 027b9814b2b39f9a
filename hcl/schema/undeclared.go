package schema

import (
	"maps"
	"slices"

	"hatchel/hcl/value"
)

// WithoutUndeclared returns v without the members that the objects of the type do not declare. It does not change v.
// The value of a one_of is kept as it is, because each alternative declares other members.
func (t *Type) WithoutUndeclared(v any) any {
	if t = t.Unfolded(); t.OneOf != nil || t.Kind == Any {
		return v
	}
	if d, ok := v.(value.LazyJSON); ok {
		decoded, err := d.Value()
		if err != nil {
			return v
		}
		v = decoded
	}
	switch v := v.(type) {
	case []any:
		if t.Elem == nil {
			return v
		}
		out := slices.Clone(v)
		for i, e := range out {
			out[i] = t.Elem.WithoutUndeclared(e)
		}
		return out
	case map[string]any:
		out := maps.Clone(v)
		for k, e := range v {
			switch m, ok := t.Lookup(k); {
			case ok:
				out[k] = m.Type.WithoutUndeclared(e)
			case t.Kind == Map:
				out[k] = t.Elem.WithoutUndeclared(e)
			case t.Kind == Object && !t.Open:
				delete(out, k)
			}
		}
		return out
	}
	return v
}
