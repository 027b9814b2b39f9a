package idempotency

import (
	"context"
	"errors"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"hatchel/runtime/durable/state"
)

// lateStore becomes unavailable after it has replaced a record.
type lateStore struct {
	state.Store
	away atomic.Bool
}

func (s *lateStore) Replace(ctx context.Context, r *state.Record) (bool, error) {
	replaced, err := s.Store.Replace(ctx, r)
	if s.away.Load() {
		return false, state.ErrUnavailable
	}
	return replaced, err
}

// claimer makes claims of one process.
func claimer(t *testing.T, path string, ttl time.Duration) (newClaim func() *Claim, store *lateStore) {
	opened, err := state.Open(context.WithoutCancel(t.Context()), path)
	if err != nil {
		t.Fatal(err)
	}
	store = &lateStore{Store: opened}
	process := state.NewProcess(t.Context(), func(context.Context) (state.Store, error) { return store, nil })
	t.Cleanup(func() {
		process.Close()
		opened.Close()
	})
	lease := NewLease(process)
	return func() *Claim { return New(lease, "key", "these", ttl) }, store
}

func TestLostResumeIsPausedAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	synctest.Test(t, func(t *testing.T) {
		ctx := context.WithoutCancel(t.Context())
		newClaim, store := claimer(t, path, time.Hour)
		first := newClaim()
		if existing, err := first.Acquire(ctx, "", time.Minute); existing != nil || err != nil {
			t.Fatal(existing, err)
		}
		paused := first.Name()
		if err := first.Finish(ctx, Paused); err != nil {
			t.Fatal(err)
		}
		store.away.Store(true)
		if _, err := newClaim().Acquire(ctx, paused, time.Minute); !errors.Is(err, state.ErrUnavailable) {
			t.Fatalf("error %v", err)
		}
		store.away.Store(false)
		time.Sleep(3 * time.Second)
		if existing, err := newClaim().Acquire(ctx, paused, time.Minute); existing != nil || err != nil {
			t.Errorf("existing %+v, error %v", existing, err)
		}
	})
}

func TestCallResumesWithTheKeyOfADeadProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	synctest.Test(t, func(t *testing.T) {
		ctx := context.WithoutCancel(t.Context())
		newDead, store := claimer(t, path, time.Hour)
		dead := newDead()
		if _, err := dead.Acquire(ctx, "", time.Minute); err != nil {
			t.Fatal(err)
		}
		newClaim, _ := claimer(t, path, time.Hour)
		if existing, err := newClaim().Acquire(ctx, dead.Name(), time.Minute); existing == nil || err != nil {
			t.Errorf("a living process has lost its key: %v", err)
		}
		store.Close() // its process cannot say any more that it lives
		time.Sleep(state.OwnerTTL)
		if existing, err := newClaim().Acquire(ctx, dead.Name(), time.Minute); existing != nil || err != nil {
			t.Errorf("existing %+v, error %v", existing, err)
		}
	})
}

func TestOnlyTheHolderFinishes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	synctest.Test(t, func(t *testing.T) {
		ctx := context.WithoutCancel(t.Context())
		var claims []*Claim
		for range 3 {
			newClaim, _ := claimer(t, path, time.Minute)
			claims = append(claims, newClaim())
		}
		first, second, third := claims[0], claims[1], claims[2]
		acquires := func(c *Claim, paused string) bool {
			t.Helper()
			existing, err := c.Acquire(ctx, paused, time.Minute)
			if err != nil || c.Held() != (existing == nil) {
				t.Errorf("existing %+v, error %v", existing, err)
			}
			return c.Held()
		}
		if !acquires(first, "") || acquires(second, "") || acquires(second, first.Name()) {
			t.Error("another claim than the first has the key")
		}
		paused := *first.hold.Record
		if err := first.Finish(ctx, Paused); err != nil {
			t.Error(err)
		}
		if acquires(third, "another") || !acquires(second, paused.Name) || acquires(third, paused.Name) {
			t.Error("another claim than the second has resumed")
		}
		first.held = true // as a claim that is told late that it has lost the key
		if err := first.Finish(ctx, Done); !errors.Is(err, ErrGone) {
			t.Errorf("the first finished: %v", err)
		}
		if err := second.Finish(ctx, Done); err != nil {
			t.Error(err)
		}
		if row, err := third.Find(ctx); err != nil || row == nil || row.Name != paused.Name {
			t.Errorf("found %+v, error %v", row, err)
		}
		time.Sleep(time.Hour) // longer than the outcome is kept
		if !acquires(third, "") {
			t.Error("the key is not free")
		}
		if err := second.finishIfStarted(ctx); !errors.Is(err, ErrGone) {
			t.Errorf("the second finished the record of the third: %v", err)
		}
		if err := third.Finish(ctx, Done); err != nil {
			t.Error(err)
		}
	})
}
