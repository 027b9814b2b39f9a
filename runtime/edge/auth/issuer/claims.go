package issuer

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"hatchel/internal/printable"
)

// IsSubject reports whether a subject can be used in logs and databases.
func IsSubject(text string) bool {
	return text != "" && utf8.ValidString(text) && !strings.ContainsFunc(text, isDeceptive)
}

// isDeceptive reports whether a character breaks lines, changes the writing direction or is
// invisible.
func isDeceptive(c rune) bool { return unicode.IsControl(c) || printable.IsHidden(c) }

// Claim returns the claim with a name, or else the one at a dotted path; nil if there is none. The names on the path
// may have dots themselves, as those of clients at Keycloak do.
func Claim(claims map[string]any, path string) any {
	if v, ok := claims[path]; ok {
		return v
	}
	for i, c := range path {
		if c != '.' {
			continue
		}
		if inner, ok := claims[path[:i]].(map[string]any); ok {
			if v := Claim(inner, path[i+1:]); v != nil {
				return v
			}
		}
	}
	return nil
}

// Texts returns the strings of a claim that is a string or a list.
func Texts(claim any) (all []string) {
	switch v := claim.(type) {
	case string:
		return []string{v}
	case []any:
		for _, e := range v {
			if text, ok := e.(string); ok {
				all = append(all, text)
			}
		}
	}
	return all
}

// Scopes returns the scopes of a token: strings separated by spaces (RFC 8693, section 4.2), or a
// list, in either of the claims that issuers use.
func Scopes(claims map[string]any) (all []string) {
	for _, name := range []string{"scope", "scp"} {
		for _, text := range Texts(claims[name]) {
			all = append(all, strings.Fields(text)...)
		}
	}
	return all
}
