package approval_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"hatchel/runtime/approval"
	"hatchel/runtime/postgres/postgrestest"
	"hatchel/runtime/state"
)

// onEveryStore runs a test on a file and, where there is a server, on a database; open opens the same store again.
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

// database is the address of a schema of the test's own.
func database(t testing.TB) string {
	t.Helper()
	address, _ := postgrestest.Schema(t)
	return address
}

// remembered is a book that ends with the test.
func remembered(t testing.TB) (*approval.Book, state.Store) {
	s := opened(t)(state.Open(t.Context(), ""))
	return approval.NewBook(s), s
}

func request(subject string) approval.Request {
	now := time.Now()
	return approval.Request{
		Tool: "refund", Message: "Refund 120.", Arguments: json.RawMessage(`{"amount":120}`), Caller: approval.Who{Subject: subject},
		Rules: []string{"tool.refund.approval"}, Asked: now, Until: now.Add(5 * time.Minute),
	}
}

func asked(t testing.TB, b *approval.Book, purpose string) *approval.Approval {
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

// atOnce does something in 32 goroutines and counts how often it reports true.
func atOnce(do func(i int) bool) int {
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

// hears has a book told of what others change, from now on.
func hears(t testing.TB, s state.Store, b *approval.Book) {
	ctx, cancel := context.WithCancel(t.Context())
	var hearing sync.WaitGroup
	began := make(chan struct{}, 1)
	hearing.Go(func() {
		s.Watch(ctx, func(kind, name string) {
			b.Changed(kind, name)
			select {
			case began <- struct{}{}:
			default:
			}
		})
	})
	t.Cleanup(hearing.Wait)
	t.Cleanup(cancel)
	select {
	case <-began:
	case <-time.After(time.Minute):
		t.Fatal("it does not begin to hear")
	}
}

func names(list []*approval.Entry) string {
	var out []string
	for _, e := range list {
		out = append(out, e.ID)
	}
	return fmt.Sprint(out)
}
