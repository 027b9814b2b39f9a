package state_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"hatchel/runtime/state"
)

func testStaleVersions(t *testing.T, open func() state.Store) {
	synctest.Test(t, func(t *testing.T) {
		a, b := open(), open()
		defer a.Close()
		defer b.Close()
		begin := func(s state.Store, name string) *state.Record {
			t.Helper()
			r := &state.Record{Kind: "k", Name: name, Slot: "key", Owner: name, Expires: time.Now().Add(time.Minute), Body: []byte("of " + name)}
			if !add(t, s, r) {
				t.Fatalf("%s does not begin", name)
			}
			return r
		}
		stays := func(want string, late ...*state.Record) {
			t.Helper()
			for _, r := range late {
				if r.Owner = "late"; replace(t, a, r) || remove(t, b, r) {
					t.Errorf("%s, of version %d, changes something", r.Name, r.Version)
				}
			}
			if r := must[*state.Record](t)(b.Holder(context.WithoutCancel(t.Context()), "k", "key")); r == nil || r.Owner+string(r.Body) != want {
				t.Errorf("it is %+v, not %s", r, want)
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
	left := func(q state.Query) (names string) {
		t.Helper()
		q.Kind, q.Orphaned = "k", true
		for _, r := range must[[]*state.Record](t)(s.List(t.Context(), q)) {
			if names += r.Name; r.Owner != "dead" || r.Alive {
				t.Errorf("%+v is left", r)
			}
		}
		return names
	}
	check(t, s.Present(t.Context(), "alive", later))
	check(t, s.Present(t.Context(), "dead", later))
	if got := left(state.Query{Limit: 9}); got != "" || !known(t, s, "a").Alive || known(t, s, "c").Alive {
		t.Errorf("of all who are present %q is left", got)
	}
	check(t, s.Present(t.Context(), "dead", time.Now()))
	if got := left(state.Query{Limit: 9}) + left(state.Query{Limit: 1}) + left(state.Query{Limit: 9, Group: "d"}); got != "adad" {
		t.Errorf("%q are left", got)
	}
	if known(t, s, "a").Alive || !known(t, s, "b").Alive {
		t.Error("the owner who is present is another")
	}
	taken := known(t, s, "a")
	taken.Owner = "alive"
	if !replace(t, s, taken) || left(state.Query{Limit: 9}) != "d" || !known(t, s, "a").Alive {
		t.Error("what was taken is left")
	}
}
