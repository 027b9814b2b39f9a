// Package cut shortens texts between two characters.
package cut

import "unicode/utf8"

// Before returns the last position at or before n where a character begins, or n if none begins within the size of one:
// the text is not UTF-8 there.
func Before[T ~string | ~[]byte](text T, n int) int {
	for at := n; at >= 0 && at > n-utf8.UTFMax && at < len(text); at-- {
		if utf8.RuneStart(text[at]) {
			return at
		}
	}
	return n
}

// After returns the first position at or after n where a character begins, or n if none begins within the size of one.
func After[T ~string | ~[]byte](text T, n int) int {
	for at := n; at < n+utf8.UTFMax; at++ {
		if at >= len(text) || utf8.RuneStart(text[at]) {
			return min(at, len(text))
		}
	}
	return n
}

// Runes returns a text of at most n characters: of a longer one the beginning, with an ellipsis as its last character.
func Runes(text string, n int) string {
	count, end := 0, 0
	for at := range text {
		if count == n-1 {
			end = at
		}
		if count++; count > n {
			return text[:end] + "…"
		}
	}
	return text
}
