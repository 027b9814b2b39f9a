package adapters

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"hatchel/hcl"
)

// ShortestSecret is how long a secret must be to be looked for: hiding a shorter one would mark every place where it stands by chance.
const ShortestSecret = 4

// Scrub hides secrets in a text that is about to be shown.
func Scrub(text string, secrets []string) string {
	if !slices.ContainsFunc(secrets, func(s string) bool { return strings.Contains(text, s) }) {
		return text
	}
	longest := slices.SortedFunc(slices.Values(secrets), func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	for _, s := range longest {
		if len(s) >= ShortestSecret {
			text = strings.ReplaceAll(text, s, hcl.Hidden)
		}
	}
	return text
}

// Begun is a text that was cut at its end, without what may be a part of a secret there: cut in two, a secret is not found by who looks for the whole. A part in the midst of a secret
// counts from ShortestSecret bytes on.
func Begun(text []byte, secrets []string) []byte {
	most := 0
	for _, s := range secrets {
		for end := range len(s) {
			n := 0
			for n <= end && n < len(text) && text[len(text)-1-n] == s[end-n] {
				n++
			}
			if n > end || n >= ShortestSecret {
				most = max(most, n)
			}
		}
	}
	return text[:len(text)-most]
}

// Ended is Begun for a text that was cut at its beginning.
func Ended(text []byte, secrets []string) []byte {
	most := 0
	for _, s := range secrets {
		for from := 1; from < len(s); from++ {
			n := 0
			for from+n < len(s) && n < len(text) && text[n] == s[from+n] {
				n++
			}
			if from+n == len(s) || n >= ShortestSecret {
				most = max(most, n)
			}
		}
	}
	return text[most:]
}

// terminal matches what programs write for terminals: colours, titles, movements.
var terminal = regexp.MustCompile("\x1b(?:\\[[0-?]*[ -/]*[@-~]|\\][^\x07\x1b]*(?:\x07|\x1b\\\\)|[@-Z\\\\^_])")

// Said is what another program or service wrote, fit to be quoted to a model: on one line, without anything that cannot be seen, and without the
// secrets that were sent.
func Said(text string, secrets []string) string {
	text = terminal.ReplaceAllString(strings.ToValidUTF8(Scrub(text, secrets), "\uFFFD"), "")
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Co, r) {
			return ' '
		}
		return r
	}, text)
	return Scrub(strings.Join(strings.Fields(text), " "), secrets)
}

// Head is the beginning of a text, in at most so many characters.
func Head(text string, runes int) string {
	n := 0
	for i := range text {
		if n == runes-1 && utf8.RuneCountInString(text[i:]) > 1 {
			return text[:i] + "…"
		}
		n++
	}
	return text
}

// Tail is the end of a text, in at most so many characters.
func Tail(text string, runes int) string {
	over := utf8.RuneCountInString(text) - runes
	if over <= 0 {
		return text
	}
	for i := range text {
		if over < 0 {
			return "…" + text[i:]
		}
		over--
	}
	return text
}
