package grant_test

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

	"hatchel/runtime/durable/grant"
	"hatchel/runtime/durable/state"
)

// startMany stores sign-ins of two people with two clients, which began a second after each other.
func startMany(t *testing.T, s *grant.Store, n int) {
	t.Helper()
	began := time.Now().Add(-time.Hour)
	for i := range n {
		g := &grant.Grant{
			ID: fmt.Sprintf("grant%04d", i), Subject: []string{"ada", "bob"}[i%2], Key: "https://provider.example",
			Client: "https://client.example/app", ClientName: "Client", ClientKind: grant.Document,
			Began: began.Add(time.Duration(i) * time.Second), Ends: began.Add(24 * time.Hour),
		}
		if i%10 == 0 {
			g.Client, g.ClientName, g.ClientKind = "sealed text", "Cursor", grant.Registered
		}
		check(t, s.Start(t.Context(), g))
	}
}

func newStore(t *testing.T) state.Store {
	t.Helper()
	store, err := state.Open(context.WithoutCancel(t.Context()), filepath.Join(t.TempDir(), "state.db"))
	check(t, err)
	t.Cleanup(func() { store.Close() })
	return store
}

func TestPagesOfSignInsHaveEachOnceTheLatestFirst(t *testing.T) {
	store := newStore(t)
	s := process(t, store, grant.Options{})
	startMany(t, s, 180)
	for _, c := range []struct {
		q    grant.Query
		want int
	}{
		{grant.Query{}, 180},
		{grant.Query{Owner: "https://provider.example\nada"}, 90},
		{grant.Query{Filter: grant.Filter{Subject: "bob"}}, 90},
		{grant.Query{Filter: grant.Filter{Subject: "b*"}}, 90},
		{grant.Query{Filter: grant.Filter{Subject: "bo"}}, 0},
		{grant.Query{Filter: grant.Filter{Client: "client.example"}}, 162},
		{grant.Query{Filter: grant.Filter{Client: "https://client.example/app"}}, 162},
		{grant.Query{Filter: grant.Filter{Client: "Cursor", Subject: "ada"}}, 18},
		{grant.Query{Filter: grant.Filter{Client: "Cursor", Subject: "bob"}}, 0},
	} {
		for _, limit := range []int{1, 7, 90, 200} {
			c.q.Limit, c.q.After = limit, ""
			var ids []string
			for {
				page, next, err := s.List(t.Context(), c.q)
				check(t, err)
				for _, found := range page {
					ids = append(ids, found.ID)
				}
				if len(page) > limit || next != "" && len(page) < limit {
					t.Fatalf("%+v: a page of %d", c.q, len(page))
				}
				if c.q.After = next; next == "" {
					break
				}
			}
			if len(ids) != c.want {
				t.Errorf("%+v: %d sign-ins, not %d", c.q, len(ids), c.want)
			}
			for n := 1; n < len(ids); n++ {
				if ids[n] >= ids[n-1] {
					t.Errorf("%+v: %s after %s", c.q, ids[n], ids[n-1])
				}
			}
		}
	}
	if _, _, err := s.List(t.Context(), grant.Query{After: "none", Limit: 1}); !errors.Is(err, grant.ErrCursor) {
		t.Errorf("a wrong cursor: %v", err)
	}
}

func TestAProcessThatStartsLaterKnowsEveryRevocation(t *testing.T) {
	store := newStore(t)
	s := process(t, store, grant.Options{})
	startMany(t, s, 120) // more than a page of revocations
	for i := range 120 {
		ended, err := s.Revoke(t.Context(), fmt.Sprintf("grant%04d", i))
		if err != nil || !ended {
			t.Fatal(ended, err)
		}
	}
	later := process(t, store, grant.Options{})
	for i := range 120 {
		if id := fmt.Sprintf("grant%04d", i); !later.Revoked(id) {
			t.Errorf("%s is not known as revoked", id)
		}
	}
}

func TestACommandListsAndEndsWithoutMakingAKey(t *testing.T) {
	store := newStore(t)
	s, err := grant.OpenWithoutKeys(t.Context(), store, grant.Options{})
	check(t, err)
	startMany(t, s, 2)
	if ended, err := s.Revoke(t.Context(), "grant0001"); err != nil || !ended {
		t.Error(ended, err)
	}
	if list, _, err := s.List(t.Context(), grant.Query{Limit: 10}); err != nil || len(list) != 1 {
		t.Error(list, err)
	}
	if n, err := store.Count(t.Context(), "oauth_key", ""); err != nil || n != 0 {
		t.Errorf("%d keys, %v", n, err)
	}
}

func TestASignInNamesItsClientByWhatIsKnown(t *testing.T) {
	for _, c := range []struct {
		g          grant.Grant
		title, all string
	}{
		{grant.Grant{ClientKind: grant.Document, Client: "https://claude.ai/oauth/metadata", ClientName: "Claude"},
			"claude.ai", "claude.ai (calls itself Claude)"},
		{grant.Grant{ClientKind: grant.Registered, Client: "sealed", ClientName: "Cursor", Redirect: "cursor://anysphere.cursor-mcp/callback"},
			"Cursor", "Cursor (nobody has checked this name, at cursor://anysphere.cursor-mcp)"},
		{grant.Grant{ClientKind: grant.Registered, Client: "sealed", ClientName: "Claude", Redirect: "http://127.0.0.1:5123/cb"},
			"Claude", "Claude (nobody has checked this name, a program on the computer of the person)"},
		{grant.Grant{ClientKind: grant.Registered, Client: "sealed"},
			"a program without a name", "a program without a name (nobody has checked this name, at an unknown place)"},
		{grant.Grant{ClientKind: grant.Declared, Client: "inspector"}, "inspector", "inspector"},
		{grant.Grant{ClientKind: grant.BuiltIn, Client: grant.ConsoleClient}, "the console", "the console"},
		{grant.Grant{ClientKind: grant.BuiltIn, Client: grant.CommandClient}, "the command hatchel", "the command hatchel"},
	} {
		s := c.g.SignIn()
		if s.Client.Title() != c.title || s.Client.String() != c.all {
			t.Errorf("%+v: %q, %q", c.g, s.Client.Title(), s.Client.String())
		}
		if strings.Contains(s.Client.ID, "sealed") {
			t.Errorf("%+v shows its registration", c.g)
		}
	}
}

func TestEachUnrecordedRevocationIsRecordedOnce(t *testing.T) {
	store := newStore(t)
	command := process(t, store, grant.Options{})
	startMany(t, command, 40)
	for i := range 40 {
		if ended, err := command.RevokeUnrecorded(t.Context(), fmt.Sprintf("grant%04d", i), "os:ann"); err != nil || !ended {
			t.Fatal(ended, err)
		}
	}
	recorded := make(chan grant.Revocation, 100)
	var servers sync.WaitGroup
	for range 4 {
		server := process(t, store, grant.Options{})
		servers.Go(func() {
			_, err := server.RecordUnrecorded(t.Context(), func(r grant.Revocation) error {
				recorded <- r
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	servers.Wait()
	close(recorded)
	seen := map[string]bool{}
	for r := range recorded {
		if seen[r.SignIn.ID] || r.By != "os:ann" || r.At.IsZero() {
			t.Errorf("%+v", r)
		}
		seen[r.SignIn.ID] = true
	}
	if len(seen) != 40 {
		t.Errorf("%d were recorded", len(seen))
	}
}

// newClock returns a clock, and what advances it.
func newClock() (now func() time.Time, advance func(time.Duration)) {
	var late atomic.Int64
	return func() time.Time { return time.Now().Add(time.Duration(late.Load())) },
		func(d time.Duration) { late.Add(int64(d)) }
}

// TestARevocationIsRecordedAfterItsServerDied has a server die, or fail, before it has recorded a revocation.
func TestARevocationIsRecordedAfterItsServerDied(t *testing.T) {
	store := newStore(t)
	clock, advance := newClock()
	command := process(t, store, grant.Options{Now: clock})
	startMany(t, command, 1)
	if ended, err := command.RevokeUnrecorded(t.Context(), "grant0000", "os:ann"); err != nil || !ended {
		t.Fatal(ended, err)
	}
	server := process(t, store, grant.Options{Now: clock})
	died := errors.New("the server died")
	attempt := func(result error) (calls int, left bool) {
		t.Helper()
		left, err := server.RecordUnrecorded(t.Context(), func(grant.Revocation) error { calls++; return result })
		if !errors.Is(err, result) {
			t.Fatal(err)
		}
		return calls, left
	}
	if calls, left := attempt(died); calls != 1 || !left {
		t.Errorf("the first server: %d calls, left %t", calls, left)
	}
	if left, err := server.RecordUnrecorded(t.Context(), func(grant.Revocation) error { return died }); err != nil || !left {
		t.Errorf("while it may record: left %t, %v", left, err)
	}
	advance(11 * time.Second)
	if calls, left := attempt(nil); calls != 1 || left {
		t.Errorf("the next server: %d calls, left %t", calls, left)
	}
	if calls, left := attempt(nil); calls != 0 || left {
		t.Errorf("once more: %d calls, left %t", calls, left)
	}
}

// TestACodeIsASignInThatCanBeEnded ends all sign-ins of a person whose client has not redeemed its code yet.
func TestACodeIsASignInThatCanBeEnded(t *testing.T) {
	clock, advance := newClock()
	s := process(t, newStore(t), grant.Options{Now: clock})
	code := func() (string, *grant.Grant) {
		t.Helper()
		g := ada()
		g.Began, g.Ends = clock(), clock().Add(time.Hour)
		text, err := s.Create(t.Context(), g)
		check(t, err)
		return text, g
	}
	list := func() []*grant.SignIn {
		t.Helper()
		all, _, err := s.List(t.Context(), grant.Query{Filter: grant.Filter{Subject: ada().Subject}, Limit: 10})
		check(t, err)
		return all
	}
	text, g := code()
	if all := list(); len(all) != 1 || all[0].ID != g.ID {
		t.Fatalf("the code is not listed: %v", all)
	}
	if ended, err := s.Revoke(t.Context(), g.ID); err != nil || !ended {
		t.Fatal(ended, err)
	}
	if _, _, err := s.Redeem(t.Context(), text, func(*grant.Grant) error { return nil }); !errors.Is(err, grant.ErrInvalid) {
		t.Errorf("the code of a sign-in that was ended: %v", err)
	}
	_, g = code()
	advance(grant.CodeLife)
	if found, err := s.Find(t.Context(), g.ID); len(list()) != 0 || found != nil || err != nil {
		t.Errorf("a code that has ended is listed: %v, %v, %v", list(), found, err)
	}
}
