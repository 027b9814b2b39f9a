package state_test

import (
	"bytes"
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"hatchel/runtime/durable/state"
)

// storeSuite tests the contract of Store. In one test every call of open opens the same store.
func storeSuite(t *testing.T, open func(t *testing.T) func() state.Store) {
	for _, c := range []struct {
		claim string
		test  func(*testing.T, func() state.Store)
	}{
		{"the secret is created once", testSecret},
		{"records are found and outlive the process", testRecords},
		{"one of concurrent callers adds a record", testConcurrentAdd},
		{"one of concurrent callers replaces a record", testConcurrentReplace},
		{"stale versions change nothing", testStaleVersions},
		{"records of dead owners are orphaned", testOrphans},
		{"a lease has one living owner", testLease},
		{"orphans of a lease are handled", testOrphanHandler},
		{"a begin of unknown outcome is undone", testUndoneBegin},
		{"records are listed in order", testList},
		{"expired records do not exist", testExpiry},
		{"Watch announces changes of other processes", testWatch},
		{"Pace spreads events", testPace},
		{"stale reservations are moved closer", testStaleReservations},
		{"processes share a rate", testSharedPace},
		{"a cancelled call changes nothing", testCancelled},
	} {
		t.Run(c.claim, func(t *testing.T) { c.test(t, open(t)) })
	}
}

// must fails the test on an error, and returns the value otherwise.
func must[T any](t testing.TB) func(v T, err error) T {
	t.Helper()
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// known returns the record with a name, or nil.
func known(t testing.TB, s state.Store, name string) *state.Record {
	t.Helper()
	return must[*state.Record](t)(s.Record(context.WithoutCancel(t.Context()), "k", name))
}

// add adds a record, and reports whether it was added.
func add(t testing.TB, s state.Store, r *state.Record) bool {
	t.Helper()
	return must[*state.Record](t)(s.Add(context.WithoutCancel(t.Context()), r)) == nil
}

func replace(t testing.TB, s state.Store, r *state.Record) bool {
	t.Helper()
	return must[bool](t)(s.Replace(context.WithoutCancel(t.Context()), r))
}

func remove(t testing.TB, s state.Store, r *state.Record) bool {
	t.Helper()
	return must[bool](t)(s.Remove(context.WithoutCancel(t.Context()), r))
}

func testSecret(t *testing.T, open func() state.Store) {
	s := open()
	first := must[[]byte](t)(state.Secret(t.Context(), s))
	if len(first) != state.SecretSize || bytes.Equal(first, make([]byte, state.SecretSize)) {
		t.Fatalf("got %x", first)
	}
	check(t, s.Close())
	s = open()
	defer s.Close()
	if again := must[[]byte](t)(state.Secret(t.Context(), s)); !bytes.Equal(again, first) {
		t.Error("it changed")
	}
}

func testCancelled(t *testing.T, open func() state.Store) {
	s := open()
	defer s.Close()
	there := recordOf("there", time.Now())
	add(t, s, there)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if before, err := s.Add(ctx, recordOf("x", time.Now())); before != nil || err == nil {
		t.Errorf("got %v %v", before, err)
	}
	if won, err := s.Replace(ctx, there); won || err == nil {
		t.Errorf("got %v %v", won, err)
	}
	if gone, err := s.Remove(ctx, there); gone || err == nil {
		t.Errorf("got %v %v", gone, err)
	}
	if !add(t, s, recordOf("x", time.Now())) || !replace(t, s, there) || !remove(t, s, there) {
		t.Error("it was done")
	}
}

// openedAtOnce opens a new store many times concurrently: all of them must have the same secret.
func openedAtOnce(t *testing.T, open func() (state.Store, error)) {
	t.Helper()
	secrets := make([]string, 8)
	var all sync.WaitGroup
	for i := range secrets {
		all.Go(func() {
			s, err := open()
			if err != nil {
				t.Error(err)
				return
			}
			defer s.Close()
			secret, err := state.Secret(t.Context(), s)
			if err != nil {
				t.Error(err)
			}
			secrets[i] = string(secret)
		})
	}
	all.Wait()
	if len(slices.Compact(secrets)) != 1 {
		t.Error("they have different secrets")
	}
}
