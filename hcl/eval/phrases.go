package eval

import "strings"

// SubjectCapitalized is what a value is called where a sentence begins.
func SubjectCapitalized(n TypedExpr) string {
	if n.Path == "" && n.Phrase == "" {
		return "This value"
	}
	return Subject(n)
}

// NullSentence says why a value may be null, as the beginning of a sentence. A name is left as it
// is written.
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
