package result

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestCutEndsAtABoundaryAndFitsTheLimit(t *testing.T) {
	for claim, c := range map[string]struct{ text, ends string }{
		"a line":      {strings.Repeat("a line of text\n", 50), "of text"},
		"a value":     {strings.Repeat(`{"a":1},`, 100), "},"},
		"a character": {strings.Repeat("ä", 400), "ä"},
	} {
		got := string(TruncateText([]byte(c.text), 300, "Ask for less."))
		shown, note, ok := strings.Cut(got, "\n[Truncated: ")
		if !ok || !strings.HasSuffix(shown, c.ends) || !strings.HasPrefix(c.text, shown) || len(got) > 300 || !utf8.ValidString(got) || !strings.HasSuffix(note, "Ask for less.]") {
			t.Errorf("%s: %d bytes, %q", claim, len(got), got)
		}
	}
}

func TestCutWithinKeepsTheBeginningAndTheEnd(t *testing.T) {
	for claim, c := range map[string]struct{ text, before, after string }{
		"lines":      {strings.Repeat("a line of text\n", 50), "of text", "a line"},
		"values":     {strings.Repeat(`{"a":1},`, 100), "},", "{"},
		"characters": {strings.Repeat("ä", 400), "ä", "ä"},
		"one more":   {strings.Repeat("x", 301), "x", "x"},
	} {
		got := string(truncateMiddle([]byte(c.text), 300, "Ask for less."))
		head, rest, ok := strings.Cut(got, "\n[Truncated: ")
		note, tail, ended := strings.Cut(rest, "]\n")
		if !ok || !ended || !strings.HasPrefix(c.text, head) || !strings.HasSuffix(c.text, tail) || !strings.HasSuffix(head, c.before) || !strings.HasPrefix(tail, c.after) ||
			len(got) > 300 || len(got) < 200 || !utf8.ValidString(got) || !strings.HasSuffix(note, "are shown, the beginning and the end. Ask for less.") {
			t.Errorf("%s: %d bytes, %q", claim, len(got), got)
		}
	}
	for limit := range 400 { // also where not even the sentence fits
		for _, text := range []string{strings.Repeat("ä", 200), strings.Repeat("ab\n", 133), strings.Repeat("€ ", 80)} {
			got := string(truncateMiddle([]byte(text), limit, ""))
			note := truncationNote(limit, len(text), ", the beginning and the end", "")
			if len(got) > max(limit, len(note)+2) || !utf8.ValidString(got) || len(text) > limit && !strings.Contains(got, note) {
				t.Fatalf("%d bytes: %q", limit, got)
			}
		}
	}
}
