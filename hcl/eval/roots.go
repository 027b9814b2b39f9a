package eval

import "hatchel/hcl/schema"

// OutputRoot is the root output: what a backend returned, of type t.
func OutputRoot(t *schema.Type) *Root {
	return &Root{Noun: "member of output", Type: t, Value: func(f *Frame) (any, error) { return f.Output, nil }}
}

// EachRoot is the root each: the current element of a loop over a list or a map.
func EachRoot(key, elem *schema.Type) *Root {
	return &Root{Noun: "member of each", Type: AnyType, Members: map[string]*Member{
		"key": {Local: true, Type: key, Eval: func(f *Frame) (any, error) { return f.Each.Key, nil }},
		"value": {Local: true, Type: elem, NullReason: NullableReason("each.value", elem),
			Eval: func(f *Frame) (any, error) { return f.Each.Value, nil }},
	}}
}

// NullableReason says why a value of type t at path may be null. It is empty if it may not.
func NullableReason(path string, t *schema.Type) string {
	if t.Nullable {
		return path + " may be null"
	}
	return ""
}
