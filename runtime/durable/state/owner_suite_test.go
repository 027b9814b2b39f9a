package state_test

import (
	"testing"
	"testing/synctest"
	"time"

	"hatchel/runtime/durable/state"
)

func testStaleVersions(t *testing.T, open func() state.Store) {
	synctest.Test(t, func(t *testing.T) {
		a, b := open(), open()
		defer a.Close()
		defer b.Close()
		begin := func(s state.Store, name string) *state.Record {
			t.Helper()
			expires := time.Now().Add(time.Minute)
			r := &state.Record{Kind: "k", Name: name, UniqueKey: "key", Owner: name, Expires: expires, Body: []byte("of " + name)}
			if !add(t, s, r) {
				t.Fatalf("%s is not added", name)
			}
			return r
		}
		stays := func(want string, stale ...*state.Record) {
			t.Helper()
			for _, r := range stale {
				if r.Owner = "late"; replace(t, a, r) || remove(t, b, r) {
					t.Errorf("version %d of %s changes something", r.Version, r.Name)
				}
			}
			if r := holder(t, b, "key"); r == nil || r.Owner+string(r.Body) != want {
				t.Errorf("the record is %+v, want %s", r, want)
			}
		}
		first := begin(a, "first")
		forgotten := *first
		remove(t, a, first)
		second := begin(b, "second")
		stays("secondof second", &forgotten)
		time.Sleep(time.Minute)
		third := begin(a, "third")
		stays("thirdof third", &forgotten, second)
		third.Owner = ""
		replace(t, a, third)
		begun, paused, again := *third, *third, *third
		begun.Version--
		again.Owner = "again"
		replace(t, b, &again)
		stays("againof third", &begun, &paused)
		again.Owner = ""
		replace(t, b, &again)
		stays("of third", &begun, &paused)
	})
}

func testOrphans(t *testing.T, open func() state.Store) {
	s := open()
	defer s.Close()
	later := time.Now().Add(time.Hour)
	for name, owner := range map[string]string{"a": "dead", "b": "alive", "c": "", "d": "dead"} {
		r := recordOf(name, time.Time{})
		r.Owner, r.Group = owner, name
		add(t, s, r)
	}
	orphans := func(q state.Query) (names string) {
		t.Helper()
		q.Kind, q.Orphaned = "k", true
		for _, r := range list(t, s, q) {
			if names += r.Name; r.Owner != "dead" || r.OwnerAlive {
				t.Errorf("%+v is an orphan", r)
			}
		}
		return names
	}
	isAlive := func(name string) bool { return known(t, s, name).OwnerAlive }
	check(t, s.Heartbeat(t.Context(), "alive", later))
	check(t, s.Heartbeat(t.Context(), "dead", later))
	t.Run("none while all owners are alive", func(t *testing.T) {
		if got := orphans(state.Query{Limit: 9}); got != "" {
			t.Errorf("got %q", got)
		}
	})
	t.Run("Alive is set on records with a living owner", func(t *testing.T) {
		if !isAlive("a") || isAlive("c") {
			t.Errorf("with an owner %t, without one %t", isAlive("a"), isAlive("c"))
		}
	})
	check(t, s.Heartbeat(t.Context(), "dead", time.Now()))
	for claim, x := range map[string]struct {
		q    state.Query
		want string
	}{
		"all records of a dead owner": {state.Query{Limit: 9}, "ad"},
		"up to a limit":               {state.Query{Limit: 1}, "a"},
		"of a group":                  {state.Query{Limit: 9, Group: "d"}, "d"},
	} {
		t.Run(claim, func(t *testing.T) {
			if got := orphans(x.q); got != x.want {
				t.Errorf("got %q, want %q", got, x.want)
			}
		})
	}
	t.Run("Alive is not set on records of a dead owner", func(t *testing.T) {
		if isAlive("a") || !isAlive("b") {
			t.Errorf("of the dead owner %t, of the living one %t", isAlive("a"), isAlive("b"))
		}
	})
	t.Run("not a record with a new owner", func(t *testing.T) {
		r := known(t, s, "a")
		r.Owner = "alive"
		if !replace(t, s, r) || orphans(state.Query{Limit: 9}) != "d" || !isAlive("a") {
			t.Error("the record is still orphaned")
		}
	})
}
