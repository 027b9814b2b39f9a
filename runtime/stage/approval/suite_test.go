package approval_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"hatchel/runtime/durable/postgres/postgrestest"
	"hatchel/runtime/durable/state"
	"hatchel/runtime/stage/approval"
)

// onEveryStore runs a test with SQLite and, where there is a server, with PostgreSQL. Each call of open opens the same store.
func onEveryStore(t *testing.T, test func(t *testing.T, open func() state.Store)) {
	t.Run("sqlite", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "state.db")
		test(t, func() state.Store { return opened(t)(state.Open(t.Context(), file)) })
	})
	t.Run("postgres", func(t *testing.T) {
		address := database(t)
		test(t, func() state.Store { return openedDatabase(t)(state.OpenPostgres(t.Context(), address)) })
	})
}

func opened(t testing.TB) func(*state.SQLite, error) state.Store {
	return func(s *state.SQLite, err error) state.Store { return closing(t, s, err) }
}

func openedDatabase(t testing.TB) func(*state.Postgres, error) state.Store {
	return func(s *state.Postgres, err error) state.Store { return closing(t, s, err) }
}

func closing(t testing.TB, s state.Store, err error) state.Store {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// database returns the address of an empty schema.
func database(t testing.TB) string {
	t.Helper()
	address, _ := postgrestest.Schema(t)
	return address
}

// newBook returns the approvals in a new store.
func newBook(t testing.TB) (*approval.Store, state.Store) {
	s := opened(t)(state.Open(t.Context(), ""))
	return approval.NewStore(s), s
}

func request(subject string) approval.Request {
	now := time.Now()
	return approval.Request{
		Tool: "refund", Message: "Refund 120.", Arguments: json.RawMessage(`{"amount":120}`), Caller: approval.Requester{Subject: subject},
		Rules: []string{"tool.refund.approval"}, RequestedAt: now, Deadline: now.Add(5 * time.Minute),
	}
}

func openNew(t testing.TB, b *approval.Store, purpose string) *approval.Approval {
	t.Helper()
	a, isNew, err := b.Open(t.Context(), purpose, request("ann"))
	if err != nil || !isNew {
		t.Fatalf("%v (new %v): %v", a, isNew, err)
	}
	return a
}

func by(name string) approval.Decision {
	return approval.Decision{By: name, At: time.Now().UTC(), Reason: "because"}
}

// concurrently runs do in 32 goroutines and counts how often it reports true.
func concurrently(do func(i int) bool) int {
	var all sync.WaitGroup
	var count atomic.Int64
	for i := range 32 {
		all.Go(func() {
			if do(i) {
				count.Add(1)
			}
		})
	}
	all.Wait()
	return int(count.Load())
}

// watch passes the changes of other processes on to a store.
func watch(t testing.TB, s state.Store, b *approval.Store) {
	ctx, cancel := context.WithCancel(t.Context())
	var hearing sync.WaitGroup
	began := make(chan struct{}, 1)
	hearing.Go(func() {
		s.Watch(ctx, func(kind, name string) {
			b.NotifyChange(kind, name)
			select {
			case began <- struct{}{}:
			default:
			}
		}, func(error) {})
	})
	t.Cleanup(hearing.Wait)
	t.Cleanup(cancel)
	select {
	case <-began:
	case <-time.After(time.Minute):
		t.Fatal("Watch does not start")
	}
}

func names(list []*approval.Entry) string {
	var out []string
	for _, e := range list {
		out = append(out, e.ID)
	}
	return fmt.Sprint(out)
}

// decide decides an approval as bob.
func decide(t testing.TB, b *approval.Store, a *approval.Approval, approved bool) *approval.Approval {
	t.Helper()
	decided, err := b.Decide(t.Context(), a.ID, approved, by("bob"))
	if err != nil {
		t.Fatal(err)
	}
	return decided
}

// use reports whether an approval may be used.
func use(t testing.TB, b *approval.Store, a *approval.Approval) bool {
	t.Helper()
	used, err := b.Use(t.Context(), a)
	if err != nil {
		t.Error(err)
	}
	return used
}

// find returns an approval as it is now, or nil.
func find(t testing.TB, b *approval.Store, id string) *approval.Approval {
	t.Helper()
	a, err := b.Find(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// alreadyDecided returns the DecidedError of an attempt to decide.
func alreadyDecided(t testing.TB, err error) *approval.DecidedError {
	t.Helper()
	var already *approval.DecidedError
	if !errors.As(err, &already) {
		t.Fatalf("error %v, want a DecidedError", err)
	}
	return already
}

// bothBooks returns the approvals of two processes that share a store.
func bothBooks(open func() state.Store) [2]*approval.Store {
	return [2]*approval.Store{approval.NewStore(open()), approval.NewStore(open())}
}
