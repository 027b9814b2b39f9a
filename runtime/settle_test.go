package runtime

import (
	"context"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"hatchel/hcl"
	"hatchel/runtime/state"
)

// absent is a store that is away now and then, for what is settled and what is paced.
type absent struct {
	state.Store
	away atomic.Bool
	late atomic.Bool // what is settled while it is away is settled, and nobody told
	lost atomic.Bool // what is begun is begun, and nobody told
}

func (a *absent) Add(ctx context.Context, r *state.Record) (*state.Record, error) {
	begun := *r
	if !a.lost.Load() {
		return a.Store.Add(ctx, r)
	}
	if _, err := a.Store.Add(ctx, &begun); err != nil {
		return nil, err
	}
	return nil, state.ErrUnavailable
}

func (a *absent) Replace(ctx context.Context, r *state.Record) (bool, error) {
	if !a.away.Load() {
		return a.Store.Replace(ctx, r)
	}
	if settled := *r; a.late.Load() {
		a.Store.Replace(ctx, &settled)
	}
	return false, state.ErrUnavailable
}

func (a *absent) Reserve(ctx context.Context, name string, of state.Rate, patience time.Duration) (time.Duration, bool, error) {
	if a.away.Load() {
		return 0, false, state.ErrUnavailable
	}
	return a.Store.Reserve(ctx, name, of, patience)
}

// sometimes is a Host that remembers in a store that may be away.
func (w *world) sometimes(t *testing.T, path, src string) (*Host, *absent) {
	t.Helper()
	store := new(absent)
	s := NewState(func(ctx context.Context) (_ state.Store, err error) {
		store.Store, err = state.Open(ctx, path)
		return store, err
	})
	h := NewHost(context.WithoutCancel(t.Context()), HostOptions{Build: Build{Set: w.set(), Dir: t.TempDir(), State: s}, Load: hcl.Options{Getenv: secrets}})
	t.Cleanup(func() {
		h.Close()
		s.Close()
	})
	load(t, h, src)
	return h, store
}

func TestWhatACallWithAKeyCameToWaitsForAStoreThatIsAway(t *testing.T) {
	for claim, late := range map[string]bool{"it is not settled": false, "it is settled, and nobody is told": true} {
		t.Run(claim, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "state.db")
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				count := w.counting()
				h, store := w.sometimes(t, path, tool("t", keyed+`fake { do = "count" }`))
				store.away.Store(true)
				store.late.Store(late)
				began := time.Now()
				first := outcomeFor(t, h, "", "t", `{"idempotency_key":"k"}`)
				if strings.Contains(first, "isError") || time.Since(began) > time.Second {
					t.Errorf("after %v: %s", time.Since(began), first)
				}
				again := make(chan string, 1)
				go func() { again <- outcomeFor(t, h, "", "t", `{"idempotency_key":"k"}`) }()
				time.Sleep(20 * time.Second)
				if len(again) == 1 && !late {
					t.Errorf("while it is not settled another one is told %s", <-again)
				}
				store.away.Store(false)
				if got := <-again; got != first || count() != 1 {
					t.Errorf("done %d times, and told %s", count(), got)
				}
			})
		})
	}
}

func TestWhatHasBegunWithoutAnybodyBeingToldFreesItsKey(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		count := w.counting()
		h, store := w.sometimes(t, path, tool("t", keyed+`fake { do = "count" }`))
		store.lost.Store(true)
		first := outcomeFor(t, h, "", "t", `{"idempotency_key":"k"}`)
		if count() != 0 {
			t.Errorf("it was done, and told %s", first)
		}
		store.lost.Store(false)
		if got := outcomeFor(t, h, "", "t", `{"idempotency_key":"k"}`); strings.Contains(got, "isError") || count() != 1 {
			t.Errorf("done %d times, and told %s", count(), got)
		}
	})
}

func TestAServerThatStopsDoesNotWaitForAStoreThatIsAway(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		count := w.counting()
		h, store := w.sometimes(t, path, tool("t", keyed+`fake { do = "count" }`))
		store.away.Store(true)
		outcomeFor(t, h, "", "t", `{"idempotency_key":"k"}`)
		began := time.Now()
		h.Close()
		h.build.State.Close()
		if took := time.Since(began); count() != 1 || took > 2*time.Minute {
			t.Errorf("it took %v", took)
		}
	})
}
