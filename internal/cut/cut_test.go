package cut_test

import (
	"testing"
	"unicode/utf8"

	"hatchel/internal/cut"
)

func TestATextIsCutBetweenTwoCharacters(t *testing.T) {
	for _, text := range []string{"", "abc", "aä€😀b", "😀", "€€€"} {
		for n := range len(text) + 1 {
			before, after := cut.Before(text, n), cut.After(text, n)
			if before > n || after < n || n-before > 3 || after-n > 3 {
				t.Errorf("%q at %d: %d and %d", text, n, before, after)
			}
			for _, at := range []int{before, after} {
				if !utf8.ValidString(text[:at]) || !utf8.ValidString(text[at:]) {
					t.Errorf("%q at %d is cut at %d, in a character", text, n, at)
				}
			}
			if before != cut.Before([]byte(text), n) || after != cut.After([]byte(text), n) {
				t.Errorf("%q as bytes", text)
			}
		}
	}
	const binary = "a\x80\x80\x80\x80\x80\x80\x80b"
	for n := range len(binary) + 1 {
		if before, after := cut.Before(binary, n), cut.After(binary, n); n-before > 3 || after-n > 3 {
			t.Errorf("a text that is not UTF-8 at %d: %d and %d", n, before, after)
		}
	}
	if before, after := cut.Before(binary, 5), cut.After(binary, 4); before != 5 || after != 4 {
		t.Errorf("bytes that are no character are cut at %d and %d", before, after)
	}
}

func TestRunesHaveAtMostTheirNumber(t *testing.T) {
	for _, text := range []string{"", "a", "abcdef", "größer", "…………", "\xff\xfe\xfd\xfc", "日本語日本語", "a\U0001F600b\U0001F600"} {
		all := []rune(text)
		for n := 1; n < 8; n++ {
			got, want := cut.Runes(text, n), text
			if len(all) > n {
				want = string(all[:n-1]) + "…"
			}
			if string([]rune(got)) != string([]rune(want)) {
				t.Errorf("%d of %q are %q, not %q", n, text, got, want)
			}
		}
	}
}
