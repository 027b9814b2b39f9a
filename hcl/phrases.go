package hcl

import (
	"sort"
	"strings"

	"hatchel/hcl/schema"
	"hatchel/hcl/spelling"
	"hatchel/hcl/value"
)

// Words for diagnostics.

func SortedNames[V any](m map[string]V) []string {
	names := make([]string, 0, len(m))
	for n := range m {
		names = append(names, n)
	}
	sort.Strings(names)
	return names
}

func memberNames(t *schema.Type) []string {
	var names []string
	for _, m := range t.Members {
		names = append(names, m.Name)
	}
	return names
}

func DidYouMean(name string, among []string) string {
	if s := spelling.Nearest(name, among); s != "" {
		return ` Did you mean "` + s + `"?`
	}
	return ""
}

// SuggestOr is what the name was probably meant to be, or otherwise.
func SuggestOr(name string, among []string, otherwise string) string {
	if s := DidYouMean(name, among); s != "" {
		return s
	}
	return otherwise
}

// ListNames is " intro a, b, c." or nothing when there are none; long lists are cut.
func ListNames(intro string, names []string) string {
	switch {
	case len(names) == 0:
		return ""
	case len(names) > 12:
		names = append(append([]string(nil), names[:12]...), "…")
	}
	return intro + strings.Join(names, ", ") + "."
}

// ListAre lists what exists, or is empty when nothing does.
func ListAre(names []string) string {
	if len(names) == 1 {
		return " There is " + names[0] + "."
	}
	return ListNames(" There are ", names)
}

// JoinOr is "a, b or c" for a sentence.
func JoinOr(names []string) string { return joinSeries(names, " or ") }

// JoinAnd is "a, b and c" for a sentence.
func JoinAnd(names []string) string { return joinSeries(names, " and ") }

func joinSeries(names []string, word string) string {
	last := len(names) - 1
	if last < 1 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:last], ", ") + word + names[last]
}

// ListHas lists the members of a value, or says that there are none.
func ListHas(names []string) string {
	if len(names) == 0 {
		return " It has none."
	}
	return ListNames(" It has ", names)
}

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

// ToSentence starts with a capital letter unless it starts with a name of the configuration, and ends without a full stop.
func ToSentence(s string) string {
	s = strings.TrimRight(s, ".")
	first, _, _ := strings.Cut(s, " ")
	if s == "" || strings.ContainsAny(first, ".:`_[(\"") {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

func WithArticle(noun string) string {
	if strings.ContainsAny(noun[:1], "aeio") || strings.HasPrefix(noun, "http") {
		return "an " + noun
	}
	return "a " + noun
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
