package openapi

import (
	"html"
	"strings"
	"sync"
	"unicode"

	"hatchel/cmd/hatchel/importer"
	"hatchel/internal/lazyregexp"
	"hatchel/internal/printable"
)

// markupRule is a kind of markup, and what stays of it.
type markupRule struct {
	pattern *lazyregexp.Regexp
	kept    string
}

// markupRules are applied in this order. They are compiled when an import begins: they take a megabyte of memory.
var markupRules = sync.OnceValue(func() []markupRule {
	return []markupRule{
		{lazyregexp.New("(?s)```.*?(?:```|$)"), " "},                 // code
		{lazyregexp.New(`(?s)<!--.*?-->`), " "},                      // a comment of HTML
		{lazyregexp.New(`!\[[^\]]{0,200}\]\([^)]{0,500}\)`), ""},     // an image
		{lazyregexp.New(`\[([^\]]{1,200})\]\([^)]{0,500}\)`), "$1"},  // a link
		{lazyregexp.New(`\[([^\]]{1,200})\]\[[^\]]{0,100}\]`), "$1"}, // a link by reference
		{lazyregexp.New(`</?[A-Za-z][^<>]{0,200}>`), " "},            // a tag of HTML
		{lazyregexp.New(`(?m)^[ \t]*\|.*$`), ""},                     // a row of a table
		{lazyregexp.New(`(?m)^#{1,6}[ \t]+(.*?)[ \t#]*$`), "$1."},    // a heading
		{lazyregexp.New(`(?m)^[ \t]*>[ \t]?(?:\[![A-Z]+\])?`), ""},   // a quotation, or an admonition
		{lazyregexp.New(`(?m)^[ \t]*[*+-][ \t]+`), ""},               // a bullet
		{lazyregexp.New(`\*\*([^*\n]+)\*\*|__([^_\n]+)__`), "$1$2"},  // emphasis
		{lazyregexp.New(`\s*\(?https?://[^\s)]+\)?`), ""},            // an address
	}
})

// maxRead is how much of a description is looked at.
const maxRead = 8 << 10

// plainText returns a text without markup and credentials on one line, cut at a sentence.
func plainText(s string, max int) string { return importer.Sentence(stripMarkup(s), max) }

func stripMarkup(s string) string {
	if len(s) > maxRead {
		s = s[:maxRead]
	}
	if strings.ContainsAny(s, "<`[#|*_>&-+") || strings.Contains(s, "://") {
		for _, r := range markupRules() {
			s = r.pattern.ReplaceAllString(s, r.kept)
		}
		s = html.UnescapeString(s)
		s = strings.ReplaceAll(s, "`", "")
	}
	s = strings.Join(strings.Fields(s), " ")
	for _, r := range []string{".", ",", ";", ")", ":"} {
		s = strings.ReplaceAll(s, " "+r, r)
	}
	return s
}

// cleanText is plainText, which reports a credential that it leaves out.
func cleanText(text string, max int, lose func(kind, detail string)) string {
	if importer.ContainsCredential(stripMarkup(text)) {
		lose("text cleaned", "a part has the form of a credential")
	}
	return plainText(text, max)
}

// readText is cleanText for a description. One that instructs models is left out and reported.
func readText(text string, max int, lose func(kind, detail string)) string {
	text = cleanText(text, max, lose)
	if why := suspicious(text); why != "" {
		lose("description left out", why)
		return ""
	}
	return text
}

// ended returns a text with a full stop at its end.
func ended(s string) string {
	if s == "" || strings.ContainsAny(s[len(s)-1:], ".!?") || strings.HasSuffix(s, "…") {
		return s
	}
	return s + "."
}

// words splits a name at case, digits and other characters, in lower case: "listHTTPRoutesV2" is list http routes v2.
func words(s string) []string {
	var all []string
	var word []rune
	flush := func() {
		if len(word) > 0 {
			all = append(all, strings.ToLower(string(word)))
			word = word[:0]
		}
	}
	runes := []rune(s)
	for i, r := range runes {
		if r >= 0x80 || !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			if r == '\'' {
				continue
			}
			flush()
			continue
		}
		if unicode.IsUpper(r) && i > 0 {
			before := runes[i-1]
			nextLower := i+1 < len(runes) && unicode.IsLower(runes[i+1]) && runes[i+1] < 0x80
			pluralEnd := nextLower && runes[i+1] == 's' && (i+2 == len(runes) || !unicode.IsLower(runes[i+2]))
			if !unicode.IsUpper(before) && before < 0x80 && (unicode.IsLetter(before) || unicode.IsDigit(before)) ||
				unicode.IsUpper(before) && nextLower && !pluralEnd {
				flush()
			}
		}
		word = append(word, r)
	}
	flush()
	return all
}

// suspicious says why a text of the document is not shown to models, or "".
func suspicious(text string) string {
	if len(text) > maxRead {
		text = text[:maxRead]
	}
	if found := printable.Hidden(text); len(found) > 0 {
		return "it has characters that a reviewer cannot see"
	}
	if importer.Steers(text) {
		return "it instructs models"
	}
	return ""
}
