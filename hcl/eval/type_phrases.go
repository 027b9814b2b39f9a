package eval

import (
	"strings"

	"hatchel/hcl/schema"
	"hatchel/hcl/value"
)

// SubjectCapitalized is what a value is called where a sentence begins.
func SubjectCapitalized(n TypedExpr) string {
	if n.Path == "" && n.Phrase == "" {
		return "This value"
	}
	return Subject(n)
}

// NullSentence says why a value may be null, as the beginning of a sentence. A name is left as it is written.
func NullSentence(n TypedExpr) string {
	if rest, ok := strings.CutPrefix(n.NullReason, "it "); ok {
		return "It " + rest
	}
	return n.NullReason
}

// Subject is what a value is called in a sentence.
func Subject(n TypedExpr) string {
	if n.Path != "" {
		return n.Path
	}
	if n.Phrase != "" {
		return n.Phrase
	}
	return "this value"
}

// TypePhrase names a type in a sentence.
func TypePhrase(t *schema.Type) string {
	switch t.Kind {
	case schema.String:
		return "a string"
	case schema.Number:
		return "a number"
	case schema.Integer:
		return "an integer"
	case schema.Bool:
		return "a bool"
	case schema.List:
		return "a list"
	case schema.Set:
		return "a set"
	case schema.Map:
		return "a map"
	case schema.Object:
		return "an object"
	case schema.File:
		return "a file"
	case schema.Bytes:
		return "bytes"
	case schema.Null:
		return "null"
	}
	return "of any type"
}

var (
	AnyType     = &schema.Type{Kind: schema.Any}
	StringType  = &schema.Type{Kind: schema.String}
	BoolType    = &schema.Type{Kind: schema.Bool}
	IntegerType = &schema.Type{Kind: schema.Integer}
)

// TypeOf is the type that a value known at load shows.
func TypeOf(v any) *schema.Type {
	switch v := v.(type) {
	case string:
		return StringType
	case bool:
		return BoolType
	case int:
		return IntegerType
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
		return &schema.Type{Kind: schema.Bytes}
	}
	switch value.Kind(v) {
	case "number":
		if _, whole := value.Int(v); whole {
			return IntegerType
		}
		return &schema.Type{Kind: schema.Number}
	}
	return AnyType
}
