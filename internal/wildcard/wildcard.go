// Package wildcard matches texts with patterns in which * is any number of characters.
package wildcard

import (
	"path"
	"slices"
	"strings"
)

// plain escapes everything in a pattern that path.Match knows besides *, and slashes, which * must match.
var plain = strings.NewReplacer(`\`, `\\`, `?`, `\?`, `[`, `\[`, "/", "\x00")

// MatchAny reports whether a pattern, in which * matches any characters, matches one of the texts. An empty text
// matches none.
func MatchAny(pattern string, texts ...string) bool {
	return slices.ContainsFunc(texts, func(text string) bool {
		ok, _ := path.Match(plain.Replace(pattern), strings.ReplaceAll(text, "/", "\x00"))
		return text != "" && ok
	})
}
