package eval

import "strings"

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
		return n.Path
	}
	if n.Phrase != "" {
		return n.Phrase
	}
	return "this value"
}
