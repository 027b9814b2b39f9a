package grant_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"hatchel/runtime/durable/grant"
	"hatchel/runtime/durable/state"
)

// publishes reports whether a process publishes a key.
func publishes(s *grant.Store, id string) bool {
	for _, k := range s.Keys() {
		if k.ID == id {
			return true
		}
	}
	return false
}

// TestKeysRotate has processes with clocks of one store sign and verify for 65 days.
func TestKeysRotate(t *testing.T) {
	inMemory(t, func(t *testing.T, store state.Store) {
		all := []*grant.Store{open(t, store, grant.Options{}), open(t, store, grant.Options{}), open(t, store, grant.Options{})}
		type change struct{ published, signs, withdrawn time.Time }
		seen := map[string]*change{}
		now := time.Now()
		for end := now.Add(65 * 24 * time.Hour); now.Before(end); now = time.Now() {
			for _, s := range all {
				_, err := s.PublicKey(t.Context(), "unknown") // reads the keys, as Run does each minute
				check(t, err)
			}
			for n, s := range all {
				id, key := s.SigningKey()
				sum := sha256.Sum256([]byte(id))
				signature, err := ecdsa.SignASN1(rand.Reader, key, sum[:])
				check(t, err)
				public, err := all[(n+1)%3].PublicKey(t.Context(), id)
				if err != nil || public == nil || !ecdsa.VerifyASN1(public, sum[:], signature) {
					t.Fatalf("%s: a process does not verify what process %d signs: %v", now, n, err)
				}
				for _, k := range s.Keys() {
					if seen[k.ID] == nil {
						seen[k.ID] = &change{published: now}
					}
				}
				if c := seen[id]; c.signs.IsZero() {
					c.signs = now
				}
				for id, c := range seen {
					if c.withdrawn.IsZero() && !publishes(s, id) {
						c.withdrawn = now
					}
				}
			}
			time.Sleep(time.Hour)
		}
		if len(seen) != 3 {
			t.Errorf("%d keys were used", len(seen))
		}
		first := true
		for id, c := range seen {
			lead := c.signs.Sub(c.published)
			if lead == 0 && first {
				first = false // the first key of all
			} else if lead < 2*time.Hour || lead > 4*time.Hour {
				t.Errorf("%s was published %s before it signed", id, lead)
			}
			for _, next := range seen {
				month := next.signs.Sub(c.signs)
				d := c.withdrawn.Sub(next.signs)
				if month > 0 && month < 31*24*time.Hour && (d < 130*time.Minute || d > 5*time.Hour) {
					t.Errorf("%s was withdrawn %s after the next one signed", id, d)
				}
			}
		}
		for _, r := range records(t, store, "oauth_key") {
			if d := r.Expires.Sub(r.Due); d != 62*24*time.Hour {
				t.Errorf("a key expires after %s", d)
			}
		}
	})
}

func TestAProcessThatWasStoppedForLongMakesANewKey(t *testing.T) {
	for days, signsAtOnce := range map[int]bool{31: false, 61: false, 63: true} {
		inMemory(t, func(t *testing.T, store state.Store) {
			before, _ := open(t, store, grant.Options{}).SigningKey()
			time.Sleep(time.Duration(days) * 24 * time.Hour)
			s := open(t, store, grant.Options{})
			id, _ := s.SigningKey()
			if (id != before) != signsAtOnce {
				t.Errorf("after %d days another key signs at once: %t", days, id != before)
			}
			time.Sleep(2 * time.Hour)
			if id, _ = s.SigningKey(); id == before {
				t.Errorf("after %d days and two hours the same key signs", days)
			}
		})
	}
}

func TestUnknownKeysAreReadOnceASecond(t *testing.T) {
	inMemory(t, func(t *testing.T, store state.Store) {
		counted := &counting{Store: store}
		s := open(t, counted, grant.Options{})
		before := counted.lists
		for range 1000 {
			if key, err := s.PublicKey(t.Context(), rand.Text()); key != nil || err != nil {
				t.Fatal(key, err)
			}
			time.Sleep(time.Millisecond)
		}
		if n := counted.lists - before; n > 2 {
			t.Errorf("the keys were read %d times", n)
		}
	})
}

// remote is a store that is reached over a network, in which no key can be added while it is full.
type remote struct {
	state.Store
	full atomic.Bool
}

func (r *remote) Ping(context.Context) error { return nil }

func (r *remote) Versions(context.Context, string, []string) (map[string]int, error) { return nil, nil }

func (r *remote) Add(ctx context.Context, added *state.Record) (*state.Record, error) {
	if r.full.Load() && added.Kind == "oauth_key" {
		return nil, state.ErrFull
	}
	return r.Store.Add(ctx, added)
}

// TestRevocationsAreReadWhileNoKeyIsMade ends a sign-in of which a process learns from the store alone, while the next
// key of that process does not fit into it.
func TestRevocationsAreReadWhileNoKeyIsMade(t *testing.T) {
	inMemory(t, func(t *testing.T, store state.Store) {
		r := &remote{Store: store}
		var later atomic.Int64 // than the clock of the store
		now := func() time.Time { return time.Now().Add(time.Duration(later.Load())) }
		a, b := open(t, r, grant.Options{Now: now}), open(t, store, grant.Options{Now: now})
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		defer running.Wait()
		defer cancel()
		running.Go(func() { a.Run(ctx) })
		time.Sleep(time.Second)
		r.full.Store(true)
		later.Store(int64(30*24*time.Hour - time.Hour)) // when the next key is made
		time.Sleep(2 * time.Second)
		g := ada()
		g.Began, g.Ends = now(), now().Add(time.Hour)
		check(t, b.Start(t.Context(), g))
		if found, err := b.Revoke(t.Context(), g.ID); !found || err != nil {
			t.Fatal(found, err)
		}
		time.Sleep(2 * time.Second)
		if !a.Revoked(g.ID) {
			t.Error("the process does not know the revocation")
		}
		r.full.Store(false)
		time.Sleep(2 * time.Second)
		if len(a.Keys()) != 2 {
			t.Error("the next key is not made when there is room")
		}
	})
}

// TestAFullStoreHasRoomForKeysAndRevocations starts a server, and ends a sign-in, where other records use all of the
// quota.
func TestAFullStoreHasRoomForKeysAndRevocations(t *testing.T) {
	inMemory(t, func(t *testing.T, store state.Store) {
		s := open(t, store, grant.Options{})
		g, token := signIn(t, s, ada())
		store.(interface{ SetQuota(int64) }).SetQuota(128 << 10)
		for n, full := 0, error(nil); full == nil && n < 1000; n++ {
			_, full = store.Add(t.Context(), &state.Record{
				Kind: "task", Name: fmt.Sprint(n), Expires: time.Now().Add(100 * 24 * time.Hour), Body: make([]byte, 1<<10),
			})
		}
		_, _, err := s.Refresh(t.Context(), token, accept, renew)
		check(t, err)
		if found, err := s.Revoke(t.Context(), g.ID); !found || err != nil {
			t.Error("the revocation: ", found, err)
		}
		time.Sleep(63 * 24 * time.Hour)
		open(t, store, grant.Options{})
	})
}
