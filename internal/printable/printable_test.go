package printable

import (
	"fmt"
	"strings"
	"testing"
	"unicode"
)

func TestEveryHiddenCharacterIsRevealed(t *testing.T) {
	for r := range rune(unicode.MaxRune + 1) {
		if r > 0x20000 && r < 0xE0000 || r > 0xE1000 { // letters of Han, and private characters
			continue
		}
		text := "a" + string(r) + "b"
		shown, line := Reveal(text, "\n\t\r"), Line(text)
		if len(Hidden(text)) > 0 && shown != fmt.Sprintf("a<U+%04X>b", r) {
			t.Errorf("U+%04X is hidden, and shown as %q", r, shown)
		}
		if unicode.IsControl(r) && line != "a b" {
			t.Errorf("U+%04X: a line with it is %q", r, line)
		}
		if Is(r) && line != text {
			t.Errorf("U+%04X is printable, and in a line it is %q", r, line)
		}
	}
}

func TestWhatEmojiNeedStays(t *testing.T) {
	for text, want := range map[string]string{
		"\u26a0\ufe0f Deletes":  "\u26a0\ufe0f Deletes",
		"\u26a0\ufe0f\ufe0e":    "\u26a0\ufe0f<U+FE0E>",
		"1\ufe0f\u20e3 1\ufe0f": "1\ufe0f\u20e3 1<U+FE0F>",
		"D\ufe0feletes":         "D<U+FE0F>eletes",
		"a\u200db\nc":           "a<U+200D>b<U+000A>c",
		"a\xff\xfeb\ufffd\x1b":  "a<U+FFFD>b<U+FFFD><U+001B>",
		"größe 订单 заказ":        "größe 订单 заказ",
	} {
		if got := Reveal(text, ""); got != want {
			t.Errorf("%q is shown as %q", text, got)
		}
	}
}

func TestReplaceWithNothingLeavesWhatIsPrintable(t *testing.T) {
	text := strings.Repeat("\u202e", 3) + "ab\u202c\U000E0041c\t\xff"
	if got := Replace(text, "\t", func(rune) string { return "" }); got != "abc\t\xff" {
		t.Errorf("%q", got)
	}
	if got := Replace(text, "", Escape); got != `\u202e\u202e\u202eab\u202c\U000e0041c\u0009`+"\xff" {
		t.Errorf("%q", got)
	}
}
