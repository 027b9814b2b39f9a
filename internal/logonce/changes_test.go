package logonce_test

import (
	"testing"

	"hatchel/internal/logonce"
)

func TestProblemIsAChangeOnceUntilItChanges(t *testing.T) {
	var c logonce.Changes
	for i, x := range []struct {
		thing, problem string
		changed        bool
	}{
		{"a", "", false}, {"a", "down", true}, {"a", "down", false}, {"b", "down", true}, {"a", "full", true},
		{"a", "", true}, {"a", "", false}, {"b", "down", false}, {"a", "full", true},
	} {
		if changed := c.Set(x.thing, x.problem); changed != x.changed {
			t.Errorf("%d: Set(%q, %q) = %t", i, x.thing, x.problem, changed)
		}
	}
	c.Keep(func(thing string) bool { return thing == "b" })
	if !c.Set("a", "full") || c.Set("b", "down") {
		t.Error("Keep has kept a or has forgotten b")
	}
}
