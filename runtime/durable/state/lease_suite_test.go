package state_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"hatchel/runtime/durable/state"
)

// worker returns a process that works with a store, and a lease on records of kind "k".
func worker(t *testing.T, s state.Store) (*state.Process, *state.Lease) {
	t.Helper()
	p := state.NewProcess(t.Context(), func(context.Context) (state.Store, error) { return s, nil })
	t.Cleanup(p.Close)
	return p, &state.Lease{Process: p, Kind: "k", TTL: 20 * time.Millisecond}
}

func leaseRecord(key string) *state.Record {
	return &state.Record{Name: key + " record", UniqueKey: key, Expires: time.Now().Add(time.Hour), Body: []byte("begun")}
}

func begin(t *testing.T, l *state.Lease, r, before *state.Record) *state.Hold {
	t.Helper()
	h, existing, err := l.Begin(t.Context(), r, before)
	if err != nil || existing != nil || h == nil {
		t.Fatalf("Begin = %v, %v, %v", h, existing, err)
	}
	return h
}

func testLease(t *testing.T, open func() state.Store) {
	s := open()
	defer s.Close()
	t.Run("Begin makes the process the living owner", func(t *testing.T) {
		p, l := worker(t, s)
		h := begin(t, l, leaseRecord("a"), nil)
		defer h.Release()
		if r := known(t, s, "a record"); r == nil || r.Owner != p.Name() || !r.OwnerAlive {
			t.Errorf("the store has %+v", r)
		}
	})
	t.Run("Begin returns the record that has the unique key", func(t *testing.T) {
		_, l := worker(t, s)
		defer begin(t, l, leaseRecord("b"), nil).Release()
		second := leaseRecord("b")
		second.Name = "another name"
		h, existing, err := l.Begin(t.Context(), second, nil)
		if h != nil || err != nil || existing == nil || existing.Name != "b record" {
			t.Errorf("Begin = %v, %v, %v", h, existing, err)
		}
	})
	t.Run("Finish leaves the record without an owner", func(t *testing.T) {
		_, l := worker(t, s)
		h := begin(t, l, leaseRecord("c"), nil)
		h.Record.Body = []byte("done")
		if won, err := h.Finish(t.Context()); !won || err != nil {
			t.Fatalf("Finish = %v, %v", won, err)
		}
		if r := known(t, s, "c record"); r.Owner != "" || string(r.Body) != "done" {
			t.Errorf("the store has %+v", r)
		}
	})
	t.Run("Finish reports a record that was taken away", func(t *testing.T) {
		_, l := worker(t, s)
		h := begin(t, l, leaseRecord("d"), nil)
		remove(t, s, known(t, s, "d record"))
		if won, err := h.Finish(t.Context()); won || err != nil {
			t.Errorf("Finish = %v, %v", won, err)
		}
	})
	t.Run("one process takes a record that waits", func(t *testing.T) {
		_, l := worker(t, s)
		h := begin(t, l, leaseRecord("e"), nil)
		if _, err := h.Finish(t.Context()); err != nil {
			t.Fatal(err)
		}
		waiting, other := known(t, s, "e record"), known(t, s, "e record")
		_, m := worker(t, s)
		defer begin(t, l, leaseRecord("e"), waiting).Release()
		h, existing, err := m.Begin(t.Context(), leaseRecord("e"), other)
		if h != nil || err != nil || existing != other {
			t.Errorf("the second Begin = %v, %v, %v", h, existing, err)
		}
	})
}

func testOrphanHandler(t *testing.T, open func() state.Store) {
	s := open()
	defer s.Close()
	_, l := worker(t, s)
	held := begin(t, l, leaseRecord("held"), nil)
	defer held.Release()
	dead := &state.Record{Kind: "k", Name: "dead", Owner: "dead process", Expires: time.Now().Add(time.Hour)}
	add(t, s, dead)
	handled := make(chan string, 10)
	failures := 2
	l.OnOrphan = func(ctx context.Context, store state.Store, r *state.Record) error {
		if failures--; failures >= 0 {
			return errors.New("not now")
		}
		handled <- r.Name
		_, err := store.Remove(ctx, r)
		return err
	}
	l.Watch()
	if name := <-handled; name != "dead" {
		t.Errorf("%q was handled", name)
	}
	eventually(t, func() bool { return known(t, s, "dead") == nil })
	time.Sleep(5 * l.TTL)
	if known(t, s, "held record") == nil || len(handled) != 0 {
		t.Errorf("the record of a living process was handled")
	}
}

// lossyStore makes changes whose outcome it does not report, as a store does whose connection breaks.
type lossyStore struct {
	state.Store
	lose bool
}

func (s *lossyStore) Add(ctx context.Context, r *state.Record) (*state.Record, error) {
	existing, err := s.Store.Add(ctx, r)
	if s.lose {
		return nil, state.ErrUnavailable
	}
	return existing, err
}

func (s *lossyStore) Replace(ctx context.Context, r *state.Record) (bool, error) {
	won, err := s.Store.Replace(ctx, r)
	if s.lose {
		return false, state.ErrUnavailable
	}
	return won, err
}

func testUndoneBegin(t *testing.T, open func() state.Store) {
	s := &lossyStore{Store: open()}
	defer s.Close()
	t.Run("a record that was added is removed", func(t *testing.T) {
		_, l := worker(t, s)
		s.lose = true
		_, _, err := l.Begin(t.Context(), leaseRecord("new"), nil)
		s.lose = false
		if !errors.Is(err, state.ErrUnavailable) || known(t, s, "new record") == nil {
			t.Fatalf("Begin fails with %v", err)
		}
		eventually(t, func() bool { return known(t, s, "new record") == nil })
	})
	t.Run("a record that was taken waits again", func(t *testing.T) {
		_, l := worker(t, s)
		h := begin(t, l, leaseRecord("waiting"), nil)
		h.Record.Body = []byte("waits")
		h.Finish(t.Context())
		waiting := known(t, s, "waiting record")
		s.lose = true
		_, _, err := l.Begin(t.Context(), leaseRecord("waiting"), waiting)
		s.lose = false
		if !errors.Is(err, state.ErrUnavailable) || known(t, s, "waiting record").Owner == "" {
			t.Fatalf("Begin fails with %v", err)
		}
		eventually(t, func() bool {
			r := known(t, s, "waiting record")
			return r.Owner == "" && string(r.Body) == "waits"
		})
	})
}
