package hcl_test

import (
	"testing"

	. "hatchel/hcl"
)

func TestAToolsetHoldsWhatItsPatternsName(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"a", "a", true}, {"a", "ab", false}, {"*", "", true}, {"*", "a.b", true}, {"a*", "a", true}, {"a*", "ba", false}, {"*a", "ba", true},
		{"a*a", "a", false}, {"a*a", "aa", true}, {"a*b*c", "aXbYc", true}, {"a*b*c", "acb", false}, {"*b*", "abc", true}, {"a**c", "abc", true}, {"a*b*b*c", "abc", false},
	} {
		s := &Toolset{Targets: Targets{Tools: []string{"other", c.pattern}}}
		if got := s.HasTool(c.name); got != c.want {
			t.Errorf("%q in %q: %t", c.name, c.pattern, got)
		}
	}
	var all *Toolset
	if !all.HasTool("a") || !all.HasPrompt("a") || !all.HasResource("a") || (&Toolset{}).HasPrompt("a") {
		t.Error("everything is offered without a toolset, and nothing that a toolset does not name")
	}
}
