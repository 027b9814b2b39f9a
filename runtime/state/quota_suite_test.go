package state_test

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	"hatchel/runtime/state"
)

// bounded is a Store with a quota.
type bounded interface {
	state.Store
	Bound(bytes int64)
}

// testQuota fills an empty store. It must run in a synctest bubble.
func testQuota(t *testing.T, s bounded) {
	s.Bound(1 << 20)
	ctx, soon, later := context.WithoutCancel(t.Context()), time.Now().Add(time.Second), time.Now().Add(time.Hour)
	first := recordOf("first", later)
	add(t, s, first)
	large := make([]byte, 100<<10)
	fill := func(kind string) (n int, err error) {
		for ; n < 100 && err == nil; n++ {
			_, err = s.Add(ctx, &state.Record{Kind: kind, Name: strconv.Itoa(n), Expires: soon, Body: large})
		}
		return n, err
	}
	full := func(what string, err error, want bool) {
		t.Helper()
		if want != errors.Is(err, state.ErrFull) || !want && err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	addition := func(what string, r *state.Record, want bool) {
		t.Helper()
		_, err := s.Add(ctx, r)
		full(what, err, want)
	}
	change := func(what string, body []byte, want bool) {
		t.Helper()
		first.Body = body
		won, err := s.Replace(ctx, first)
		if full(what, err, want); won == want {
			t.Errorf("%s: it is done: %v", what, won)
		}
	}
	paced := func(name string, want bool) {
		t.Helper()
		_, _, err := s.Pace(ctx, name, state.Rhythm{Every: time.Hour, Burst: 9}, 0)
		full("to pace "+name, err, want)
	}
	follows := func(name string) *state.Record {
		return &state.Record{Kind: "f", Name: name, Expires: later, Priority: state.FollowUp}
	}
	if n, err := fill("k"); !errors.Is(err, state.ErrFull) || n < 5 || n > 15 {
		t.Fatalf("%d records of 100 KiB are taken, and then: %v", n, err)
	}
	addition("one that is new", recordOf("last", later), true)
	if add(t, s, recordOf("first", later)) {
		t.Error("one that is there is not found")
	}
	change("one that is there, as it was", []byte("small"), false)
	addition("what comes of what was taken", follows("1"), false)
	paced("first", false)
	for _, name := range []string{"0", "1"} {
		if !remove(t, s, known(t, s, name)) {
			t.Error("what was taken cannot be removed")
		}
	}
	addition("what finds room again", &state.Record{Kind: "k", Name: "0", Expires: soon, Body: large}, false)
	s.Bound(1)
	change("one that grows where there is no room at all", large, true)
	change("a small one where there is no room at all", []byte("still small"), false)
	addition("what comes of what was taken where there is no room at all", follows("2"), true)
	paced("first", false)
	paced("last", true)
	s.Bound(1 << 20)
	if _, err := fill("l"); !errors.Is(err, state.ErrFull) {
		t.Errorf("it is filled again: %v", err)
	}
	time.Sleep(2 * time.Second)
	addition("one that is new when others have expired", &state.Record{Kind: "k", Name: "last", Expires: later, Body: large}, false)
}

// testPriority fills an empty store with records of low priority: others find as much room again.
func testPriority(t *testing.T, s bounded) {
	s.Bound(2 << 20)
	ctx, later := context.WithoutCancel(t.Context()), time.Now().Add(time.Hour)
	fill := func(kind string, priority state.Priority) (n int, err error) {
		for ; n < 100 && err == nil; n++ {
			r := recordOf(strconv.Itoa(n), later)
			r.Kind, r.Body, r.Priority = kind, make([]byte, 100<<10), priority
			_, err = s.Add(ctx, r)
		}
		return n, err
	}
	if n, err := fill("low", state.Low); !errors.Is(err, state.ErrFull) || n < 5 || n > 15 {
		t.Fatalf("%d records of 100 KiB that yield are taken, and then: %v", n, err)
	}
	if n, err := fill("k", state.Normal); !errors.Is(err, state.ErrFull) || n < 5 {
		t.Errorf("beside them %d records of 100 KiB are taken, and then: %v", n, err)
	}
	if _, err := fill("more", state.Low); !errors.Is(err, state.ErrFull) {
		t.Errorf("of a full store one that yields is taken: %v", err)
	}
	first := must[*state.Record](t)(s.Record(ctx, "low", "0"))
	if !remove(t, s, first) {
		t.Error("one that yields cannot be removed")
	}
}
