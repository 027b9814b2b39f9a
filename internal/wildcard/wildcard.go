// Package wildcard matches texts with patterns in which * is any number of characters.
package wildcard

import (
	"slices"
	"strings"
)

// MatchAny reports whether a pattern, in which * matches any characters, matches one of the texts. An empty text
// matches none.
func MatchAny(pattern string, texts ...string) bool {
	return slices.ContainsFunc(texts, func(text string) bool { return text != "" && Match(pattern, text) })
}

// Match reports whether a pattern, in which * matches any characters, matches a text.
func Match(pattern, text string) bool {
	first, rest, hasStar := strings.Cut(pattern, "*")
	if !hasStar {
		return pattern == text
	}
	text, ok := strings.CutPrefix(text, first)
	for ok && hasStar {
		var part string
		if part, rest, hasStar = strings.Cut(rest, "*"); !hasStar {
			return strings.HasSuffix(text, part)
		}
		_, text, ok = strings.Cut(text, part)
	}
	return ok
}
