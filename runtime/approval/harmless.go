package approval

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Harmless is JSON that says the same, and in which every character that is none to read is written as an escape: callers have a say in it, and terminals obey some.
func Harmless(text []byte) []byte {
	if !bytes.ContainsFunc(text, steers) {
		return text
	}
	out := make([]byte, 0, len(text)+64)
	for _, r := range string(text) {
		switch {
		case !steers(r):
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

// steers reports whether a character is none to read. Those between the tokens of JSON are.
func steers(r rune) bool { return r != '\n' && r != '\t' && r != '\r' && !unicode.IsPrint(r) }

// Legible is a text in which every character that is none to read is shown as \u and its number; its line breaks are left. It steers no terminal, and reads in the order in which it
// stands.
func Legible(text string) string {
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
