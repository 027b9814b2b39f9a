package state_test

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"hatchel/runtime/state"
)

// listens is what a store tells, which it does already, until stop is called.
func listens(t *testing.T, s state.Store) (heard <-chan string, stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	all := make(chan string, 100)
	var watching sync.WaitGroup
	watching.Go(func() { s.Watch(ctx, func(kind, name string) { all <- strings.TrimSpace(kind + " " + name) }) })
	hears(t, all, "")
	return all, func() {
		cancel()
		watching.Wait()
	}
}

// hears waits for what is told.
func hears(t *testing.T, heard <-chan string, want ...string) {
	t.Helper()
	for _, want := range want {
		select {
		case got := <-heard:
			if got != want {
				t.Fatalf("heard %q, not %q", got, want)
			}
		case <-time.After(time.Minute):
			t.Fatalf("%q is not heard", want)
		}
	}
}

func testWatch(t *testing.T, open func() state.Store) {
	a, b := open(), open()
	defer a.Close()
	defer b.Close()
	heard, stop := listens(t, a)
	defer stop()
	later := time.Now().Add(time.Hour)
	for round, s := range []state.Store{a, b, a, b} {
		name := "with spaces " + strconv.Itoa(round)
		add(t, s, recordOf(name, later))
		add(t, s, recordOf(name, later))
		r := known(t, s, name)
		stale := *r
		replace(t, s, r)
		replace(t, s, &stale)
		remove(t, s, &stale)
		remove(t, s, r)
		quiet := recordOf("quiet", later)
		quiet.Quiet = true
		if !add(t, s, quiet) || !replace(t, s, quiet) || !remove(t, s, quiet) {
			t.Error("what is quiet is not done")
		}
		if s == b {
			hears(t, heard, "k "+name, "k "+name, "k "+name)
		}
	}
	long := strings.Repeat("long", 3000)
	add(t, b, recordOf(long, later))
	select {
	case got := <-heard:
		if got != "" && got != "k "+long {
			t.Errorf("of a record with a long name it is heard %q", got)
		}
	case <-time.After(time.Minute):
		t.Fatal("a record with a long name is not heard")
	}
}
