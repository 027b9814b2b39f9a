package diag

import (
	"sort"
	"strings"

	"hatchel/hcl/spelling"
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

// ToSentence starts with a capital letter unless it starts with a name of the configuration, and
// ends without a full stop.
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
