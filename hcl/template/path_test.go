package template

import (
	"slices"
	"testing"
)

// A template of 160 KB has 16,000 values. The number here takes more than ten minutes if each value costs the length of
// the text before it.
func TestTheTextBeforeAValueIsNotReadForEachValue(t *testing.T) {
	word := []Node{&Text{Value: "value"}, &Interpolation{Type: Type{Kind: String}}}
	if kind, unsafe := PathOf(slices.Repeat(word, 100_000)); kind != PathUnknown || unsafe != nil {
		t.Errorf("the template is a path: %v, %v", kind, unsafe)
	}
}

func TestAPathBeginsWithADirectoryAlsoAfterTheNameOfAnOption(t *testing.T) {
	for text, isPath := range map[string]bool{"/": true, "./x": true, "--f=/": true, "f=../": true, "a b=/": false,
		"=/": false, "x/": false, "https://x/": false} {
		var p PathPrefix
		if p.AddText(text); p.IsPath() != isPath {
			t.Errorf("%q begins a path: %t", text, p.IsPath())
		}
	}
}
