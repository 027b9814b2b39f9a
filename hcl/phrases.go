package hcl

import (
	"sort"
	"strings"

	"hatchel/hcl/schema"
	"hatchel/hcl/spelling"
	"hatchel/hcl/value"
)

// Words for diagnostics.

func sortedNames[V any](m map[string]V) []string {
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

func didYouMean(name string, among []string) string {
	if s := spelling.Nearest(name, among); s != "" {
		return ` Did you mean "` + s + `"?`
	}
	return ""
}

// suggestOr is what the name was probably meant to be, or otherwise.
func suggestOr(name string, among []string, otherwise string) string {
	if s := didYouMean(name, among); s != "" {
		return s
	}
	return otherwise
}

// list is " intro a, b, c." or nothing when there are none; long lists are cut.
func list(intro string, names []string) string {
	switch {
	case len(names) == 0:
		return ""
	case len(names) > 12:
		names = append(append([]string(nil), names[:12]...), "…")
	}
	return intro + strings.Join(names, ", ") + "."
}

// thereAre lists what exists, or is empty when nothing does.
func thereAre(names []string) string {
	if len(names) == 1 {
		return " There is " + names[0] + "."
	}
	return list(" There are ", names)
}

// oneOf is "a, b or c" for a sentence.
func oneOf(names []string) string { return series(names, " or ") }

// allOf is "a, b and c" for a sentence.
func allOf(names []string) string { return series(names, " and ") }

func series(names []string, word string) string {
	last := len(names) - 1
	if last < 1 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:last], ", ") + word + names[last]
}

// itHas lists the members of a value, or says that there are none.
func itHas(names []string) string {
	if len(names) == 0 {
		return " It has none."
	}
	return list(" It has ", names)
}

// opening is what a value is called where a sentence begins.
func opening(n node) string {
	if n.path == "" && n.called == "" {
		return "This value"
	}
	return subject(n)
}

// reason says why a value may be null, as the beginning of a sentence. A name is left as it is written.
func reason(n node) string {
	if rest, ok := strings.CutPrefix(n.null, "it "); ok {
		return "It " + rest
	}
	return n.null
}

// sentence starts with a capital letter unless it starts with a name of the configuration, and ends without a full stop.
func sentence(s string) string {
	s = strings.TrimRight(s, ".")
	first, _, _ := strings.Cut(s, " ")
	if s == "" || strings.ContainsAny(first, ".:`_[(\"") {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

func article(noun string) string {
	if strings.ContainsAny(noun[:1], "aeio") || strings.HasPrefix(noun, "http") {
		return "an " + noun
	}
	return "a " + noun
}

// describe names a type in a sentence.
func describe(t *schema.Type) string {
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

// subject is what a value is called in a sentence.
func subject(n node) string {
	if n.path != "" {
		return n.path
	}
	if n.called != "" {
		return n.called
	}
	return "this value"
}

var (
	anyType     = &schema.Type{Kind: schema.Any}
	stringType  = &schema.Type{Kind: schema.String}
	boolType    = &schema.Type{Kind: schema.Bool}
	integerType = &schema.Type{Kind: schema.Integer}
)

// typeOf is the type that a value known at load shows.
func typeOf(v any) *schema.Type {
	switch v := v.(type) {
	case string:
		return stringType
	case bool:
		return boolType
	case int:
		return integerType
	case []any:
		t := &schema.Type{Kind: schema.List, Elem: anyType}
		for i, e := range v {
			if i == 0 {
				t.Elem = typeOf(e)
			} else {
				t.Elem = schema.Unify(t.Elem, typeOf(e))
			}
		}
		return t
	case map[string]any:
		t := &schema.Type{Kind: schema.Object}
		for _, k := range value.Keys(v) {
			t.Members = append(t.Members, &schema.Member{Name: k, Type: typeOf(v[k])})
		}
		return t
	case value.Bytes:
		return &schema.Type{Kind: schema.Bytes}
	}
	switch value.Kind(v) {
	case "number":
		if _, whole := value.Int(v); whole {
			return integerType
		}
		return &schema.Type{Kind: schema.Number}
	}
	return anyType
}
