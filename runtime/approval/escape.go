package approval

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// EscapeJSON escapes the characters of a JSON text that are not printable. Callers control parts of the
// text, and terminals obey control characters. The result has the same meaning.
func EscapeJSON(text []byte) []byte {
	if !bytes.ContainsFunc(text, unprintable) {
		return text
	}
	out := make([]byte, 0, len(text)+64)
	for _, r := range string(text) {
		switch {
		case !unprintable(r):
			out = utf8.AppendRune(out, r)
		case r > 0xFFFF:
			high, low := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
	}
	return out
}

// unprintable reports whether a character must be escaped. White space between JSON tokens need not.
func unprintable(r rune) bool { return r != '\n' && r != '\t' && r != '\r' && !unicode.IsPrint(r) }

// EscapeText replaces the characters of a text that are not printable by \u and their number, and tabs by
// spaces. Line breaks stay. The result controls no terminal and is displayed in its order.
func EscapeText(text string) string {
	if !strings.ContainsFunc(text, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '\n' || unicode.IsPrint(r):
			b.WriteRune(r)
		case r == '\t':
			b.WriteString("    ")
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}
