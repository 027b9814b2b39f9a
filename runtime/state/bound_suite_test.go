package state_test

import (
	"context"
	"crypto/rand"
	"errors"
	"strconv"
	"testing"
	"time"

	"hatchel/runtime/state"
)

// bounded is a Store that says how much it takes.
type bounded interface {
	state.Store
	Bound(bytes int64)
}

// staysBounded fills an empty store, in a bubble of time.
func staysBounded(t *testing.T, s bounded) {
	var err error
	s.Bound(1 << 20)
	ctx, soon, later := context.WithoutCancel(t.Context()), time.Now().Add(time.Second), time.Now().Add(time.Hour)
	task := &state.Task{ID: "first", Expires: later, Body: []byte{}}
	check(t, s.Create(ctx, task))
	record := recordOf("first", later)
	must[*state.Record](t)(s.Add(ctx, record))
	value, kept := make([]byte, 100<<10), 0
	for ; kept < 100; kept++ {
		if err = s.Keep(ctx, strconv.Itoa(kept), value, soon); err != nil {
			break
		}
	}
	if !errors.Is(err, state.ErrFull) || kept < 5 || kept > 15 {
		t.Fatalf("%d values of 100 KiB are kept, and then: %v", kept, err)
	}
	if err := s.Create(ctx, &state.Task{ID: "last", Expires: later, Body: []byte{}}); !errors.Is(err, state.ErrFull) {
		t.Errorf("a task is created in a full store: %v", err)
	}
	if _, err := s.Add(ctx, recordOf("last", later)); !errors.Is(err, state.ErrFull) {
		t.Errorf("a record is added to a full store: %v", err)
	}
	if before := must[*state.Record](t)(s.Add(ctx, recordOf("first", later))); before == nil || !must[bool](t)(s.Replace(ctx, record)) {
		t.Error("a record that is there is not found, or cannot be changed")
	}
	if _, ok, err := s.Pace(ctx, "first", state.Rhythm{Every: time.Hour, Burst: 9}, 0); err != nil || !ok {
		t.Errorf("nothing can be paced: %v", err)
	}
	if won := must[bool](t)(s.Update(ctx, task)); !won {
		t.Error("a task that is there cannot be changed")
	}
	if first := must[bool](t)(s.Claim(ctx, "0", later)); !first {
		t.Error("nothing can be claimed")
	}
	if must[[]byte](t)(s.Take(ctx, "0")) == nil || must[[]byte](t)(s.Take(ctx, "1")) == nil {
		t.Error("what is kept cannot be taken")
	}
	check(t, s.Keep(ctx, "again", value, soon))
	s.Bound(1)
	task.Body = value
	if _, err := s.Update(ctx, task); !errors.Is(err, state.ErrFull) {
		t.Errorf("a task grows where there is no room at all: %v", err)
	}
	record.Body = value
	if _, err := s.Replace(ctx, record); !errors.Is(err, state.ErrFull) {
		t.Errorf("a record grows where there is no room at all: %v", err)
	}
	record.Body = []byte("small")
	if won := must[bool](t)(s.Replace(ctx, record)); !won {
		t.Error("a small record cannot be changed where there is no room at all")
	}
	if _, ok, err := s.Pace(ctx, "first", state.Rhythm{Every: time.Hour, Burst: 9}, 0); err != nil || !ok {
		t.Errorf("a name that is paced is not any more where there is no room at all: %v", err)
	}
	if _, _, err := s.Pace(ctx, "last", state.Rhythm{Every: time.Hour, Burst: 9}, 0); !errors.Is(err, state.ErrFull) {
		t.Errorf("another name is paced where there is no room at all: %v", err)
	}
	task.Body = []byte("small")
	if won := must[bool](t)(s.Update(ctx, task)); !won {
		t.Error("a small task cannot be changed where there is no room at all")
	}
	if _, err := s.Claim(ctx, "2", later); !errors.Is(err, state.ErrFull) {
		t.Errorf("a name is claimed where there is no room at all: %v", err)
	}
	s.Bound(1 << 20)
	for err = nil; err == nil; {
		err = s.Keep(ctx, rand.Text(), value, soon)
	}
	time.Sleep(2 * time.Second)
	check(t, s.Keep(ctx, "when the others have expired", value, later))
}

// leavesRoom fills an empty store with what yields: others find as much room as that has taken.
func leavesRoom(t *testing.T, s bounded) {
	s.Bound(2 << 20)
	ctx, later := context.WithoutCancel(t.Context()), time.Now().Add(time.Hour)
	fill := func(kind string, yields bool) (n int, err error) {
		for ; n < 100 && err == nil; n++ {
			r := recordOf(strconv.Itoa(n), later)
			r.Kind, r.Body, r.Yields = kind, make([]byte, 100<<10), yields
			_, err = s.Add(ctx, r)
		}
		return n, err
	}
	if n, err := fill("yields", true); !errors.Is(err, state.ErrFull) || n < 5 || n > 15 {
		t.Fatalf("%d records of 100 KiB that yield are taken, and then: %v", n, err)
	}
	check(t, s.Create(ctx, &state.Task{ID: "task", Expires: later, Body: []byte{}}))
	check(t, s.Keep(ctx, "kept", []byte("x"), later))
	if before, err := s.Begin(ctx, &state.Deed{Name: "deed", Expires: later, Body: []byte{}}); before != nil || err != nil {
		t.Errorf("a deed is not begun: %v, %v", before, err)
	}
	if n, err := fill("k", false); !errors.Is(err, state.ErrFull) || n < 5 {
		t.Errorf("beside them %d records of 100 KiB are taken, and then: %v", n, err)
	}
	if _, err := fill("more", true); !errors.Is(err, state.ErrFull) {
		t.Errorf("of a full store one that yields is taken: %v", err)
	}
	first := must[*state.Record](t)(s.Record(ctx, "yields", "0"))
	if !must[bool](t)(s.Remove(ctx, first)) {
		t.Error("one that yields cannot be removed")
	}
}
