package eval

import (
	"strings"

	"hatchel/hcl/schema"
)

// SubjectCapitalized is Subject at the beginning of a sentence.
func SubjectCapitalized(n TypedExpr) string {
	if n.Path == "" && n.Phrase == "" {
		return "This value"
	}
	return Subject(n)
}

// NullSentence says why a value may be null, as the beginning of a sentence.
func NullSentence(n TypedExpr) string {
	if rest, ok := strings.CutPrefix(n.NullReason, "it "); ok {
		return "It " + rest
	}
	return n.NullReason
}

// Subject is the phrase for a value in a sentence.
func Subject(n TypedExpr) string {
	if n.Path != "" {
		return ShowPath(n.Path)
	}
	if n.Phrase != "" {
		return n.Phrase
	}
	return "this value"
}

// NestedMember suggests the only member of a value of type t at path that itself has a member of
// that name.
func NestedMember(path string, t *schema.Type, name string) string {
	within := ""
	for _, m := range t.Members {
		if _, ok := m.Type.Lookup(name); !ok {
			continue
		}
		if within != "" {
			return ""
		}
		within = m.Name
	}
	if within == "" || path == "" {
		return ""
	}
	return " Write " + ShowPath(MemberPath(MemberPath(path, within), name)) + "."
}
