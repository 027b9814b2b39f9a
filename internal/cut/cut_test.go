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
