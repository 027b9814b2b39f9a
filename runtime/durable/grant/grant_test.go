package grant_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"hatchel/runtime/durable/grant"
	"hatchel/runtime/durable/state"
)

// suite runs the tests of this package on one kind of store. In one test every call of open opens the same store.
func suite(t *testing.T, open func(t *testing.T) func() state.Store) {
	for claim, test := range map[string]func(*testing.T, func() state.Store){
		"a code is redeemed once":                    testCode,
		"parallel refreshes get the same token":      testParallelRefresh,
		"one of concurrent callers redeems a code":   testConcurrentRedemption,
		"one caller at a time asks the provider":     testRenewal,
		"a revocation is known in every process":     testRevocation,
		"processes that start together have one key": testFirstKey,
	} {
		t.Run(claim, func(t *testing.T) { test(t, open(t)) })
	}
}

func TestSQLite(t *testing.T) {
	suite(t, func(t *testing.T) func() state.Store {
		path := filepath.Join(t.TempDir(), "state.db")
		return func() state.Store {
			s, err := state.Open(context.WithoutCancel(t.Context()), path)
			check(t, err)
			t.Cleanup(func() { s.Close() })
			return s
		}
	})
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// process opens the sign-ins of a store as a process does.
func process(t testing.TB, store state.Store, o grant.Options) *grant.Store {
	t.Helper()
	if o.Key == nil {
		o.Key = []byte("key of the state block, 32 bytes")
	}
	s, err := grant.Open(t.Context(), store, o)
	check(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { s.Run(ctx) })
	running.Go(func() { store.Watch(ctx, s.Notify, func(error) {}) })
	t.Cleanup(func() { cancel(); running.Wait() })
	return s
}

// ada is a sign-in of ada.
func ada() *grant.Grant {
	now := time.Now()
	return &grant.Grant{
		Client: "https://client.example/app", Subject: "ada", Key: "https://provider.example", Groups: []string{"finance"},
		Began: now, Ends: now.Add(720 * time.Hour),
		Upstream: &grant.Upstream{Access: "upstream access", AccessEnds: now.Add(time.Hour), Refresh: "first", Renewed: now},
	}
}

func accept(*grant.Grant) error { return nil }

func renew(context.Context, *grant.Grant) error { return nil }

// signIn returns a sign-in and its first refresh token.
func signIn(t testing.TB, s *grant.Store, g *grant.Grant) (*grant.Grant, string) {
	t.Helper()
	code, err := s.Create(t.Context(), g)
	check(t, err)
	g, token, err := s.Redeem(t.Context(), code, accept)
	check(t, err)
	return g, token
}

func testCode(t *testing.T, open func() state.Store) {
	a, b := process(t, open(), grant.Options{}), process(t, open(), grant.Options{})
	code, err := a.Create(t.Context(), ada())
	check(t, err)
	refused := errors.New("the verifier does not match")
	if _, _, err := b.Redeem(t.Context(), code, func(*grant.Grant) error { return refused }); !errors.Is(err, refused) {
		t.Fatal(err)
	}
	g, token, err := b.Redeem(t.Context(), code, func(g *grant.Grant) error { g.Scopes = []string{"pay"}; return nil })
	check(t, err)
	if g.Subject != "ada" || g.Upstream.Refresh != "first" || token == "" {
		t.Fatalf("the grant is %+v", g)
	}
	if found, err := a.Find(t.Context(), g.ID); err != nil || found == nil || len(found.Scopes) != 1 {
		t.Fatalf("found %+v %v", found, err)
	}
	if _, _, err := a.Redeem(t.Context(), code, accept); !errors.Is(err, grant.ErrReplayed) {
		t.Fatalf("a second use: %v", err)
	}
	if _, _, err := b.Refresh(t.Context(), token, accept, renew); !errors.Is(err, grant.ErrInvalid) {
		t.Fatalf("a refresh after the replay: %v", err)
	}
	for _, code := range []string{"", ".", code + "A", code[1:], strings.ToLower(code), g.ID, token} {
		if _, _, err := a.Redeem(t.Context(), code, accept); !errors.Is(err, grant.ErrInvalid) {
			t.Errorf("%q: %v", code, err)
		}
	}
}

func testConcurrentRedemption(t *testing.T, open func() state.Store) {
	all := []*grant.Store{process(t, open(), grant.Options{}), process(t, open(), grant.Options{})}
	code, err := all[0].Create(t.Context(), ada())
	check(t, err)
	won := make(chan string, 32)
	var running sync.WaitGroup
	for n := range cap(won) {
		running.Go(func() {
			_, token, err := all[n%2].Redeem(t.Context(), code, accept)
			if err == nil {
				won <- token
			} else if !errors.Is(err, grant.ErrReplayed) && !errors.Is(err, grant.ErrInvalid) {
				t.Error(err)
			}
		})
	}
	running.Wait()
	if len(won) != 1 {
		t.Fatalf("%d callers have redeemed the code", len(won))
	}
	if _, _, err := all[0].Refresh(t.Context(), <-won, accept, renew); !errors.Is(err, grant.ErrInvalid) {
		t.Errorf("after a replayed code: %v", err)
	}
}

func testParallelRefresh(t *testing.T, open func() state.Store) {
	all := []*grant.Store{process(t, open(), grant.Options{}), process(t, open(), grant.Options{}), process(t, open(), grant.Options{})}
	_, token := signIn(t, all[0], ada())
	for range 3 {
		next := make([]string, 32)
		var running sync.WaitGroup
		for n := range next {
			running.Go(func() {
				var err error
				if _, next[n], err = all[n%3].Refresh(t.Context(), token, accept, renew); err != nil {
					t.Error(err)
				}
			})
		}
		running.Wait()
		for _, other := range next {
			if other != next[0] || other == token {
				t.Fatalf("got %q and %q for %q", other, next[0], token)
			}
		}
		token = next[0]
	}
}

func testRenewal(t *testing.T, open func() state.Store) {
	a, b := process(t, open(), grant.Options{}), process(t, open(), grant.Options{})
	g := ada()
	g.Upstream.Renewed = g.Began.Add(-2 * time.Hour)
	_, token := signIn(t, a, g)
	var mu sync.Mutex
	asked := 0
	renew := func(_ context.Context, g *grant.Grant) error {
		mu.Lock()
		defer mu.Unlock()
		asked++
		g.Upstream.Refresh, g.Groups = "second", []string{"board"}
		return nil
	}
	var running sync.WaitGroup
	for n := range 8 {
		running.Go(func() {
			s := []*grant.Store{a, b}[n%2]
			if g, _, err := s.Refresh(t.Context(), token, accept, renew); err != nil || g.Groups[0] != "board" {
				t.Errorf("got %+v %v", g, err)
			}
		})
	}
	running.Wait()
	if asked != 1 {
		t.Errorf("the provider was asked %d times", asked)
	}
}

func testRevocation(t *testing.T, open func() state.Store) {
	told := make(chan struct{}, 9)
	a := process(t, open(), grant.Options{})
	b := process(t, open(), grant.Options{Revoked: func() { told <- struct{}{} }})
	g, token := signIn(t, a, ada())
	if found, err := a.Revoke(t.Context(), g.ID); !found || err != nil || !a.Revoked(g.ID) {
		t.Fatalf("%t %v", found, err)
	}
	select {
	case <-told:
	case <-time.After(time.Minute):
		t.Fatal("the other process does not know it")
	}
	if !b.Revoked(g.ID) || !process(t, open(), grant.Options{}).Revoked(g.ID) {
		t.Error("it is not revoked in another process")
	}
	if _, _, err := b.Refresh(t.Context(), token, accept, renew); !errors.Is(err, grant.ErrInvalid) {
		t.Error(err)
	}
}

func testFirstKey(t *testing.T, open func() state.Store) {
	ids := make([]string, 4)
	var running sync.WaitGroup
	for n := range ids {
		store := open()
		running.Go(func() {
			s, err := grant.Open(t.Context(), store, grant.Options{})
			if err != nil {
				t.Error(err)
				return
			}
			ids[n], _ = s.SigningKey()
		})
	}
	running.Wait()
	for _, id := range ids {
		if id == "" || id != ids[0] {
			t.Fatalf("the keys are %q", ids)
		}
	}
}

// inMemory runs a test with the clock of synctest and an empty store of one process.
func inMemory(t *testing.T, test func(t *testing.T, store state.Store)) {
	synctest.Test(t, func(t *testing.T) {
		store, err := state.Open(t.Context(), "")
		check(t, err)
		defer store.Close()
		test(t, store)
	})
}

func open(t *testing.T, store state.Store, o grant.Options) *grant.Store {
	t.Helper()
	s, err := grant.Open(t.Context(), store, o)
	check(t, err)
	return s
}

func TestRefreshTokenIsReplayedAfterTwoMinutes(t *testing.T) {
	inMemory(t, func(t *testing.T, store state.Store) {
		s := open(t, store, grant.Options{})
		g, first := signIn(t, s, ada())
		_, second, err := s.Refresh(t.Context(), first, accept, renew)
		check(t, err)
		time.Sleep(2 * time.Minute)
		if _, again, err := s.Refresh(t.Context(), first, accept, renew); err != nil || again != second {
			t.Fatalf("after two minutes: %q %v", again, err)
		}
		time.Sleep(time.Second)
		if _, _, err := s.Refresh(t.Context(), first, accept, renew); !errors.Is(err, grant.ErrReplayed) {
			t.Fatalf("later: %v", err)
		}
		if !s.Revoked(g.ID) {
			t.Error("its access tokens are valid")
		}
		if _, _, err := s.Refresh(t.Context(), second, accept, renew); !errors.Is(err, grant.ErrInvalid) {
			t.Errorf("the next token: %v", err)
		}
	})
}

// counting counts what is read.
type counting struct {
	state.Store
	lists int
}

func (c *counting) List(ctx context.Context, q state.Query) ([]*state.Record, error) {
	c.lists++
	return c.Store.List(ctx, q)
}
