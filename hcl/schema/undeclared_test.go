package schema

import (
	"testing"

	"hatchel/hcl/value"
)

func TestUndeclaredMembersAreLeftOut(t *testing.T) {
	inner := ObjectOf(&Member{Name: "a", Type: &Type{Kind: Integer}})
	typ := ObjectOf(&Member{Name: "a", Type: &Type{Kind: Any}}, &Member{Name: "list", Type: ListOf(inner)},
		&Member{Name: "map", Type: &Type{Kind: Map, Elem: inner}}, &Member{Name: "one", Type: &Type{OneOf: []*Type{inner, {Kind: String}}}})
	given, _ := value.Decode([]byte(`{"a": {"x": 1}, "b": 2, "list": [{"a": 1, "b": 2}, 3], "map": {"k": {"b": 2}}, "one": {"b": 1}}`))
	before := value.AppendKey(nil, given)
	want, _ := value.Decode([]byte(`{"a": {"x": 1}, "list": [{"a": 1}, 3], "map": {"k": {}}, "one": {"b": 1}}`))
	if got := typ.WithoutUndeclared(given); !value.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if string(value.AppendKey(nil, given)) != string(before) {
		t.Errorf("the value was changed to %v", given)
	}
}
