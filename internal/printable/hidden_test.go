package printable

import (
	"bytes"
	"testing"
)

func TestHiddenCharactersAreFound(t *testing.T) {
	for name, text := range map[string]string{
		"a tag":                        "Get\U000E0049\U000E0067 it",
		"tags after a flag":            "\U0001F3F4\U000E0069\U000E0067\U000E006E\U000E007F",
		"an override of the direction": "Get \u202eti\u202c",
		"an isolate":                   "Get \u2067it\u2069",
		"a mark of the direction":      "Get\u200f it",
		"a zero-width space":           "G\u200bet",
		"a zero-width joiner":          "G\u200det",
		"a byte order mark":            "G\ufeffet",
		"a word joiner":                "G\u2060et",
		"an invisible operator":        "G\u2063et",
		"a soft hyphen":                "G\u00adet",
		"a grapheme joiner":            "G\u034fet",
		"a Hangul filler":              "Get \u3164it",
		"a selector after a letter":    "G\ufe0fet",
		"a second selector":            "☀\ufe0f\ufe0e",
		"a supplementary selector":     "☀\U000E0100",
		"a private character":          "Get \ue000",
		"a supplementary private one":  "Get \U000F0041",
		"an escape":                    "Get \x1b[8mit\x1b[0m",
		"a backspace":                  "Get\b",
		"a C1 control":                 "Get \u009b8m",
		"a blank of Braille":           "Get\u2800it",
	} {
		found := Hidden(text)
		if len(found) == 0 {
			t.Errorf("%s: %q", name, text)
		}
		for _, m := range found {
			if m.Start >= m.End || m.End > len(text) {
				t.Errorf("%s: %+v", name, m)
			}
		}
	}
}

func TestPlainTextHasPrintableASCIIAndLineBreaks(t *testing.T) {
	for length := range 20 {
		text := bytes.Repeat([]byte{'a'}, length)
		for at := range text {
			for c := range 256 {
				text[at] = byte(c)
				want := c >= ' ' && c <= '~' || c == '\n' || c == '\t' || c == '\r'
				if IsPlain(string(text)) != want {
					t.Fatalf("%q: %t", text, !want)
				}
			}
			text[at] = 'a'
		}
	}
}

func TestHiddenCharactersOfOneKindAreOneFinding(t *testing.T) {
	text := "Get\u200b\u200b\u200b\u202e it"
	found := Hidden(text)
	if len(found) != 2 || Names(text[found[0].Start:found[0].End]) != "U+200B U+200B U+200B" {
		t.Errorf("%+v", found)
	}
	if got := Names("\u200b\u200b\u200b\u200b"); got != "U+200B U+200B U+200B …" {
		t.Error(got)
	}
}

func TestANameThatMixesSimilarScriptsIsFound(t *testing.T) {
	for name, want := range map[string]bool{"order": false, "оrder": true, "ordеr_id": true, "заказ": false, "Ωmega": true, "größe": false, "订单id": false} {
		if got := MixesScripts(name); got != want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
