package state_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"hatchel/runtime/state"
)

func testPace(t *testing.T, open func() state.Store) {
	s := open()
	pace := func(name string, patience time.Duration) (time.Duration, bool) {
		t.Helper()
		wait, ok, err := s.Pace(t.Context(), name, state.Rhythm{Every: time.Hour, Burst: 3, Patience: 10 * time.Hour}, patience)
		check(t, err)
		return wait, ok
	}
	near := func(got, want time.Duration) bool { return got <= want && got > want-5*time.Minute } // how long the test takes
	for i := range 3 {
		if wait, ok := pace("a", 0); wait != 0 || !ok {
			t.Errorf("event %d of a burst waits %v (%v)", i, wait, ok)
		}
	}
	for range 3 {
		if wait, ok := pace("a", 30*time.Minute); ok || !near(wait, time.Hour) {
			t.Errorf("one more waits %v (%v)", wait, ok)
		}
	}
	check(t, s.Close())
	s = open()
	defer s.Close()
	for i := range 3 {
		if wait, ok := pace("a", 10*time.Hour); !ok || !near(wait, time.Duration(i+1)*time.Hour) {
			t.Errorf("patient event %d waits %v (%v)", i, wait, ok)
		}
	}
	if wait, ok := pace("b", 0); wait != 0 || !ok {
		t.Errorf("the first event of another name waits %v (%v)", wait, ok)
	}
	for range 100 {
		if _, ok, err := s.Pace(t.Context(), "fine", state.Rhythm{Every: 50 * time.Microsecond, Burst: 1, Patience: time.Minute}, time.Minute); err != nil || !ok {
			t.Fatalf("at 20,000 a second: %v %v", ok, err)
		}
	}
	if wait, ok, err := s.Pace(t.Context(), "fine", state.Rhythm{Every: 50 * time.Microsecond, Burst: 1, Patience: time.Minute}, time.Minute); err != nil || !ok || wait > 100*50*time.Microsecond {
		t.Errorf("after 100 at 20,000 a second one more waits %v (%v) %v", wait, ok, err)
	}
}

func testSharedPace(t *testing.T, open func() state.Store) {
	a, b := open(), open()
	defer a.Close()
	defer b.Close()
	var all sync.WaitGroup
	var passed atomic.Int64
	for i := range 32 {
		all.Go(func() {
			_, ok, err := []state.Store{a, b}[i%2].Pace(t.Context(), "x", state.Rhythm{Every: time.Hour, Burst: 4, Patience: 2 * time.Hour}, 2*time.Hour)
			if err != nil {
				t.Error(err)
			}
			if ok {
				passed.Add(1)
			}
		})
	}
	all.Wait()
	if passed.Load() != 6 {
		t.Errorf("%d of 4 at once and 2 that wait have passed", passed.Load())
	}
}

func testStaleReservations(t *testing.T, open func() state.Store) {
	s := open()
	defer s.Close()
	slow := state.Rhythm{Every: 24 * time.Hour, Burst: 1, Patience: 48 * time.Hour}
	for range 3 {
		if _, ok, err := s.Pace(t.Context(), "x", slow, 48*time.Hour); !ok || err != nil {
			t.Fatal(ok, err)
		}
	}
	// As by a clock that is set back: so far off no turn can be.
	quick := state.Rhythm{Every: time.Minute, Burst: 2, Patience: 10 * time.Second}
	if wait, ok, err := s.Pace(t.Context(), "x", quick, 0); ok || wait > 70*time.Second || wait < 30*time.Second || err != nil {
		t.Errorf("the next waits %v (%v) %v", wait, ok, err)
	}
	if wait, ok, err := s.Pace(t.Context(), "x", quick, 2*time.Minute); !ok || wait > 70*time.Second || err != nil {
		t.Errorf("a patient one waits %v (%v) %v", wait, ok, err)
	}
}
