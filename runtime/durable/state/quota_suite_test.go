package state_test

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	"hatchel/runtime/durable/state"
)

// limitedStore is a Store with a quota.
type limitedStore interface {
	state.Store
	SetQuota(bytes int64)
}

// fillUp adds records of 100 KiB until the store is full, and returns how many it has added.
func fillUp(t *testing.T, s state.Store, kind string, expires time.Time, priority state.Priority) int {
	t.Helper()
	for n := range 100 {
		r := &state.Record{
			Kind: kind, Name: strconv.Itoa(n), Expires: expires, Body: make([]byte, 100<<10), Priority: priority,
		}
		switch _, err := s.Add(context.WithoutCancel(t.Context()), r); {
		case errors.Is(err, state.ErrFull):
			return n
		case err != nil:
			t.Fatal(err)
		}
	}
	t.Fatal("the store is never full")
	return 0
}

// testQuota fills an empty store. It must run in a synctest bubble.
func testQuota(t *testing.T, s limitedStore) {
	const quota = 1 << 20
	s.SetQuota(quota)
	ctx, soon, later := context.WithoutCancel(t.Context()), time.Now().Add(time.Second), time.Now().Add(time.Hour)
	large := make([]byte, 100<<10)
	first := recordOf("first", later)
	add(t, s, first)
	expect := func(operation string, err error, full bool) {
		t.Helper()
		if full != errors.Is(err, state.ErrFull) || !full && err != nil {
			t.Errorf("%s: %v", operation, err)
		}
	}
	addRecord := func(operation string, r *state.Record, full bool) {
		t.Helper()
		_, err := s.Add(ctx, r)
		expect(operation, err, full)
	}
	replaceBody := func(operation string, body []byte, full bool) {
		t.Helper()
		first.Body = body
		replaced, err := s.Replace(ctx, first)
		if expect(operation, err, full); replaced == full {
			t.Errorf("%s: replaced %t", operation, replaced)
		}
	}
	reserveEvent := func(name string, full bool) {
		t.Helper()
		_, _, err := s.Reserve(ctx, name, state.Rate{Interval: time.Hour, Burst: 9}, 0)
		expect("reserve an event of "+name, err, full)
	}
	followUp := func(name string) *state.Record {
		return &state.Record{Kind: "f", Name: name, Expires: later, Priority: state.FollowUp}
	}

	if n := fillUp(t, s, "k", soon, state.Normal); n < 5 || n > 15 {
		t.Fatalf("the store takes %d records of 100 KiB", n)
	}
	// Beyond the quota only new records are rejected.
	addRecord("add a record", recordOf("last", later), true)
	if add(t, s, recordOf("first", later)) {
		t.Error("an existing record was added")
	}
	replaceBody("replace a body", []byte("small"), false)
	addRecord("add a follow-up record", followUp("1"), false)
	reserveEvent("first", false)
	for _, name := range []string{"0", "1"} {
		if !remove(t, s, known(t, s, name)) {
			t.Errorf("record %s was not removed", name)
		}
	}
	addRecord("add a record after others were removed", &state.Record{Kind: "k", Name: "0", Expires: soon, Body: large}, false)

	// Beyond twice the quota everything that grows is rejected.
	s.SetQuota(1)
	replaceBody("replace a body by a larger one", large, true)
	replaceBody("replace a body by a small one", []byte("still small"), false)
	addRecord("add a follow-up record beyond twice the quota", followUp("2"), true)
	reserveEvent("first", false)
	reserveEvent("last", true)

	// Expired records make room.
	s.SetQuota(quota)
	fillUp(t, s, "l", soon, state.Normal)
	time.Sleep(2 * time.Second)
	addRecord("add a record after others have expired", &state.Record{Kind: "k", Name: "last", Expires: later, Body: large}, false)
}

// testPriority fills an empty store with records of low priority: others find as much room again.
func testPriority(t *testing.T, s limitedStore) {
	s.SetQuota(2 << 20)
	later := time.Now().Add(time.Hour)
	if n := fillUp(t, s, "low", later, state.Low); n < 5 || n > 15 {
		t.Fatalf("the store takes %d records of low priority", n)
	}
	if n := fillUp(t, s, "normal", later, state.Normal); n < 5 {
		t.Errorf("then it takes %d records of normal priority", n)
	}
	if n := fillUp(t, s, "more", later, state.Low); n != 0 {
		t.Errorf("when it is full it takes %d records of low priority", n)
	}
	first := must[*state.Record](t)(s.Record(context.WithoutCancel(t.Context()), "low", "0"))
	if !remove(t, s, first) {
		t.Error("a record of low priority is not removed")
	}
}
