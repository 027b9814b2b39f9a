package callstore

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"hatchel/runtime/durable/postgres/postgrestest"
	"hatchel/runtime/durable/state"
	"hatchel/runtime/observe/event"
	"hatchel/runtime/observe/recent"
)

// counting counts what is written.
type counting struct {
	state.Store
	writes int
	err    error // of the next writes; nil for none
}

func (c *counting) Add(ctx context.Context, r *state.Record) (*state.Record, error) {
	if c.writes++; c.err != nil {
		return nil, c.err
	}
	return c.Store.Add(ctx, r)
}

func (c *counting) Replace(ctx context.Context, r *state.Record) (bool, error) {
	if c.writes++; c.err != nil {
		return false, c.err
	}
	return c.Store.Replace(ctx, r)
}

// process is a process that makes calls.
type process struct {
	*Store
	log   *recent.Log
	state *counting
	calls int
}

// newProcess returns a process that keeps calls, and writes them when it is told to.
func newProcess(t *testing.T, name string, store state.Store) *process {
	t.Helper()
	p := &process{log: recent.NewLog(name), state: &counting{Store: store}}
	owner := state.NewProcess(t.Context(), func(context.Context) (state.Store, error) { return p.state, nil })
	t.Cleanup(func() { owner.Close() })
	p.Store = New(owner, func() *recent.Log { return p.log })
	p.keep = time.Hour
	return p
}

// make makes so many calls.
func (p *process) make(n int) {
	now := time.Now()
	for range n {
		p.calls++
		e := p.log.Begin(&event.Call{ID: fmt.Appendf(nil, "%d", p.calls), Name: "refund"}, now)
		e.End(&event.Call{Outcome: "ok"}, "", now.Add(time.Millisecond))
	}
}

func (p *process) write(t *testing.T) {
	t.Helper()
	if err := p.writeEnded(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// others returns how many calls each other process has, as this one sees them.
func (p *process) others(t *testing.T) map[string]int {
	t.Helper()
	calls, err := p.Calls(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !slices.IsSortedFunc(calls, func(a, b *recent.Call) int { return b.Began.Compare(a.Began) }) {
		t.Error("the calls are not sorted")
	}
	of := map[string]int{}
	for _, c := range calls {
		if c.End == nil || c.End.Outcome != "ok" || c.Tool != "refund" {
			t.Errorf("a call reads as %+v", c)
		}
		of[c.Process]++
	}
	return of
}

// inEachStore runs a test with a store of its own of each kind.
func inEachStore(t *testing.T, test func(t *testing.T, open func() state.Store)) {
	t.Run("SQLite", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "state.db")
		test(t, func() state.Store {
			s, err := state.Open(t.Context(), path)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { s.Close() })
			return s
		})
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		address, _ := postgrestest.Schema(t)
		test(t, func() state.Store {
			s, err := state.OpenPostgres(t.Context(), address)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { s.Close() })
			return s
		})
	})
}

func TestEachProcessHasTheCallsOfTheOthers(t *testing.T) {
	inEachStore(t, func(t *testing.T, open func() state.Store) {
		store := open()
		a, b := newProcess(t, "a", store), newProcess(t, "b", store)
		a.make(70)
		a.write(t)
		a.make(3)
		a.write(t)
		b.make(2)
		b.write(t)
		if got := fmt.Sprint(a.others(t)); got != "map[b:2]" {
			t.Errorf("a sees %s", got)
		}
		if got := fmt.Sprint(b.others(t)); got != "map[a:73]" {
			t.Errorf("b sees %s", got)
		}
		a.make(1)
		a.write(t)
		if got := fmt.Sprint(newProcess(t, "a after a restart", store).others(t)); got != "map[a:74 b:2]" {
			t.Errorf("a process that begins later sees %s", got)
		}
	})
}

// TestCallsTakeOneStatementAndTheRestIsCounted makes more calls between two writes than are kept.
func TestCallsTakeOneStatementAndTheRestIsCounted(t *testing.T) {
	inEachStore(t, func(t *testing.T, open func() state.Store) {
		p := newProcess(t, "a", open())
		for i := range 20 {
			p.make(recent.Kept + 50)
			p.write(t)
			if p.state.writes != i+1 {
				t.Fatalf("%d statements after %d writes", p.state.writes, i+1)
			}
			p.write(t) // nothing has ended
		}
		if got := p.Dropped(); got != 20*50 {
			t.Errorf("%d calls are counted as left out, of %d", got, 20*50)
		}
		if len(p.records) > recent.Kept/fullRecord+2 {
			t.Errorf("a process has %d records", len(p.records))
		}
		if got := newProcess(t, "b", p.state.Store).others(t)["a"]; got != recent.Kept {
			t.Errorf("%d calls are read", got)
		}
	})
}

func TestCallsAreWrittenAfterTheStateWasAway(t *testing.T) {
	store, err := state.Open(t.Context(), filepath.Join(t.TempDir(), "state.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	p := newProcess(t, "a", store)
	p.state.err = errors.New("the database is away")
	for range 3 {
		p.make(5)
		if err := p.writeEnded(t.Context()); !errors.Is(err, p.state.err) {
			t.Fatal(err)
		}
	}
	p.state.err = nil
	p.make(1)
	p.write(t)
	if got := newProcess(t, "b", store).others(t)["a"]; got != 16 || p.Dropped() != 0 {
		t.Errorf("%d calls are stored, and %d left out", got, p.Dropped())
	}
}

func TestNothingIsStoredWithoutKeep(t *testing.T) {
	p := newProcess(t, "a", nil) // which it does not use
	p.SetKeep(0)
	p.make(3)
	if calls, err := p.Calls(t.Context()); calls != nil || err != nil || p.state.writes > 0 {
		t.Errorf("%d calls, %v, %d writes", len(calls), err, p.state.writes)
	}
}

// TestTheLastCallsAreStoredAtTheEnd closes a Store before its next write.
func TestTheLastCallsAreStoredAtTheEnd(t *testing.T) {
	store, err := state.Open(t.Context(), filepath.Join(t.TempDir(), "state.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	p := newProcess(t, "a", store)
	p.SetKeep(time.Hour)
	p.make(4)
	p.Close()
	if got := newProcess(t, "b", store).others(t)["a"]; got != 4 {
		t.Errorf("%d calls are stored", got)
	}
}
