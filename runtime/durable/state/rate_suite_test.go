package state_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"hatchel/runtime/durable/state"
)

// reserve reserves an event that waits for maxWait at most.
func reserve(t *testing.T, s state.Store, name string, rate state.Rate, maxWait time.Duration) (time.Duration, bool) {
	t.Helper()
	wait, ok, err := s.Reserve(t.Context(), name, rate, maxWait)
	check(t, err)
	return wait, ok
}

// isAbout allows for the time that a test takes.
func isAbout(got, want time.Duration) bool { return got <= want && got > want-5*time.Minute }

func testPace(t *testing.T, open func() state.Store) {
	s := open()
	hourly := state.Rate{Interval: time.Hour, Burst: 3, MaxWait: 10 * time.Hour}
	t.Run("a burst does not wait", func(t *testing.T) {
		for i := range hourly.Burst {
			if wait, ok := reserve(t, s, "a", hourly, 0); wait != 0 || !ok {
				t.Errorf("event %d: wait %v, ok %t", i, wait, ok)
			}
		}
	})
	t.Run("events become available one by one", func(t *testing.T) {
		for name, want := range map[string]int{"a": 0, "of nobody": hourly.Burst} {
			if n, err := s.Available(t.Context(), name, hourly); n != want || err != nil {
				t.Errorf("%s: %d, not %d: %v", name, n, want, err)
			}
		}
		reserve(t, s, "c", hourly, 0)
		if n, err := s.Available(t.Context(), "c", hourly); n != 2 || err != nil {
			t.Errorf("after one of 3: %d, %v", n, err)
		}
	})
	t.Run("an event that would wait too long reserves nothing", func(t *testing.T) {
		for range 3 {
			if wait, ok := reserve(t, s, "a", hourly, 30*time.Minute); ok || !isAbout(wait, time.Hour) {
				t.Errorf("wait %v, ok %t", wait, ok)
			}
		}
	})
	check(t, s.Close())
	s = open()
	defer s.Close()
	t.Run("events queue up, also after the store was closed", func(t *testing.T) {
		for i := range 3 {
			if wait, ok := reserve(t, s, "a", hourly, 10*time.Hour); !ok || !isAbout(wait, time.Duration(i+1)*time.Hour) {
				t.Errorf("event %d: wait %v, ok %t", i, wait, ok)
			}
		}
	})
	t.Run("names are counted separately", func(t *testing.T) {
		if wait, ok := reserve(t, s, "b", hourly, 0); wait != 0 || !ok {
			t.Errorf("wait %v, ok %t", wait, ok)
		}
	})
	t.Run("a pause holds back what is not reserved yet, also in a burst", func(t *testing.T) {
		for range 2 { // a pause that is asked for twice is one
			check(t, s.Postpone(t.Context(), "b", hourly, 5*time.Hour))
		}
		for i := range 2 {
			want := time.Duration(5+i) * time.Hour
			if wait, ok := reserve(t, s, "b", hourly, 10*time.Hour); !ok || !isAbout(wait, want) {
				t.Errorf("wait %v, ok %t, want %v", wait, ok, want)
			}
		}
		check(t, s.Postpone(t.Context(), "b", hourly, time.Minute))
		if wait, _ := reserve(t, s, "b", hourly, 0); !isAbout(wait, 7*time.Hour) {
			t.Errorf("a shorter pause has changed the wait to %v", wait)
		}
	})
	t.Run("intervals may be microseconds", func(t *testing.T) {
		fast := state.Rate{Interval: 50 * time.Microsecond, Burst: 1, MaxWait: time.Minute}
		for range 101 {
			if wait, ok := reserve(t, s, "fast", fast, time.Minute); !ok || wait > 100*fast.Interval {
				t.Fatalf("wait %v, ok %t", wait, ok)
			}
		}
	})
}

func testSharedPace(t *testing.T, open func() state.Store) {
	stores := [2]state.Store{open(), open()}
	defer stores[0].Close()
	defer stores[1].Close()
	rate := state.Rate{Interval: time.Hour, Burst: 4, MaxWait: 2 * time.Hour}
	var all sync.WaitGroup
	var passed atomic.Int64
	for i := range 32 {
		all.Go(func() {
			_, ok, err := stores[i%2].Reserve(t.Context(), "x", rate, 2*time.Hour)
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
		t.Errorf("%d events were reserved, want a burst of 4 and 2 that wait", passed.Load())
	}
}

func testStaleReservations(t *testing.T, open func() state.Store) {
	s := open()
	defer s.Close()
	slow := state.Rate{Interval: 24 * time.Hour, Burst: 1, MaxWait: 48 * time.Hour}
	for range 3 {
		if _, ok := reserve(t, s, "x", slow, 48*time.Hour); !ok {
			t.Fatal("the event is not reserved")
		}
	}
	// Under the new rate no reservation can be that far ahead.
	fast := state.Rate{Interval: time.Minute, Burst: 2, MaxWait: 10 * time.Second}
	if wait, ok := reserve(t, s, "x", fast, 0); ok || wait > 70*time.Second || wait < 30*time.Second {
		t.Errorf("an event that cannot wait: wait %v, ok %t", wait, ok)
	}
	if wait, ok := reserve(t, s, "x", fast, 2*time.Minute); !ok || wait > 70*time.Second {
		t.Errorf("an event that can wait: wait %v, ok %t", wait, ok)
	}
}
