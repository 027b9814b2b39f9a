package state_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"hatchel/runtime/durable/state"
)

// recordOf returns a record that expires in an hour.
func recordOf(name string, due time.Time) *state.Record {
	expires := time.Now().Add(time.Hour).Truncate(time.Millisecond)
	return &state.Record{Kind: "k", Name: name, Due: due, Expires: expires, Body: []byte("body of " + name)}
}

// holder returns the record with a unique key, or nil.
func holder(t testing.TB, s state.Store, key string) *state.Record {
	t.Helper()
	return must[*state.Record](t)(s.ByUniqueKey(context.WithoutCancel(t.Context()), "k", key))
}

func list(t testing.TB, s state.Store, q state.Query) []*state.Record {
	t.Helper()
	return must[[]*state.Record](t)(s.List(context.WithoutCancel(t.Context()), q))
}

func count(t testing.TB, s state.Store, group string) int {
	t.Helper()
	return must[int](t)(s.Count(context.WithoutCancel(t.Context()), "k", group))
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
	r.UniqueKey, r.Group, r.Owner, r.Body = "key", "group", "me", []byte{0, 'a', 0xff}
	if !add(t, s, r) || r.Version != 1 {
		t.Fatalf("the record is not added, or has version %d", r.Version)
	}
	check(t, s.Close())
	s = open()
	defer s.Close()
	for way, found := range map[string]*state.Record{
		"name":       known(t, s, "one"),
		"unique key": holder(t, s, "key"),
		"list":       list(t, s, state.Query{Kind: "k", Limit: 1})[0],
		"conflict":   must[*state.Record](t)(s.Add(t.Context(), recordOf("one", time.Now()))),
	} {
		t.Run("is found by "+way, func(t *testing.T) {
			if found == nil {
				t.Fatal("it is not found")
			}
			if !found.Due.Equal(r.Due) || !found.Expires.Equal(r.Expires) || !bytes.Equal(found.Body, r.Body) {
				t.Errorf("got %+v", found)
			}
			names := []string{found.Kind, found.Name, found.UniqueKey, found.Group, found.Owner}
			if !slices.Equal(names, []string{"k", "one", "key", "group", "me"}) || found.OwnerAlive || found.Version != 1 {
				t.Errorf("got %+v", found)
			}
		})
	}
	for what, found := range map[string]*state.Record{
		"another name":        known(t, s, "two"),
		"NUL":                 known(t, s, "one\x00"),
		"an invalid name":     known(t, s, "one\xff"),
		"another kind":        must[*state.Record](t)(s.Record(t.Context(), "l", "one")),
		"another key":         holder(t, s, "one"),
		"no key":              holder(t, s, ""),
		"key of another kind": must[*state.Record](t)(s.ByUniqueKey(t.Context(), "l", "key")),
	} {
		t.Run("is not found by "+what, func(t *testing.T) {
			if found != nil {
				t.Errorf("got %+v", found)
			}
		})
	}
	t.Run("may be empty", func(t *testing.T) {
		add(t, s, &state.Record{Kind: "k", Name: "empty", Expires: r.Expires})
		if found := known(t, s, "empty"); found == nil || !found.Due.IsZero() || len(found.Body) != 0 {
			t.Errorf("got %+v", found)
		}
	})
}

func testConcurrentAdd(t *testing.T, open func() state.Store) {
	a, b := open(), open()
	defer a.Close()
	defer b.Close()
	withKey := func(i int) *state.Record {
		r := recordOf(strconv.Itoa(i), time.Now())
		r.UniqueKey = "same"
		return r
	}
	for claim, newRecord := range map[string]func(i int) *state.Record{
		"one of all with the same name":       func(i int) *state.Record { return recordOf("same", time.Now()) },
		"one of all with the same unique key": withKey,
	} {
		t.Run(claim, func(t *testing.T) {
			added := atOnce(a, b, func(i int, s state.Store) bool {
				r := newRecord(i)
				existing, err := s.Add(t.Context(), r)
				if err != nil {
					t.Error(err)
				}
				if err != nil || existing == nil {
					return err == nil
				}
				conflicts := existing.Name == r.Name || r.UniqueKey != "" && existing.UniqueKey == r.UniqueKey
				if !conflicts || existing.Version != 1 || string(existing.Body) != "body of "+existing.Name || r.Version != 0 {
					t.Errorf("%+v was not added because of %+v", r, existing)
				}
				return false
			})
			if added != 1 {
				t.Errorf("%d records were added", added)
			}
		})
	}
	t.Run("all without a unique key", func(t *testing.T) {
		added := atOnce(a, b, func(i int, s state.Store) bool {
			existing, err := s.Add(t.Context(), recordOf("own "+strconv.Itoa(i), time.Now()))
			return existing == nil && err == nil
		})
		if added != 32 {
			t.Errorf("%d of 32 records were added", added)
		}
	})
}

func testConcurrentReplace(t *testing.T, open func() state.Store) {
	a, b := open(), open()
	defer a.Close()
	defer b.Close()
	r := recordOf("one", time.Now())
	r.UniqueKey, r.Group = "key", "open"
	add(t, a, r)
	t.Run("one of all replaces a version", func(t *testing.T) {
		replaced := atOnce(a, b, func(i int, s state.Store) bool {
			mine := *r
			mine.UniqueKey, mine.Group, mine.Body = "", "done", fmt.Append(nil, i)
			replaced, err := s.Replace(t.Context(), &mine)
			if err != nil || replaced != (mine.Version == 2) {
				t.Errorf("replaced %t, error %v, version %d", replaced, err, mine.Version)
			}
			return replaced
		})
		if replaced != 1 {
			t.Errorf("%d callers have replaced it", replaced)
		}
	})
	found := known(t, a, "one")
	t.Run("replaces the unique key and the group", func(t *testing.T) {
		if found.Version != 2 || found.UniqueKey != "" || found.Group != "done" || holder(t, b, "key") != nil {
			t.Errorf("got %+v", found)
		}
	})
	next := recordOf("two", time.Now())
	next.UniqueKey = "key"
	t.Run("frees the unique key", func(t *testing.T) {
		if !add(t, b, next) {
			t.Error("the key is not free")
		}
	})
	t.Run("an old version replaces and removes nothing", func(t *testing.T) {
		if replace(t, b, r) || remove(t, b, r) {
			t.Error("the record was changed")
		}
	})
	t.Run("a unique key of another record is rejected", func(t *testing.T) {
		found.UniqueKey = "key"
		if _, err := a.Replace(t.Context(), found); !errors.Is(err, state.ErrKeyTaken) || found.Version != 2 {
			t.Errorf("error %v, version %d", err, found.Version)
		}
	})
	t.Run("one of all removes a record", func(t *testing.T) {
		removed := atOnce(a, b, func(_ int, s state.Store) bool {
			removed, err := s.Remove(t.Context(), next)
			return removed && err == nil
		})
		if removed != 1 {
			t.Errorf("%d callers have removed it", removed)
		}
	})
	t.Run("a free unique key is accepted", func(t *testing.T) {
		if !replace(t, a, found) || holder(t, b, "key").Name != "one" {
			t.Error("the record does not have the key")
		}
	})
	t.Run("a removed record is not replaced", func(t *testing.T) {
		if replace(t, a, next) || known(t, a, "two") != nil {
			t.Error("the record exists again")
		}
	})
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
	names := func(records []*state.Record) string {
		var all strings.Builder
		for _, r := range records {
			all.WriteString(r.Name)
			if string(r.Body) != "body of "+r.Name {
				t.Errorf("%s has the body %q", r.Name, r.Body)
			}
		}
		return all.String()
	}
	const all = "qrstmnopijklefghabcd"
	second := list(t, s, state.Query{Kind: "k", Limit: 2})[1]
	for claim, x := range map[string]struct {
		q    state.Query
		want string
	}{
		"all, by due and name":     {state.Query{Kind: "k", Limit: 100}, all},
		"the last ones first":      {state.Query{Kind: "k", Group: "even", Reverse: true, Limit: 3}, "dbh"},
		"reversed after a record":  {state.Query{Kind: "k", After: second, Reverse: true, Limit: 100}, "dcbahgfelkjiponmts"},
		"the next reversed page":   {state.Query{Kind: "k", Group: "even", Before: &state.Record{Name: "h", Due: began.Add(3 * time.Second)}, Reverse: true, Limit: 3}, "flj"},
		"up to a limit":            {state.Query{Kind: "k", Limit: 3}, "qrs"},
		"of a group":               {state.Query{Kind: "k", Group: "even", Limit: 100}, "rtnpjlfhbd"},
		"due until a time":         {state.Query{Kind: "k", Until: began.Add(time.Second), Limit: 100}, "qrstmnop"},
		"of a group until a time":  {state.Query{Kind: "k", Group: "even", Until: began.Add(1999 * time.Millisecond), Limit: 100}, "rtnp"},
		"after a record":           {state.Query{Kind: "k", After: second, Limit: 3}, "stm"},
		"of a group after one":     {state.Query{Kind: "k", Group: "odd", After: second, Limit: 3}, "smo"},
		"after one until a time":   {state.Query{Kind: "k", After: second, Until: began, Limit: 3}, "st"},
		"of another kind":          {state.Query{Kind: "other", Limit: 3}, "A"},
		"of a kind without record": {state.Query{Kind: "none", Limit: 3}, ""},
	} {
		t.Run(claim, func(t *testing.T) {
			if got := names(list(t, s, x.q)); got != x.want {
				t.Errorf("got %s, want %s", got, x.want)
			}
		})
	}
	t.Run("in pages", func(t *testing.T) {
		got := ""
		for q := (state.Query{Kind: "k", Limit: 7}); ; {
			page := list(t, s, q)
			if len(page) == 0 {
				break
			}
			got += names(page)
			q.After = page[len(page)-1]
		}
		if got != all {
			t.Errorf("got %s", got)
		}
	})
	for group, want := range map[string]int{"even": 10, "odd": 10, "": 0, "none": 0} {
		t.Run("Count of the group "+strconv.Quote(group), func(t *testing.T) {
			if n := count(t, s, group); n != want {
				t.Errorf("got %d, want %d", n, want)
			}
		})
	}
}

func testExpiry(t *testing.T, open func() state.Store) {
	synctest.Test(t, func(t *testing.T) {
		s := open()
		defer s.Close()
		soon := time.Now().Add(30 * time.Second)
		old := &state.Record{Kind: "k", Name: "old", UniqueKey: "s", Group: "g", Due: soon, Expires: soon}
		add(t, s, old)
		add(t, s, &state.Record{Kind: "k", Name: "holder", UniqueKey: "h", Due: soon, Expires: soon})
		stays := recordOf("stays", time.Now())
		add(t, s, stays)
		exists := func() [4]bool {
			listed := len(list(t, s, state.Query{Kind: "k", Limit: 9})) == 3
			return [4]bool{known(t, s, "old") != nil, holder(t, s, "s") != nil, count(t, s, "g") == 1, listed}
		}
		time.Sleep(time.Until(soon) - time.Millisecond)
		if got := exists(); got != [4]bool{true, true, true, true} {
			t.Errorf("before its time it is known, held, counted, listed: %t", got)
		}
		time.Sleep(time.Millisecond)
		if got := exists(); got != [4]bool{} {
			t.Errorf("after its time it is known, held, counted, listed: %t", got)
		}
		if remove(t, s, old) || replace(t, s, old) {
			t.Error("an expired record can be changed")
		}
		if stays.UniqueKey = "h"; !replace(t, s, stays) {
			t.Error("an expired record keeps its unique key from Replace")
		}
		next := recordOf("old", time.Now())
		next.UniqueKey = "s"
		if !add(t, s, next) || next.Version != 1 {
			t.Error("an expired record keeps its name and unique key from Add")
		}
		if add(t, s, next) {
			t.Error("the name and the unique key are free twice")
		}
	})
}
