package runtime

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"hatchel/hcl"
	"hatchel/runtime/state"
)

const sixAMinute = `tool "x" {
	description = "x"
	limit { rate = "6/m" }
	text = "done"
}`

func TestARateIsHeldByAllThatShareAState(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	w := newWorld()
	a, b := w.remembering(t, path, sixAMinute), w.remembering(t, path, sixAMinute)
	var all sync.WaitGroup
	var passed atomic.Int64
	for i := range 18 {
		all.Go(func() {
			if !limited(outcomeFor(t, []*Host{a, b}[i%2], "ann", "x", `{}`)) {
				passed.Add(1)
			}
		})
	}
	all.Wait()
	if passed.Load() != 6 {
		t.Errorf("%d of 18 calls have passed", passed.Load())
	}
	a.Close()
	if again := w.remembering(t, path, sixAMinute); !limited(outcomeFor(t, again, "ann", "x", `{}`)) || limited(outcomeFor(t, again, "ben", "x", `{}`)) {
		t.Error("what was counted is forgotten with the process")
	}
}

func TestWhatCannotBeCountedIsNotDone(t *testing.T) {
	w := newWorld()
	count := w.counting()
	h, store := w.sometimes(t, filepath.Join(t.TempDir(), "state.db"), `tool "x" {
		description = "x"
		limit { rate = "6/m" }
		fake { do = "count" }
	}
	tool "y" {
		description = "y"
		limit { concurrency = 1 }
		text = "done"
	}`)
	store.away.Store(true)
	for range 3 {
		if said := outcomeFor(t, h, "ann", "x", `{}`); !strings.Contains(said, `"isError":true`) || !strings.Contains(said, "the calls of this tool are rate limited") || count() != 0 {
			t.Errorf("it is done %d times: %s", count(), said)
		}
	}
	if said := outcomeFor(t, h, "ann", "y", `{}`); !strings.Contains(said, "done") {
		t.Errorf("a tool without a rate: %s", said)
	}
	store.away.Store(false)
	if said := outcomeFor(t, h, "ann", "x", `{}`); strings.Contains(said, "isError") || count() != 1 {
		t.Errorf("when it is back: %s", said)
	}
}

func TestWithoutARateNothingIsRemembered(t *testing.T) {
	var opened atomic.Int64
	s := NewState(func(context.Context) (state.Store, error) {
		opened.Add(1)
		return nil, errors.New("there is no place for it")
	})
	w := newWorld()
	h := NewHost(t.Context(), HostOptions{Build: Build{Set: w.set(), Dir: t.TempDir(), State: s}, Load: hcl.Options{Getenv: secrets}})
	t.Cleanup(func() {
		h.Close()
		s.Close()
	})
	load(t, h, `server {
		limit { concurrency = 2 }
	}
	tool "x" {
		description = "x"
		limit { concurrency = 1 }
		text = "done"
	}`)
	if said := outcomeFor(t, h, "ann", "x", `{}`); !strings.Contains(said, "done") || opened.Load() != 0 {
		t.Errorf("the state is opened %d times: %s", opened.Load(), said)
	}
	diags := h.Load(t.Context(), fileSystem(sixAMinute))
	if got := printed(diags); !strings.Contains(got, "State cannot be kept") || !strings.Contains(got, "are rate limited") || !strings.Contains(got, "there is no place for it") || opened.Load() != 1 {
		t.Errorf("with a rate it is opened %d times: %s", opened.Load(), got)
	}
}

func TestACallThatIsRefusedAgainDoesNotTroubleTheStore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	synctest.Test(t, func(t *testing.T) {
		h, store := new(world).sometimes(t, path, `tool "x" {
			description = "x"
			limit { rate = "1/m" }
			text = "done"
		}`)
		outcomeFor(t, h, "ann", "x", `{}`)
		outcomeFor(t, h, "ann", "x", `{}`)
		store.away.Store(true)
		time.Sleep(30 * time.Second)
		if said := outcomeFor(t, h, "ann", "x", `{}`); !limited(said) || !strings.Contains(said, "Try again in 30s") {
			t.Errorf("half a minute later: %s", said)
		}
		store.away.Store(false)
		time.Sleep(30 * time.Second)
		if said := outcomeFor(t, h, "ann", "x", `{}`); limited(said) {
			t.Errorf("a minute later: %s", said)
		}
	})
}

// BenchmarkRate is what a call takes with a rate that is counted in a file, and without.
func BenchmarkRate(b *testing.B) {
	for name, limit := range map[string]string{"without": "", "with": "limit {\n rate = \"1000000/s\"\n queue = 1\n}\n"} {
		b.Run(name, func(b *testing.B) {
			h := newWorld().remembering(b, filepath.Join(b.TempDir(), "state.db"), tool("x", limit+`text = "done"`))
			for b.Loop() {
				if said := outcomeFor(b, h, "ann", "x", `{}`); limited(said) {
					b.Fatal(said)
				}
			}
		})
	}
}

func TestALooserRateHoldsFromTheNextTurnOn(t *testing.T) {
	rate := func(r string) string { return tool("x", "limit { rate = \""+r+"\" }\ntext = \"done\"") }
	new(world).within(t, rate("1/d"), func(t *testing.T, h *Host) {
		if limited(outcomeFor(t, h, "ann", "x", `{}`)) || !limited(outcomeFor(t, h, "ann", "x", `{}`)) {
			t.Fatal("one a day is not one")
		}
		load(t, h, rate("1/s"))
		outcomeFor(t, h, "ann", "x", `{}`) // is counted by the new rate
		time.Sleep(2 * time.Second)
		if got := outcomeFor(t, h, "ann", "x", `{}`); limited(got) {
			t.Error(got)
		}
	})
}
