package adapters

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"hatchel/hcl"
	"hatchel/internal/cut"
	"hatchel/internal/lazyregexp"
	"hatchel/internal/printable"
)

// MinSecretLength is the minimum length in bytes of a secret that is hidden. A shorter one would also match
// unrelated text.
const MinSecretLength = 4

// Scrub replaces the secrets in a text with hcl.Hidden.
func Scrub(text string, secrets []string) string {
	if !slices.ContainsFunc(secrets, func(s string) bool { return strings.Contains(text, s) }) {
		return text
	}
	longestFirst := slices.SortedFunc(slices.Values(secrets), func(a, b string) int {
		return cmp.Compare(len(b), len(a))
	})
	for _, s := range longestFirst {
		if len(s) >= MinSecretLength {
			text = strings.ReplaceAll(text, s, hcl.Hidden)
		}
	}
	return text
}

// SanitizeHead prepares the beginning of a truncated text for Scrub. It removes the end of the text if it may be
// a part of a secret, because Scrub finds whole secrets only. A part from the middle of a secret counts if
// it is at least as long as the shortest secret that is hidden.
func SanitizeHead(text []byte, secrets []string) []byte {
	remove := 0
	for _, s := range secrets {
		for end := range len(s) {
			n := 0
			for n <= end && n < len(text) && text[len(text)-1-n] == s[end-n] {
				n++
			}
			if n > end || n >= MinSecretLength {
				remove = max(remove, n)
			}
		}
	}
	return text[:len(text)-remove]
}

// SanitizeTail prepares the end of a truncated text for Scrub in the same way.
func SanitizeTail(text []byte, secrets []string) []byte {
	remove := 0
	for _, s := range secrets {
		for start := 1; start < len(s); start++ {
			n := 0
			for start+n < len(s) && n < len(text) && text[n] == s[start+n] {
				n++
			}
			if start+n == len(s) || n >= MinSecretLength {
				remove = max(remove, n)
			}
		}
	}
	return text[remove:]
}

// terminalSequence matches what programs send to terminals: colours, titles, cursor movements.
var terminalSequence = lazyregexp.New(
	"\x1b(?:\\[[0-?]*[ -/]*[@-~]|\\][^\x07\x1b]*(?:\x07|\x1b\\\\)|[@-Z\\\\^_])")

// Sanitize returns the output of another program or service in a form that can be quoted to a model: on one
// line, without invisible characters and without secrets.
func Sanitize(text string, secrets []string) string {
	text = terminalSequence.ReplaceAllString(strings.ToValidUTF8(Scrub(text, secrets), "\uFFFD"), "")
	text = strings.Map(func(r rune) rune {
		if printable.IsHidden(r) {
			return ' '
		}
		return r
	}, text)
	return Scrub(strings.Join(strings.Fields(text), " "), secrets)
}

// PlanText returns data as a plan shows it: data that is not text by its size, and of a longer text than
// maxBytes only the beginning.
func PlanText(data []byte, maxBytes int) string {
	switch {
	case !utf8.Valid(data):
		return fmt.Sprintf("%s%d bytes]", OmittedPrefix, len(data))
	case len(data) <= maxBytes:
		return string(data)
	}
	head := data[:cut.Before(data, maxBytes)]
	return fmt.Sprintf("%s… %s%d more bytes]", head, OmittedPrefix, len(data)-len(head))
}

// SplitLines returns the lines of a text without their line breaks, as a value of the language. A text without line
// feeds has lines that end with carriage returns.
func SplitLines(text string) []any {
	lines := []any{}
	if !strings.Contains(text, "\n") {
		text = strings.ReplaceAll(text, "\r", "\n")
	}
	for line := range strings.Lines(text) {
		lines = append(lines, strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r"))
	}
	return lines
}

// LastRunes returns a text truncated at its beginning to at most maxRunes characters, including the ellipsis.
func LastRunes(text string, maxRunes int) string {
	excess := utf8.RuneCountInString(text) - maxRunes
	if excess <= 0 {
		return text
	}
	return "…" + string([]rune(text)[excess+1:])
}
