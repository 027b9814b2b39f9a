package runtime

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"hatchel/runtime/durable/state"
)

const sixAMinute = `tool "x" {
	description = "x"
	limit { rate = "6/m" }
	text = "done"
}`

func TestARateIsHeldByAllThatShareAState(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	w := newFakeBackend()
	a, b := newHost(t, sixAMinute, w.use, storedIn(t, path)), newHost(t, sixAMinute, w.use, storedIn(t, path))
	var all sync.WaitGroup
	var passed atomic.Int64
	for i := range 18 {
		all.Go(func() {
			if !isLimited(callAs(t, []*Host{a, b}[i%2], "ann", "x", `{}`)) {
				passed.Add(1)
			}
		})
	}
	all.Wait()
	if passed.Load() != 6 {
		t.Errorf("%d of 18 calls have passed", passed.Load())
	}
	a.Close()
	if again := newHost(t, sixAMinute, w.use, storedIn(t, path)); !isLimited(callAs(t, again, "ann", "x", `{}`)) || isLimited(callAs(t, again, "ben", "x", `{}`)) {
		t.Error("what was counted is forgotten with the process")
	}
}

func TestWhatCannotBeCountedIsNotDone(t *testing.T) {
	w := newFakeBackend()
	count := w.addCounter()
	h, store := newFlakyHost(t, filepath.Join(t.TempDir(), "state.db"), `tool "x" {
		description = "x"
		limit { rate = "6/m" }
		fake { do = "count" }
	}
	tool "y" {
		description = "y"
		limit { concurrency = 1 }
		text = "done"
	}`, w.use)
	store.unavailable.Store(true)
	for range 3 {
		if said := callAs(t, h, "ann", "x", `{}`); !strings.Contains(said, `"isError":true`) || !strings.Contains(said, "the calls of this tool are rate limited") || count() != 0 {
			t.Errorf("it is done %d times: %s", count(), said)
		}
	}
	if said := callAs(t, h, "ann", "y", `{}`); !strings.Contains(said, "done") {
		t.Errorf("a tool without a rate: %s", said)
	}
	store.unavailable.Store(false)
	if said := callAs(t, h, "ann", "x", `{}`); strings.Contains(said, "isError") || count() != 1 {
		t.Errorf("when it is back: %s", said)
	}
}

func TestWithoutARateNothingIsRemembered(t *testing.T) {
	var opened atomic.Int64
	s := withStore(t, func(context.Context) (state.Store, error) {
		opened.Add(1)
		return nil, errors.New("there is no place for it")
	})
	w := newFakeBackend()
	h := newHost(t, `server {
		limit { concurrency = 2 }
	}
	tool "x" {
		description = "x"
		limit { concurrency = 1 }
		text = "done"
	}`, w.use, s)
	if said := callAs(t, h, "ann", "x", `{}`); !strings.Contains(said, "done") || opened.Load() != 0 {
		t.Errorf("the state is opened %d times: %s", opened.Load(), said)
	}
	diags := h.Load(t.Context(), fileSystem(sixAMinute))
	if got := printDiagnostics(diags); !strings.Contains(got, "State cannot be kept") || !strings.Contains(got, "are rate limited") || !strings.Contains(got, "there is no place for it") || opened.Load() != 1 {
		t.Errorf("with a rate it is opened %d times: %s", opened.Load(), got)
	}
}

func TestTheRateOfAConnectionIsHeldByAllThatShareAState(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	w := newFakeBackend()
	count := w.addCounter()
	src := `connection "db" "main" {
		name = "main"
		rate = "30/d"
	}
	` + tool("x", `fake "main" { do = "count" }`) + tool("each", `
	step "all" {
		each = [1, 2, 3, 4]
		fake "main" { do = "count" }
	}
	text = "done"`)
	a, b := newHost(t, src, w.use, storedIn(t, path)), newHost(t, src, w.use, storedIn(t, path))
	callAs(t, a, "ann", "x", `{}`)
	said := callAs(t, b, "ben", "each", `{}`)
	const want = `requests to \"main\" are limited to 30 a day, and the next turn is later than this call can wait`
	if count() != 3 || !strings.Contains(said, want) || !strings.Contains(said, `the step \"all\" (2 times) was carried out`) ||
		strings.Contains(said, `"retryAfter":`) { // a repeated call would do it once more
		t.Errorf("%d at once, a tenth of 30 are expected: %s", count(), said)
	}
}

func TestAConnectionWithoutARateNeedsNoState(t *testing.T) {
	s := withStore(t, func(context.Context) (state.Store, error) { return nil, errors.New("there is no place for it") })
	w := newFakeBackend()
	src := "connection \"db\" \"main\" {\n name = \"main\"\n%s\n}\n" + tool("x", `fake "main" { value = 1 }`)
	h := newHost(t, fmt.Sprintf(src, ""), w.use, s)
	diags := h.Load(t.Context(), fileSystem(fmt.Sprintf(src, `rate = "5/s"`)))
	if got := printDiagnostics(diags); !strings.Contains(got, "Requests over a connection are rate limited, which requires a state store") {
		t.Errorf("got %s", got)
	}
}

// BenchmarkRate is what a call takes with a rate that is counted in a file, and without.
func BenchmarkRate(b *testing.B) {
	for name, limit := range map[string]string{"without": "", "with": "limit {\n rate = \"1000000/s\"\n queue = 1\n}\n"} {
		b.Run(name, func(b *testing.B) {
			h := newHost(b, tool("x", limit+`text = "done"`), storedIn(b, filepath.Join(b.TempDir(), "state.db")))
			for b.Loop() {
				if said := callAs(b, h, "ann", "x", `{}`); isLimited(said) {
					b.Fatal(said)
				}
			}
		})
	}
}

func TestALooserRateHoldsFromTheNextTurnOn(t *testing.T) {
	rate := func(r string) string { return tool("x", "limit { rate = \""+r+"\" }\ntext = \"done\"") }
	inBubble(t, rate("1/d"), new(fakeBackend).use, func(t *testing.T, h *Host) {
		if isLimited(callAs(t, h, "ann", "x", `{}`)) || !isLimited(callAs(t, h, "ann", "x", `{}`)) {
			t.Fatal("one a day is not one")
		}
		load(t, h, rate("1/s"))
		callAs(t, h, "ann", "x", `{}`) // is counted by the new rate
		time.Sleep(2 * time.Second)
		if got := callAs(t, h, "ann", "x", `{}`); isLimited(got) {
			t.Error(got)
		}
	})
}
