package diag

import (
	"maps"
	"slices"
	"strings"
)

// Phrases for diagnostics.

// SortedNames returns the keys of m, sorted.
func SortedNames[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// ListNames returns " intro a, b, c.", or "" for no names; long lists are shortened.
func ListNames(intro string, names []string) string {
	switch {
	case len(names) == 0:
		return ""
	case len(names) > 12:
		names = append(slices.Clone(names[:12]), "…")
	}
	return intro + strings.Join(names, ", ") + "."
}

// ListAre lists the existing names, or returns "" for none.
func ListAre(names []string) string {
	if len(names) == 1 {
		return " There is " + names[0] + "."
	}
	return ListNames(" There are ", names)
}

// JoinOr returns "a, b or c".
func JoinOr(names []string) string { return joinSeries(names, " or ") }

// JoinAnd returns "a, b and c".
func JoinAnd(names []string) string { return joinSeries(names, " and ") }

func joinSeries(names []string, word string) string {
	last := len(names) - 1
	if last < 1 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:last], ", ") + word + names[last]
}

// ListHas lists the members of a value, or states that there are none.
func ListHas(names []string) string {
	if len(names) == 0 {
		return " It has none."
	}
	return ListNames(" It has ", names)
}

// ToSentence capitalizes the first letter unless it starts a name of the configuration, and removes
// a final full stop.
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
