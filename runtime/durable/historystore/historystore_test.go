package historystore

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"hatchel/runtime/durable/postgres/postgrestest"
	"hatchel/runtime/durable/state"
	"hatchel/runtime/observe/metrics"
)

// testProcess is a process that counts calls.
type testProcess struct {
	metrics *metrics.Metrics
	history *metrics.History
	*Keeper
}

// inEachStore runs a test with a store of its own of each kind, which each process opens.
func inEachStore(t *testing.T, test func(t *testing.T, open func() state.Store)) {
	run := func(name string, open func(*testing.T) func() (state.Store, error)) {
		t.Run(name, func(t *testing.T) {
			opens := open(t)
			test(t, func() state.Store {
				s, err := opens()
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { s.Close() })
				return s
			})
		})
	}
	run("SQLite", func(t *testing.T) func() (state.Store, error) {
		path := filepath.Join(t.TempDir(), "state.db")
		return func() (state.Store, error) { return state.Open(t.Context(), path) }
	})
	run("PostgreSQL", func(t *testing.T) func() (state.Store, error) {
		address, _ := postgrestest.Schema(t)
		return func() (state.Store, error) { return state.OpenPostgres(t.Context(), address) }
	})
}

// start starts a process with a state; one without a state, which is nil, keeps nothing.
func start(t *testing.T, store state.Store) *testProcess {
	t.Helper()
	open := func(context.Context) (state.Store, error) { return store, nil }
	process := state.NewProcess(t.Context(), open)
	t.Cleanup(process.Close)
	p := &testProcess{metrics: metrics.New()}
	p.history = metrics.StartHistory(t.Context(), p.metrics)
	t.Cleanup(p.history.Close)
	p.Keeper = Keep(process, open, p.history)
	t.Cleanup(p.Keeper.Close)
	return p
}

func (p *testProcess) call(tool string, n int) {
	o := p.metrics.Operation("tool", tool)
	for range n {
		o.Begin()
		o.End(&metrics.Call{Outcome: "ok", Duration: time.Millisecond})
	}
}

// seen returns how many calls of the last day the process knows of, after it has read those of others.
func (p *testProcess) seen(t *testing.T) uint32 {
	t.Helper()
	p.mu.Lock()
	p.read = time.Time{}
	p.mu.Unlock()
	p.history.Read(time.Now())
	p.Refresh(t.Context(), time.Now())
	return p.history.Server().LastDay.OK
}

func TestHistorySurvivesARestart(t *testing.T) {
	inEachStore(t, func(t *testing.T, open func() state.Store) {
		first := start(t, open())
		first.call("refund", 7)
		first.Close()
		second := start(t, open())
		second.call("refund", 2)
		if n := second.seen(t); n != 9 {
			t.Errorf("%d calls after a restart", n)
		}
		if c, _ := second.history.Chart("refund"); c.LastDay.OK != 9 {
			t.Errorf("%d calls of the tool", c.LastDay.OK)
		}
	})
}

func TestEachProcessShowsTheCallsOfAll(t *testing.T) {
	inEachStore(t, func(t *testing.T, open func() state.Store) {
		a, b := start(t, open()), start(t, open())
		a.call("refund", 7)
		b.call("refund", 2)
		for range 2 { // the second record replaces the first
			a.call("refund", 1)
			b.call("order", 1)
			for _, p := range []*testProcess{a, b} {
				if err := p.writeRecord(t.Context(), time.Now()); err != nil {
					t.Fatal(err)
				}
			}
		}
		if a.seen(t) != 13 || b.seen(t) != 13 {
			t.Errorf("%d and %d calls", a.seen(t), b.seen(t))
		}
		version := a.record.Version
		if err := a.writeRecord(t.Context(), time.Now()); err != nil || a.record.Version != version {
			t.Errorf("a record without new calls is written: %v", err)
		}
	})
}

func TestWithoutALastingStoreNothingIsKept(t *testing.T) {
	p := start(t, nil)
	p.call("refund", 7)
	if err := p.writeRecord(t.Context(), time.Now()); err != nil {
		t.Fatal(err)
	}
	if p.Refresh(t.Context(), time.Now()) || p.seen(t) != 7 {
		t.Errorf("%d calls", p.seen(t))
	}
}
