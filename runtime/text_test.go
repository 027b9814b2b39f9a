package runtime

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
		got := string(cut([]byte(c.text), 300, "Ask for less."))
		shown, note, ok := strings.Cut(got, "\n[Cut here: ")
		if !ok || !strings.HasSuffix(shown, c.ends) || !strings.HasPrefix(c.text, shown) || len(got) > 300 || !utf8.ValidString(got) || !strings.HasSuffix(note, "Ask for less.]") {
			t.Errorf("%s: %d bytes, %q", claim, len(got), got)
		}
	}
}

func TestScrubberLeavesJSONValid(t *testing.T) {
	s := newScrubber([]string{"12345", "pass/word", "no"})
	for in, want := range map[string]string{
		`{"a":"12345"}`:                     `{"a":"(secret)"}`,
		`{"a":12345,"b":123456}`:            `{"a":"(secret)","b":123456}`,
		`["pass\/word","p\u0061ss/word",1]`: `["(secret)","(secret)",1]`,
		`"no"`:                              `"no"`,
		`["say \"12345\""]`:                 `["say \"(secret)\""]`,
	} {
		if got := string(s.json([]byte(in))); got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
	if got := s.sentence("key=pass%2Fword and pass/word"); got != "key=(secret) and (secret)" {
		t.Errorf("got %s", got)
	}
	var none *scrubber
	if none.sentence("x") != "x" || string(none.json([]byte("1"))) != "1" {
		t.Error("a scrubber without secrets changed something")
	}
}
