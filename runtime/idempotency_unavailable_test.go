package runtime

import (
	"context"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"hatchel/runtime/durable/state"
)

// flakyStore is a store that is unavailable while the test says so.
type flakyStore struct {
	state.Store
	unavailable   atomic.Bool
	silentReplace atomic.Bool // while it is unavailable, Replace replaces and fails
	silentAdd     atomic.Bool // Add adds and fails
}

func (a *flakyStore) Add(ctx context.Context, r *state.Record) (*state.Record, error) {
	begun := *r
	if !a.silentAdd.Load() {
		return a.Store.Add(ctx, r)
	}
	if _, err := a.Store.Add(ctx, &begun); err != nil {
		return nil, err
	}
	return nil, state.ErrUnavailable
}

func (a *flakyStore) Replace(ctx context.Context, r *state.Record) (bool, error) {
	if !a.unavailable.Load() {
		return a.Store.Replace(ctx, r)
	}
	if replaced := *r; a.silentReplace.Load() {
		a.Store.Replace(ctx, &replaced)
	}
	return false, state.ErrUnavailable
}

func (a *flakyStore) Reserve(ctx context.Context, name string, of state.Rate, maxWait time.Duration) (time.Duration, bool, error) {
	if a.unavailable.Load() {
		return 0, false, state.ErrUnavailable
	}
	return a.Store.Reserve(ctx, name, of, maxWait)
}

// withStoreAround makes a host use store, which wraps the store in a file; wrapped is where it keeps that.
func withStoreAround(t *testing.T, path string, store state.Store, wrapped *state.Store) func(*HostOptions) {
	return withStore(t, func(ctx context.Context) (_ state.Store, err error) {
		*wrapped, err = state.Open(ctx, path)
		return store, err
	})
}

// newFlakyHost returns a Host with a flakyStore in a file.
func newFlakyHost(t *testing.T, path, src string, option func(*HostOptions)) (*Host, *flakyStore) {
	t.Helper()
	store := new(flakyStore)
	return newHost(t, src, option, withStoreAround(t, path, store, &store.Store)), store
}

// newKeyedHost returns a Host with a flakyStore in a file, whose tool t counts its calls by keys.
func newKeyedHost(t *testing.T, path string) (h *Host, store *flakyStore, count func() int) {
	t.Helper()
	w := newFakeBackend()
	count = w.addCounter()
	h, store = newFlakyHost(t, path, tool("t", keyed+`fake { do = "count" }`), w.use)
	return h, store, count
}

func TestWhatACallWithAKeyCameToWaitsForAStoreThatIsAway(t *testing.T) {
	for claim, late := range map[string]bool{"the outcome is not stored": false, "the outcome is stored, and the store fails": true} {
		t.Run(claim, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "state.db")
			synctest.Test(t, func(t *testing.T) {
				h, store, count := newKeyedHost(t, path)
				store.unavailable.Store(true)
				store.silentReplace.Store(late)
				began := time.Now()
				first := callAs(t, h, "", "t", `{"idempotency_key":"k"}`)
				if strings.Contains(first, "isError") || time.Since(began) > time.Second {
					t.Errorf("after %v: %s", time.Since(began), first)
				}
				again := make(chan string, 1)
				go func() { again <- callAs(t, h, "", "t", `{"idempotency_key":"k"}`) }()
				time.Sleep(20 * time.Second)
				if len(again) == 1 && !late {
					t.Errorf("before the outcome is stored another call returns %s", <-again)
				}
				store.unavailable.Store(false)
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
		h, store, count := newKeyedHost(t, path)
		store.silentAdd.Store(true)
		first := callAs(t, h, "", "t", `{"idempotency_key":"k"}`)
		if count() != 0 {
			t.Errorf("it was done, and told %s", first)
		}
		store.silentAdd.Store(false)
		if got := callAs(t, h, "", "t", `{"idempotency_key":"k"}`); strings.Contains(got, "isError") || count() != 1 {
			t.Errorf("done %d times, and told %s", count(), got)
		}
	})
}

func TestAServerThatStopsDoesNotWaitForAStoreThatIsAway(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	synctest.Test(t, func(t *testing.T) {
		h, store, count := newKeyedHost(t, path)
		store.unavailable.Store(true)
		callAs(t, h, "", "t", `{"idempotency_key":"k"}`)
		began := time.Now()
		h.Close()
		h.build.State.Close()
		if took := time.Since(began); count() != 1 || took > 2*time.Minute {
			t.Errorf("it took %v", took)
		}
	})
}
