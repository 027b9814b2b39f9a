package limit

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hatchel/hcl"
)

func TestKeyHidesCaller(t *testing.T) {
	name := Key{"tool x", "of ann"}.String()
	other := Key{"tool x", "of ben"}.String()
	if len(name) != 64 || strings.Contains(name, "ann") || strings.Contains(name, "tool") || name == other {
		t.Error(name)
	}
}

func TestIdleBucketsAreRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(nil)
		limit := Limit{"tool x", &hcl.Limit{Concurrency: 1}}
		for _, caller := range []string{"ann", "ben"} {
			if err := l.Acquire(t.Context(), limit.Key(caller), limit); err != nil {
				t.Fatal(err)
			}
		}
		l.Release(limit.Key("ann"))
		time.Sleep(2 * time.Minute)
		l.Release(limit.Key("ben"))
		if n := len(l.buckets); n != 1 {
			t.Errorf("%d buckets, want the one in use", n)
		}
	})
}
