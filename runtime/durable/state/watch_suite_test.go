package state_test

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"hatchel/runtime/durable/state"
)

// watch returns the announcements of a store, from now until stop is called.
func watch(t testing.TB, s state.Store) (announced chan string, stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	all := make(chan string, 100)
	var watching sync.WaitGroup
	watching.Go(func() {
		s.Watch(ctx, func(kind, name string) { all <- strings.TrimSpace(kind + " " + name) }, func(error) {})
	})
	expectAnnounced(t, all, "")
	return all, func() {
		cancel()
		watching.Wait()
	}
}

// expectAnnounced waits for announcements. An empty one says that any record may have changed.
func expectAnnounced(t testing.TB, announced <-chan string, want ...string) {
	t.Helper()
	for _, want := range want {
		select {
		case got := <-announced:
			if got != want {
				t.Fatalf("%q is announced, want %q", got, want)
			}
		case <-time.After(time.Minute):
			t.Fatalf("%q is not announced", want)
		}
	}
}

func testWatch(t *testing.T, open func() state.Store) {
	here, there := open(), open()
	defer here.Close()
	defer there.Close()
	announced, stop := watch(t, here)
	defer stop()
	later := time.Now().Add(time.Hour)
	// change adds, replaces and removes a record, each with an attempt that changes nothing.
	change := func(s state.Store, name string) {
		add(t, s, recordOf(name, later))
		add(t, s, recordOf(name, later))
		r := known(t, s, name)
		stale := *r
		replace(t, s, r)
		replace(t, s, &stale)
		remove(t, s, &stale)
		remove(t, s, r)
	}
	changeQuietly := func(t *testing.T, s state.Store) {
		r := recordOf("quiet", later)
		r.NoNotify = true
		if !add(t, s, r) || !replace(t, s, r) || !remove(t, s, r) {
			t.Error("the quiet change was not made")
		}
	}
	t.Run("each change once, but no quiet and no own ones", func(t *testing.T) {
		for round := range 2 {
			change(here, "own "+strconv.Itoa(round))
			changeQuietly(t, here)
			name := "with spaces " + strconv.Itoa(round)
			change(there, name)
			changeQuietly(t, there)
			expectAnnounced(t, announced, "k "+name, "k "+name, "k "+name)
		}
	})
	t.Run("a record with a long name", func(t *testing.T) {
		long := strings.Repeat("long", 3000)
		add(t, there, recordOf(long, later))
		select {
		case got := <-announced:
			if got != "" && got != "k "+long {
				t.Errorf("%q is announced", got)
			}
		case <-time.After(time.Minute):
			t.Fatal("nothing is announced")
		}
	})
}
