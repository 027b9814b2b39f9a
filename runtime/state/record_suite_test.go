package state_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"hatchel/runtime/state"
)

// recordOf returns a record that expires in an hour.
func recordOf(name string, due time.Time) *state.Record {
	return &state.Record{Kind: "k", Name: name, Due: due, Expires: time.Now().Add(time.Hour).Truncate(time.Millisecond), Body: []byte("body of " + name)}
}

// atOnce runs do in 32 goroutines, on two stores in turn, and counts how often it reports true.
func atOnce(a, b state.Store, do func(i int, s state.Store) bool) int {
	var all sync.WaitGroup
	var count atomic.Int64
	for i := range 32 {
		all.Go(func() {
			if do(i, []state.Store{a, b}[i%2]) {
				count.Add(1)
			}
		})
	}
	all.Wait()
	return int(count.Load())
}

func testRecords(t *testing.T, open func() state.Store) {
	s := open()
	r := recordOf("one", time.Now().Truncate(time.Millisecond))
	r.Slot, r.Group, r.Owner, r.Body = "slot", "group", "me", []byte{0, 'a', 0xff}
	if !add(t, s, r) || r.Version != 1 {
		t.Fatalf("it is not added, or its version is %d", r.Version)
	}
	check(t, s.Close())
	s = open()
	defer s.Close()
	for way, found := range map[string]*state.Record{
		"name": known(t, s, "one"),
		"slot": must[*state.Record](t)(s.Holder(t.Context(), "k", "slot")),
		"list": must[[]*state.Record](t)(s.List(t.Context(), state.Query{Kind: "k", Limit: 1}))[0],
		"add":  must[*state.Record](t)(s.Add(t.Context(), recordOf("one", time.Now()))),
	} {
		if found == nil || !found.Due.Equal(r.Due) || !found.Expires.Equal(r.Expires) || !bytes.Equal(found.Body, r.Body) ||
			found.Kind+found.Name+found.Slot+found.Group+found.Owner != "koneslotgroupme" || found.Alive || found.Version != 1 {
			t.Errorf("by %s: %+v", way, found)
		}
	}
	empty := &state.Record{Kind: "k", Name: "empty", Expires: r.Expires}
	add(t, s, empty)
	if found := known(t, s, "empty"); found == nil || !found.Due.IsZero() || len(found.Body) != 0 {
		t.Errorf("one that holds nothing is %+v", found)
	}
	for what, found := range map[string]*state.Record{
		"another name":   known(t, s, "two"),
		"another kind":   must[*state.Record](t)(s.Record(t.Context(), "l", "one")),
		"another slot":   must[*state.Record](t)(s.Holder(t.Context(), "k", "one")),
		"no slot":        must[*state.Record](t)(s.Holder(t.Context(), "k", "")),
		"a slot of kind": must[*state.Record](t)(s.Holder(t.Context(), "l", "slot")),
	} {
		if found != nil {
			t.Errorf("%s has %+v", what, found)
		}
	}
}

func testConcurrentAdd(t *testing.T, open func() state.Store) {
	a, b := open(), open()
	defer a.Close()
	defer b.Close()
	for claim, of := range map[string]func(i int) *state.Record{
		"a name": func(i int) *state.Record { return recordOf("same", time.Now()) },
		"a slot": func(i int) *state.Record {
			r := recordOf(strconv.Itoa(i), time.Now())
			r.Slot = "same"
			return r
		},
	} {
		added := atOnce(a, b, func(i int, s state.Store) bool {
			r := of(i)
			before, err := s.Add(t.Context(), r)
			if err != nil {
				t.Error(err)
			} else if before != nil && (before.Version != 1 || string(before.Body) != "body of "+before.Name || r.Name == "same" && before.Name != "same" || r.Slot != before.Slot || r.Version != 0) {
				t.Errorf("%s: %+v is told of %+v", claim, r, before)
			}
			return err == nil && before == nil
		})
		if added != 1 {
			t.Errorf("%s: %d are added", claim, added)
		}
	}
	if n := len(must[[]*state.Record](t)(a.List(t.Context(), state.Query{Kind: "k", Limit: 9}))); n != 2 {
		t.Errorf("%d are there", n)
	}
	if all := atOnce(a, b, func(i int, s state.Store) bool {
		before, err := s.Add(t.Context(), recordOf("own "+strconv.Itoa(i), time.Now()))
		return before == nil && err == nil
	}); all != 32 {
		t.Errorf("%d of 32 that have no slot are added", all)
	}
}

func testConcurrentReplace(t *testing.T, open func() state.Store) {
	a, b := open(), open()
	defer a.Close()
	defer b.Close()
	r := recordOf("one", time.Now())
	r.Slot, r.Group = "slot", "open"
	add(t, a, r)
	if won := atOnce(a, b, func(i int, s state.Store) bool {
		mine := *r
		mine.Slot, mine.Group, mine.Body = "", "done", fmt.Append(nil, i)
		won, err := s.Replace(t.Context(), &mine)
		if err != nil || won != (mine.Version == 2) {
			t.Errorf("version %d, and %v %v", mine.Version, won, err)
		}
		return won
	}); won != 1 {
		t.Errorf("%d have replaced it", won)
	}
	found := known(t, a, "one")
	if found.Version != 2 || found.Slot != "" || found.Group != "done" || must[*state.Record](t)(b.Holder(t.Context(), "k", "slot")) != nil {
		t.Errorf("it is %+v", found)
	}
	next := recordOf("two", time.Now())
	next.Slot = "slot"
	if !add(t, b, next) {
		t.Error("the slot is not free")
	}
	if replace(t, b, r) {
		t.Error("who has read an older version replaces it")
	}
	found.Slot = "slot"
	if _, err := a.Replace(t.Context(), found); !errors.Is(err, state.ErrTaken) || found.Version != 2 {
		t.Errorf("the slot of another one is taken: %v", err)
	}
	if remove(t, b, r) {
		t.Error("who has read an older version removes it")
	}
	if removed := atOnce(a, b, func(_ int, s state.Store) bool {
		removed, err := s.Remove(t.Context(), next)
		return removed && err == nil
	}); removed != 1 {
		t.Errorf("%d have removed one", removed)
	}
	if !replace(t, a, found) || must[*state.Record](t)(b.Holder(t.Context(), "k", "slot")).Name != "one" {
		t.Error("a slot that is free is not taken")
	}
	if replace(t, a, next) || known(t, a, "two") != nil {
		t.Error("one that was removed is replaced")
	}
}

func testList(t *testing.T, open func() state.Store) {
	s := open()
	defer s.Close()
	began := time.Now().Truncate(time.Second)
	for i := range 20 {
		r := recordOf(string(rune('t'-i)), began.Add(time.Duration(i/4)*time.Second))
		r.Group = []string{"even", "odd"}[i%2]
		add(t, s, r)
	}
	add(t, s, recordOf("unlisted", time.Time{}))
	other := recordOf("A", began)
	other.Kind = "other"
	add(t, s, other)
	names := func(q state.Query) string {
		var all strings.Builder
		for _, r := range must[[]*state.Record](t)(s.List(t.Context(), q)) {
			all.WriteString(r.Name)
			if string(r.Body) != "body of "+r.Name {
				t.Errorf("%s holds %q", r.Name, r.Body)
			}
		}
		return all.String()
	}
	second := must[[]*state.Record](t)(s.List(t.Context(), state.Query{Kind: "k", Limit: 2}))[1]
	for want, q := range map[string]state.Query{
		"qrstmnopijklefghabcd": {Kind: "k", Limit: 100},
		"qrs":                  {Kind: "k", Limit: 3},
		"rtnpjlfhbd":           {Kind: "k", Group: "even", Limit: 100},
		"qrstmnop":             {Kind: "k", Until: began.Add(time.Second), Limit: 100},
		"rtnp":                 {Kind: "k", Group: "even", Until: began.Add(1999 * time.Millisecond), Limit: 100},
		"stm":                  {Kind: "k", After: second, Limit: 3},
		"smo":                  {Kind: "k", Group: "odd", After: second, Limit: 3},
		"st":                   {Kind: "k", After: second, Until: began, Limit: 3},
		"A":                    {Kind: "other", Limit: 3},
		"":                     {Kind: "none", Limit: 3},
	} {
		if got := names(q); got != want {
			t.Errorf("%+v: %s, not %s", q, got, want)
		}
	}
	var pages []string
	for q := (state.Query{Kind: "k", Limit: 7}); ; {
		page := must[[]*state.Record](t)(s.List(t.Context(), q))
		if len(page) == 0 {
			break
		}
		for _, r := range page {
			pages = append(pages, r.Name)
		}
		q.After = page[len(page)-1]
	}
	if got := strings.Join(pages, ""); got != "qrstmnopijklefghabcd" {
		t.Errorf("in pages: %s", got)
	}
	for group, want := range map[string]int{"even": 10, "odd": 10, "": 0, "none": 0} {
		if n := must[int](t)(s.Count(t.Context(), "k", group)); n != want {
			t.Errorf("%d are in %q", n, group)
		}
	}
}

func testExpiry(t *testing.T, open func() state.Store) {
	synctest.Test(t, func(t *testing.T) {
		s := open()
		defer s.Close()
		ctx, soon := context.WithoutCancel(t.Context()), time.Now().Add(30*time.Second)
		old := &state.Record{Kind: "k", Name: "old", Slot: "s", Group: "g", Due: soon, Expires: soon}
		add(t, s, old)
		held := &state.Record{Kind: "k", Name: "held", Slot: "h", Due: soon, Expires: soon}
		add(t, s, held)
		stays := recordOf("stays", time.Now())
		add(t, s, stays)
		time.Sleep(time.Until(soon) - time.Millisecond)
		if known(t, s, "old") == nil || must[*state.Record](t)(s.Holder(ctx, "k", "s")) == nil || must[int](t)(s.Count(ctx, "k", "g")) != 1 {
			t.Error("it expired too early")
		}
		time.Sleep(time.Millisecond)
		if known(t, s, "old") != nil || must[*state.Record](t)(s.Holder(ctx, "k", "s")) != nil ||
			must[int](t)(s.Count(ctx, "k", "g")) != 0 || len(must[[]*state.Record](t)(s.List(ctx, state.Query{Kind: "k", Limit: 9}))) != 1 ||
			remove(t, s, old) || replace(t, s, old) {
			t.Error("it did not expire")
		}
		if stays.Slot = "h"; !replace(t, s, stays) {
			t.Error("what has expired keeps its slot from one that is replaced")
		}
		next := recordOf("old", time.Now())
		next.Slot = "s"
		if !add(t, s, next) || next.Version != 1 || add(t, s, next) {
			t.Error("the name and the slot of what has expired are not free, once")
		}
	})
}
