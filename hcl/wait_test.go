package hcl_test

import (
	"strings"
	"testing"
	"time"

	. "hatchel/hcl"
)

func TestAWaitLastsAsLongAsTheCallSays(t *testing.T) {
	config := offered(t, `tool "t" {
  description = "Waits."
  input "n" { type = any }
  step "a" {
    wait { for = "50ms" }
  }
  step "b" {
    wait { seconds = input.n }
  }
  text = "x"
}`)
	steps := config.Tools[0].Steps
	fixed, given := steps[0].Backend.Config.(*Wait), steps[1].Backend.Config.(*Wait)
	if got, err := fixed.Duration(frameOf(t, nil)); err != nil || got != 50*time.Millisecond {
		t.Errorf("got %s (%v), want 50ms", got, err)
	}
	for _, c := range []struct {
		n    any
		want time.Duration
		err  string
	}{
		{1.5, 1500 * time.Millisecond, ""}, {2, 2 * time.Second, ""}, {0, 0, ""}, {1e300, 1<<63 - 1, ""},
		{-1, 0, "must not be negative"}, {"soon", 0, "must be a number"}, {nil, 0, "must be a number"},
	} {
		got, err := given.Duration(frameOf(t, map[string]any{"n": c.n}))
		if got != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%v: got %s (%v), want %s %s", c.n, got, err, c.want, c.err)
		}
	}
}
