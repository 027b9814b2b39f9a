package eval

import "hatchel/hcl/schema"

func OutputRoot(t *schema.Type) *Root {
	return &Root{Noun: "member of output", Type: t, Value: func(f *Frame) (any, error) { return f.Output, nil }}
}

// EachRoot is the element in hand.
func EachRoot(key, elem *schema.Type) *Root {
	return &Root{Noun: "member of each", Type: AnyType, Members: map[string]*Member{
		"key": {Local: true, Type: key, Eval: func(f *Frame) (any, error) { return f.Each.Key, nil }},
		"value": {Local: true, Type: elem, NullReason: NullableReason("each.value", elem),
			Eval: func(f *Frame) (any, error) {
				return f.Each.Value, nil
			}},
	}}
}

func NullableReason(path string, t *schema.Type) string {
	if t.Nullable {
		return path + " may be null"
	}
	return ""
}
