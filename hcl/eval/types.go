package eval

import (
	"slices"

	"hatchel/hcl/schema"
	"hatchel/hcl/value"
)

// The types that have no parts.
var (
	AnyType     = &schema.Type{Kind: schema.Any}
	NullType    = &schema.Type{Kind: schema.Null}
	StringType  = &schema.Type{Kind: schema.String}
	BoolType    = &schema.Type{Kind: schema.Bool}
	NumberType  = &schema.Type{Kind: schema.Number}
	IntegerType = &schema.Type{Kind: schema.Integer}
	BytesType   = &schema.Type{Kind: schema.Bytes}
)

// TypePhrase names a type in a sentence.
func TypePhrase(t *schema.Type) string {
	switch t.Kind {
	case schema.Any:
		if t.OneOf != nil {
			return "a value of several types"
		}
		return "of any type"
	case schema.Bytes, schema.Null:
		return t.Kind.String()
	case schema.Integer, schema.Object:
		return "an " + t.Kind.String()
	}
	return "a " + t.Kind.String()
}

// ValuePhrase names the kind of a value that is known at load, in a sentence.
func ValuePhrase(v any) string {
	if v == nil {
		return "null"
	}
	return TypePhrase(TypeOf(v))
}

// TypeOf is the type of a value that is known at load.
func TypeOf(v any) *schema.Type {
	switch v := v.(type) {
	case string:
		return StringType
	case bool:
		return BoolType
	case []any:
		t := &schema.Type{Kind: schema.List, Elem: AnyType}
		for i, e := range v {
			if i == 0 {
				t.Elem = TypeOf(e)
			} else {
				t.Elem = schema.Unify(t.Elem, TypeOf(e))
			}
		}
		return t
	case map[string]any:
		t := &schema.Type{Kind: schema.Object}
		for _, k := range value.Keys(v) {
			t.Members = append(t.Members, &schema.Member{Name: k, Type: TypeOf(v[k])})
		}
		return t
	case value.Bytes:
		return BytesType
	}
	if _, whole := value.Int(v); whole {
		return IntegerType
	}
	if value.IsNumber(v) {
		return NumberType
	}
	return AnyType
}

// ElemType is the type of the elements of a list, a set or a map, and any for everything else.
func ElemType(t *schema.Type) *schema.Type {
	if t == nil || t.Elem == nil {
		return AnyType
	}
	return t.Elem.Unfolded()
}

// IsNumeric reports whether every value of a type is a number.
func IsNumeric(t *schema.Type) bool { return t.Kind == schema.Number || t.Kind == schema.Integer }

// CanBe reports whether a value of type t, when it is not null, can be of kind k. Numbers and
// integers can be each other, as can lists and sets, and maps and objects.
func CanBe(t *schema.Type, k schema.Kind) bool {
	if t.OneOf != nil {
		return slices.ContainsFunc(t.OneOf, func(a *schema.Type) bool { return CanBe(a, k) })
	}
	return t.Kind == schema.Any || comparisonClass(t.Kind) == comparisonClass(k)
}

// comparisonClass is the kind that stands for all kinds whose values can be equal to those of k.
func comparisonClass(k schema.Kind) schema.Kind {
	switch k {
	case schema.Integer:
		return schema.Number
	case schema.Set:
		return schema.List
	case schema.Map:
		return schema.Object
	}
	return k
}
