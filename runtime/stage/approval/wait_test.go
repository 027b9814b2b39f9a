package approval_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"hatchel/runtime/durable/state"
	"hatchel/runtime/stage/approval"
)

func TestAwaitNoticesDecisionOfAnotherProcess(t *testing.T) {
	onEveryStore(t, func(t *testing.T, open func() state.Store) {
		here := open()
		waits, decides := approval.NewStore(here), approval.NewStore(open())
		watch(t, here, waits)
		a := openNew(t, waits, "x")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		waited := make(chan error, 1)
		go func() {
			got, err := waits.Wait(ctx, a, 0, nil)
			if err == nil && (got.Status != approval.Approved || got.Decision.By != "bob") {
				err = fmt.Errorf("%+v", got)
			}
			waited <- err
		}()
		if _, err := decides.Decide(t.Context(), a.ID, true, by("bob")); err != nil {
			t.Fatal(err)
		}
		if err := <-waited; err != nil {
			t.Error(err)
		}
	})
}

// countingStore counts reads.
type countingStore struct {
	state.Store
	reads atomic.Int64
}

func (c *countingStore) Record(ctx context.Context, kind, name string) (*state.Record, error) {
	c.reads.Add(1)
	return c.Store.Record(ctx, kind, name)
}

func (c *countingStore) List(ctx context.Context, q state.Query) ([]*state.Record, error) {
	c.reads.Add(1)
	return c.Store.List(ctx, q)
}

func TestOnlyWaitersOfChangedApprovalsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, store := newBook(t)
		c := &countingStore{Store: store}
		b := approval.NewStore(c)
		ctx, cancel := context.WithCancel(t.Context())
		var waiting sync.WaitGroup
		var ids []string
		for i := range 1000 {
			a := openNew(t, b, fmt.Sprint(i))
			ids = append(ids, a.ID)
			waiting.Go(func() { b.Wait(ctx, a, 0, nil) })
		}
		synctest.Wait()
		count := func(what string, do func(), most int64) {
			before := c.reads.Load()
			do()
			synctest.Wait()
			if n := c.reads.Load() - before; n > most {
				t.Errorf("%s: records are read %d times", what, n)
			}
		}
		count("a decision", func() {
			if _, err := b.Decide(t.Context(), ids[7], true, by("bob")); err != nil {
				t.Error(err)
			}
		}, 10)
		count("a record of another kind", func() { b.NotifyChange("delivery", "x") }, 0)
		count("an approval nobody waits for", func() { b.NotifyChange(approval.Kind, "x") }, 0)
		count("one of another process", func() { b.NotifyChange(approval.Kind, ids[8]) }, 2)
		count("anything", func() { b.NotifyChange("", "") }, 1100)
		cancel()
		waiting.Wait()
	})
}

func TestAwaitTicksAndEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := newBook(t)
		a := openNew(t, b, "x")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		ticks := 0
		if got, err := b.Wait(ctx, a, 9*time.Second, func() { ticks++ }); !errors.Is(err, context.DeadlineExceeded) || got != nil {
			t.Errorf("%+v %v", got, err)
		}
		if ticks != 6 {
			t.Errorf("in a minute it was ticked %d times", ticks)
		}
		if a, err := b.Find(t.Context(), a.ID); err != nil || a.Status != approval.Pending {
			t.Errorf("when nobody waits any more it is %+v (%v)", a, err)
		}
	})
}

// flakyStore is unavailable on demand.
type flakyStore struct {
	state.Store
	unavailable atomic.Bool
}

func (b *flakyStore) Record(ctx context.Context, kind, name string) (*state.Record, error) {
	if b.unavailable.Load() {
		return nil, state.ErrUnavailable
	}
	return b.Store.Record(ctx, kind, name)
}

func TestAwaitGoesOnWhileTheStoreIsUnavailable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, store := newBook(t)
		s := &flakyStore{Store: store}
		b := approval.NewStore(s)
		a := openNew(t, b, "x")
		s.unavailable.Store(true)
		waited := make(chan *approval.Approval, 1)
		go func() {
			got, err := b.Wait(t.Context(), a, 0, nil)
			if err != nil {
				t.Error(err)
			}
			waited <- got
		}()
		time.Sleep(time.Minute)
		if _, err := approval.NewStore(store).Decide(t.Context(), a.ID, true, by("bob")); err != nil {
			t.Fatal(err)
		}
		s.unavailable.Store(false)
		if got := <-waited; got.Status != approval.Approved {
			t.Errorf("%+v", got)
		}
	})
}

func TestAwaitFindsADecisionThatWasNotAnnounced(t *testing.T) {
	address := database(t)
	store, err := state.OpenPostgres(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	waits, decides := approval.NewStore(store), approval.NewStore(openedDatabase(t)(state.OpenPostgres(t.Context(), address)))
	a := openNew(t, waits, "x")
	waited := make(chan error, 1)
	go func() {
		got, err := waits.Wait(t.Context(), a, 0, nil)
		if err == nil && got.Status != approval.Approved {
			err = fmt.Errorf("%+v", got)
		}
		waited <- err
	}()
	if _, err := decides.Decide(t.Context(), a.ID, true, by("bob")); err != nil {
		t.Fatal(err)
	}
	for tick := time.NewTicker(10 * time.Millisecond); ; { // it may not wait yet
		select {
		case err := <-waited:
			tick.Stop()
			if err != nil {
				t.Error(err)
			}
			return
		case <-tick.C:
			if err := waits.Look(t.Context(), store); err != nil {
				t.Fatal(err)
			}
		}
	}
}
