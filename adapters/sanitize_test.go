package adapters

import (
	"testing"

	"hatchel/hcl"
	"hatchel/internal/cut"
)

func TestScrubHidesTheLongerOfTwoOverlappingSecrets(t *testing.T) {
	if got := Scrub("token=abcdefgh", []string{"abcd", "abcdefgh"}); got != "token="+hcl.Hidden {
		t.Errorf("got %s", got)
	}
}

func TestSaidHidesASecretHoweverItsSpacesAreWritten(t *testing.T) {
	for _, written := range []string{"open  sesame", "open\tsesame", "open \x1b[1m\nsesame", "open sesame"} {
		t.Run(written, func(t *testing.T) {
			got := Sanitize("no: "+written+".", []string{"open  sesame", "open sesame"})
			if got != "no: "+hcl.Hidden+"." {
				t.Errorf("got %s", got)
			}
		})
	}
}

func TestHeadAndTailTruncateOnlyLongerTexts(t *testing.T) {
	for text, want := range map[string]struct{ head, tail string }{
		"":     {"", ""},
		"äöü":  {"äöü", "äöü"},
		"äöüß": {"äö…", "…üß"},
	} {
		t.Run(text, func(t *testing.T) {
			if head, tail := cut.Runes(text, 3), LastRunes(text, 3); head != want.head || tail != want.tail {
				t.Errorf("got %q and %q", head, tail)
			}
		})
	}
}
