package printable

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Is reports whether people see a character as what it is, whatever is around it: it shows something, controls neither
// a terminal nor the order of a text, and is no other space than U+0020. Line breaks and tabs are not printable.
func Is(r rune) bool {
	if r < utf8.RuneSelf {
		return r >= ' ' && r < 0x7f
	}
	return unicode.IsPrint(r) && !IsHidden(r)
}

// HasHidden reports whether a text for a file has a character that a reviewer cannot see, whatever is around it, a
// carriage return or invalid UTF-8.
func HasHidden(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return r == '\r' || r == utf8.RuneError || IsHidden(r) })
}

// Replace returns a text in which the characters that are neither printable nor among kept are what by returns. The
// selector after an emoji stays.
func Replace(text, kept string, by func(r rune) string) string {
	var b strings.Builder
	from, before := 0, rune(-1) // what is not copied yet, and the character before
	for at, r := range text {
		if ' ' <= r && r <= '~' { // nearly all of what there is
			before = r
			continue
		}
		if !Is(r) && !strings.ContainsRune(kept, r) {
			next := at + utf8.RuneLen(r)
			if !unicode.IsPrint(r) || !isNeeded(r, before, text[next:]) {
				b.WriteString(text[from:at] + by(r))
				from = next
			}
		}
		before = r
	}
	if from == 0 {
		return text
	}
	return b.String() + text[from:]
}

// Line returns a text on one line, with spaces in place of what is not printable.
func Line(text string) string { return Replace(text, "", func(rune) string { return " " }) }

// StartsFormula reports whether a spreadsheet would interpret a text in a cell as a formula: it begins with one of the
// characters that start one, or with a full-width form of it, or with a blank that is left out before it.
func StartsFormula(text string) bool {
	first, _ := utf8.DecodeRuneInString(text)
	return text != "" && strings.ContainsRune("=+-@\t\r\n＝＋－＠", first)
}

// Reveal returns a valid text with the code points of the characters that are neither printable nor among kept, as in
// <U+200B>. Invalid UTF-8 is <U+FFFD>.
func Reveal(text, kept string) string {
	text = Replace(strings.ToValidUTF8(text, "\uFFFD"), kept, codePoint)
	return strings.ReplaceAll(text, "\uFFFD", codePoint(utf8.RuneError))
}

func codePoint(r rune) string { return fmt.Sprintf("<U+%04X>", r) }

// Escape returns a character as HCL, bash and Go escape it, as in \u200b.
func Escape(r rune) string {
	if r <= 0xFFFF {
		return fmt.Sprintf(`\u%04x`, r)
	}
	return fmt.Sprintf(`\U%08x`, r)
}

// EscapeJSON escapes the characters of a JSON text that are not printable: terminals obey control characters. The
// result has the same meaning.
func EscapeJSON(text []byte) []byte {
	const whiteSpace = "\n\t\r" // between tokens
	return []byte(Replace(string(text), whiteSpace, func(r rune) string {
		if high, low := utf16.EncodeRune(r); r > 0xFFFF {
			return Escape(high) + Escape(low)
		}
		return Escape(r)
	}))
}
