package runtime

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// acquired is the result of shared.acquire.
type acquired struct {
	thing   int
	release func() error
	err     error
}

// acquireSoon acquires a thing in the background.
func acquireSoon(
	ctx context.Context, s *shared[int], key string, open func() (int, error), closeThing func(int) error,
) chan acquired {
	out := make(chan acquired, 1)
	go func() {
		thing, release, err := s.acquire(ctx, key, open, closeThing)
		out <- acquired{thing, release, err}
	}()
	return out
}

// received returns what a channel has now.
func received(t *testing.T, c chan acquired) acquired {
	t.Helper()
	synctest.Wait()
	select {
	case a := <-c:
		return a
	default:
		t.Error("acquire waits")
		return acquired{}
	}
}

func opens(thing int) func() (int, error) { return func() (int, error) { return thing, nil } }

func closes(int) error { return nil }

func TestSlowOpeningDelaysOnlyItsOwnKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s shared[int]
		dialed := make(chan struct{})
		slow := acquireSoon(t.Context(), &s, "slow", func() (int, error) { <-dialed; return 1, nil }, closes)
		synctest.Wait()
		if a := received(t, acquireSoon(t.Context(), &s, "other", opens(2), closes)); a.thing != 2 {
			t.Errorf("got %+v", a)
		}
		second := acquireSoon(t.Context(), &s, "slow", opens(3), closes)
		synctest.Wait()
		close(dialed)
		if first, joined := received(t, slow), received(t, second); first.thing != 1 || joined.thing != 1 {
			t.Errorf("two generations have %d and %d", first.thing, joined.thing)
		}
	})
}

func TestFailedOpeningIsTriedAgainByTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s shared[int]
		dialed := make(chan struct{})
		first := acquireSoon(t.Context(), &s, "k", func() (int, error) { <-dialed; return 0, errors.New("refused") }, closes)
		synctest.Wait()
		second := acquireSoon(t.Context(), &s, "k", opens(2), closes)
		synctest.Wait()
		close(dialed)
		if a := received(t, first); a.err == nil {
			t.Error("the first one got a thing")
		}
		if a := received(t, second); a.thing != 2 || a.err != nil {
			t.Errorf("the second one got %+v", a)
		}
	})
}

// A thing that does not close must not keep a load, which holds the lock of the host, waiting for ever.
func TestAcquiringWhatIsBeingClosedEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s shared[int]
		closed := make(chan struct{})
		a := received(t, acquireSoon(t.Context(), &s, "k", opens(1), func(int) error { <-closed; return nil }))
		go func() { _ = a.release() }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		waiting := acquireSoon(ctx, &s, "k", opens(2), closes)
		time.Sleep(2 * time.Minute)
		if a := received(t, waiting); !errors.Is(a.err, context.DeadlineExceeded) {
			t.Errorf("got %+v", a)
		}
		next := acquireSoon(t.Context(), &s, "k", opens(3), closes)
		synctest.Wait()
		if len(next) > 0 {
			t.Error("it was opened again before it was closed")
		}
		close(closed)
		if a := received(t, next); a.thing != 3 {
			t.Errorf("got %+v", a)
		}
	})
}
