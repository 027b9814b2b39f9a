package grant_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"hatchel/runtime/durable/grant"
	"hatchel/runtime/durable/state"
)

// mortal is the store of a process that dies at one of its changes: before it, or after it took effect. From then on
// nothing reaches the store any more.
type mortal struct {
	state.Store

	mu    sync.Mutex
	left  int // changes until it dies; guarded by mu
	after bool
}

func (m *mortal) change(do func() error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.left--
	switch {
	case m.left < 0 || m.left == 0 && !m.after:
		return state.ErrUnavailable
	case m.left == 0:
		do()
		return state.ErrUnavailable
	}
	return do()
}

func (m *mortal) Add(ctx context.Context, r *state.Record) (existing *state.Record, err error) {
	err = m.change(func() (err error) { existing, err = m.Store.Add(ctx, r); return err })
	return existing, err
}

func (m *mortal) Replace(ctx context.Context, r *state.Record) (replaced bool, err error) {
	err = m.change(func() (err error) { replaced, err = m.Store.Replace(ctx, r); return err })
	return replaced && err == nil, err
}

func (m *mortal) Remove(ctx context.Context, r *state.Record) (removed bool, err error) {
	err = m.change(func() (err error) { removed, err = m.Store.Remove(ctx, r); return err })
	return removed && err == nil, err
}

// deaths runs a test for a process that dies at each of its changes, and one that lives. The dead process and another
// one share a store.
func deaths(t *testing.T, test func(t *testing.T, dying, living *grant.Store)) {
	const never = 1000
	for _, left := range []int{1, 2, 3, 4, never} {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprintf("at change %d, after it %t", left, after), func(t *testing.T) {
				inMemory(t, func(t *testing.T, store state.Store) {
					key := []byte("a key of the state block of the two")
					living := open(t, store, grant.Options{Key: key})
					ctx, cancel := context.WithCancel(t.Context())
					var running sync.WaitGroup
					defer running.Wait()
					defer cancel()
					running.Go(func() { living.Run(ctx) })
					m := &mortal{Store: store, left: left, after: after}
					dying := open(t, m, grant.Options{Key: key})
					test(t, dying, living)
				})
			})
		}
	}
}

// notify has a process know what another one has announced before it died.
func notify(s *grant.Store) {
	s.Notify("", "")
	time.Sleep(time.Second)
}

func TestACodeIsRedeemedOnceAlsoByProcessesThatDie(t *testing.T) {
	deaths(t, func(t *testing.T, dying, living *grant.Store) {
		code, err := living.Create(t.Context(), ada())
		check(t, err)
		_, _, first := dying.Redeem(t.Context(), code, accept)
		notify(living)
		_, token, second := living.Redeem(t.Context(), code, accept)
		if first == nil && second == nil {
			t.Fatal("the code was redeemed twice")
		}
		if second != nil && !errors.Is(second, grant.ErrReplayed) {
			t.Errorf("the second time: %v", second)
		}
		if second == nil {
			_, _, err = living.Refresh(t.Context(), token, accept, renew)
			check(t, err)
		}
	})
}

func TestARefreshIsTriedAgainAfterAProcessDied(t *testing.T) {
	for _, since := range []time.Duration{0, 2 * time.Hour} { // the provider is asked after an hour
		deaths(t, func(t *testing.T, dying, living *grant.Store) {
			g := ada()
			g.Upstream.Renewed = g.Began.Add(-since)
			_, token := signIn(t, living, g)
			_, next, err := dying.Refresh(t.Context(), token, accept, renew)
			_, again, second := living.Refresh(t.Context(), token, accept, renew)
			check(t, second)
			if err == nil && next != again {
				t.Errorf("the tokens are %q and %q", next, again)
			}
			time.Sleep(10 * time.Minute)
			_, _, err = living.Refresh(t.Context(), again, accept, renew)
			check(t, err)
		})
	}
}

func TestAReplayEndsASignInAlsoWhenTheProcessDies(t *testing.T) {
	deaths(t, func(t *testing.T, dying, living *grant.Store) {
		g, first := signIn(t, living, ada())
		_, second, err := living.Refresh(t.Context(), first, accept, renew)
		check(t, err)
		time.Sleep(3 * time.Minute)
		_, _, replay := dying.Refresh(t.Context(), first, accept, renew)
		notify(living)
		if errors.Is(replay, grant.ErrReplayed) && !living.Revoked(g.ID) {
			t.Error("the access tokens are valid")
		}
		if living.Revoked(g.ID) { // it was begun, and is completed without another use
			time.Sleep(3 * time.Hour)
		} else if _, _, err := living.Refresh(t.Context(), first, accept, renew); !errors.Is(err, grant.ErrReplayed) {
			t.Errorf("a second replay: %v", err)
		}
		if _, _, err := living.Refresh(t.Context(), second, accept, renew); !errors.Is(err, grant.ErrInvalid) {
			t.Errorf("the token after it: %v", err)
		}
	})
}

func TestARevocationThatWasBegunIsCompleted(t *testing.T) {
	deaths(t, func(t *testing.T, dying, living *grant.Store) {
		g, token := signIn(t, living, ada())
		_, err := dying.Revoke(t.Context(), g.ID)
		notify(living)
		revoked := living.Revoked(g.ID)
		if err == nil && !revoked {
			t.Error("it is not known")
		}
		time.Sleep(3 * time.Hour) // it is not remembered any more
		if _, _, err := living.Refresh(t.Context(), token, accept, renew); revoked != (err != nil) {
			t.Errorf("a refresh: %v", err)
		}
		if found, err := living.Find(t.Context(), g.ID); err != nil || revoked != (found == nil) {
			t.Errorf("found %v %v", found, err)
		}
	})
}

func TestAGrantIsStoredBeforeItsCodeIsKnown(t *testing.T) {
	deaths(t, func(t *testing.T, dying, living *grant.Store) {
		g := ada()
		g.ID = grant.NewID()
		code, err := dying.Create(t.Context(), g)
		if err != nil {
			return
		}
		redeemed, _, err := living.Redeem(t.Context(), code, accept)
		check(t, err)
		if redeemed.ID != g.ID {
			t.Errorf("the ID is %q", redeemed.ID)
		}
	})
}
