package grant_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"hatchel/runtime/durable/grant"
	"hatchel/runtime/durable/state"
)

// interrupted is the store of a process that something happens to between two of its statements.
type interrupted struct {
	state.Store
	left  int // statements before it happens
	event func()
}

func (i *interrupted) statement() {
	if i.left--; i.left == 0 {
		i.event()
	}
}

func (i *interrupted) Record(ctx context.Context, kind, name string) (*state.Record, error) {
	i.statement()
	return i.Store.Record(ctx, kind, name)
}

func (i *interrupted) Add(ctx context.Context, r *state.Record) (*state.Record, error) {
	i.statement()
	return i.Store.Add(ctx, r)
}

func (i *interrupted) Replace(ctx context.Context, r *state.Record) (bool, error) {
	i.statement()
	return i.Store.Replace(ctx, r)
}

func (i *interrupted) Remove(ctx context.Context, r *state.Record) (bool, error) {
	i.statement()
	return i.Store.Remove(ctx, r)
}

// interleave runs a test in which an event happens before each of the first statements of a process.
func interleave(t *testing.T, test func(t *testing.T, i *interrupted, a, b *grant.Store)) {
	for left := 1; left <= 8; left++ {
		t.Run(fmt.Sprintf("before statement %d", left), func(t *testing.T) {
			inMemory(t, func(t *testing.T, store state.Store) {
				key := []byte("a key of the state block of the two")
				i := &interrupted{Store: store}
				a, b := open(t, i, grant.Options{Key: key}), open(t, store, grant.Options{Key: key})
				i.left = left
				test(t, i, a, b)
			})
		})
	}
}

func TestNoInterleavingRedeemsACodeTwice(t *testing.T) {
	interleave(t, func(t *testing.T, i *interrupted, a, b *grant.Store) {
		code, err := b.Create(t.Context(), ada())
		check(t, err)
		other := errors.New("not asked")
		i.event = func() { _, _, other = b.Redeem(t.Context(), code, accept) }
		_, token, err := a.Redeem(t.Context(), code, accept)
		if err == nil && other == nil {
			t.Fatal("the code was redeemed twice")
		}
		if other == nil && !errors.Is(err, grant.ErrReplayed) {
			t.Errorf("the second one gets %v", err)
		}
		if err == nil && errors.Is(other, grant.ErrReplayed) { // it has ended what the first one has got
			if _, _, err := a.Refresh(t.Context(), token, accept, renew); !errors.Is(err, grant.ErrInvalid) {
				t.Errorf("a refresh after the replay: %v", err)
			}
		}
	})
}

func TestNoInterleavingGivesTwoRefreshTokens(t *testing.T) {
	for _, since := range []time.Duration{0, 2 * time.Hour} { // the provider is asked after an hour
		interleave(t, func(t *testing.T, i *interrupted, a, b *grant.Store) {
			g := ada()
			g.Upstream.Renewed = g.Began.Add(-since)
			_, token := signIn(t, b, g)
			asked := 0
			renew := func(_ context.Context, g *grant.Grant) error {
				asked++
				g.Upstream.Refresh += "+"
				return nil
			}
			done := make(chan string, 1)
			i.event = func() { // it may have to wait for the first one
				go func() {
					_, next, err := b.Refresh(t.Context(), token, accept, renew)
					if err != nil {
						t.Error(err)
					}
					done <- next
				}()
				time.Sleep(time.Second)
			}
			_, next, err := a.Refresh(t.Context(), token, accept, renew)
			check(t, err)
			if i.left > 0 {
				return // there were fewer statements
			}
			if other := <-done; other != next {
				t.Errorf("the tokens are %q and %q", next, other)
			}
			if want := min(since/time.Hour, 1); asked != int(want) {
				t.Errorf("the provider was asked %d times", asked)
			}
			_, _, err = b.Refresh(t.Context(), next, accept, renew)
			check(t, err)
		})
	}
}

// TestNoInterleavingKeepsARevokedSignIn revokes a sign-in while another process uses it.
func TestNoInterleavingKeepsARevokedSignIn(t *testing.T) {
	interleave(t, func(t *testing.T, i *interrupted, a, b *grant.Store) {
		g := ada()
		g.Upstream.Renewed = g.Began.Add(-2 * time.Hour)
		g, token := signIn(t, b, g)
		revoked := false
		i.event = func() {
			found, err := b.Revoke(t.Context(), g.ID)
			check(t, err)
			revoked = found
		}
		_, next, err := a.Refresh(t.Context(), token, accept, renew)
		if err == nil {
			token = next
		} else if !errors.Is(err, grant.ErrInvalid) {
			t.Errorf("the refresh: %v", err)
		}
		if !revoked {
			return
		}
		time.Sleep(3 * time.Hour)
		for _, s := range []*grant.Store{a, b} {
			if _, _, err := s.Refresh(t.Context(), token, accept, renew); !errors.Is(err, grant.ErrInvalid) {
				t.Errorf("a refresh later: %v", err)
			}
		}
	})
}

// TestOneCallerAsksTheProviderWhateverItsClockSays refreshes a sign-in in a process while another one, whose clock
// differs, waits for the provider, and after that one has died.
func TestOneCallerAsksTheProviderWhateverItsClockSays(t *testing.T) {
	for _, differs := range []time.Duration{-50 * time.Minute, -time.Minute, 0, time.Minute} {
		for _, dies := range []bool{false, true} {
			t.Run(fmt.Sprintf("by %s, dies: %t", differs, dies), func(t *testing.T) {
				inMemory(t, func(t *testing.T, store state.Store) {
					key := []byte("a key of the state block of the two")
					m := &mortal{Store: store, left: 1000}
					a := open(t, m, grant.Options{Key: key})
					b := open(t, store, grant.Options{
						Key: key, Now: func() time.Time { return time.Now().Add(differs) },
					})
					g := ada()
					g.Upstream.Renewed = g.Began.Add(-3 * time.Hour)
					_, token := signIn(t, a, g)
					var asked atomic.Int64
					slow := func(context.Context, *grant.Grant) error {
						asked.Add(1)
						time.Sleep(5 * time.Second)
						return nil
					}
					var running sync.WaitGroup
					defer running.Wait()
					running.Go(func() { a.Refresh(t.Context(), token, accept, slow) })
					time.Sleep(time.Second)
					if dies {
						m.mu.Lock()
						m.left = 0
						m.mu.Unlock()
					}
					began := time.Now()
					_, _, err := b.Refresh(t.Context(), token, accept, slow)
					check(t, err)
					if want := map[bool]int64{false: 1, true: 2}[dies]; asked.Load() != want || time.Since(began) > 31*time.Second {
						t.Errorf("the provider was asked %d times, after %s", asked.Load(), time.Since(began))
					}
				})
			})
		}
	}
}
