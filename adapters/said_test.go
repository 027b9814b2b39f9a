package adapters

import (
	"testing"

	"hatchel/hcl"
)

func TestASecretGoesWholeWhereAnotherIsPartOfIt(t *testing.T) {
	if got := Scrub("token=abcdefgh", []string{"abcd", "abcdefgh"}); got != "token="+hcl.Hidden {
		t.Errorf("got %s", got)
	}
}

func TestWhatIsSaidHoldsNoSecretHoweverItsSpacesAreWritten(t *testing.T) {
	for _, written := range []string{"open  sesame", "open\tsesame", "open \x1b[1m\nsesame", "open sesame"} {
		if got := Said("no: "+written+".", []string{"open  sesame", "open sesame"}); got != "no: "+hcl.Hidden+"." {
			t.Errorf("%q: got %s", written, got)
		}
	}
}

func TestATextThatFitsIsNotCut(t *testing.T) {
	for text, want := range map[string][2]string{"": {"", ""}, "äöü": {"äöü", "äöü"}, "äöüß": {"äö…", "…üß"}} {
		if head, tail := Head(text, 3), Tail(text, 3); head != want[0] || tail != want[1] {
			t.Errorf("%q: got %q and %q", text, head, tail)
		}
	}
}
