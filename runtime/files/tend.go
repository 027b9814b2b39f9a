package files

import (
	"context"
	"time"

	"hatchel/runtime/state"
)

// A process that takes files says so again and again. What one was taking that has not for a while, and does not when it is given another chance, is forgotten by another, or by the one that
// comes after it: what has come of the file takes room, and nobody can find it.
const (
	heartbeat = 5 * time.Second
	lease     = 4 * heartbeat
)

// mostLeft is how many uploads are looked at at once.
const mostLeft = 256

// Tend has what other processes have left behind in the store forgotten, from now on until Close. It does nothing where that was begun.
func (s *Shelf) Tend(ctx context.Context, store state.Store) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stop != nil {
		return
	}
	ctx, s.stop = context.WithCancel(context.WithoutCancel(ctx))
	s.tending.Go(func() { tend(ctx, store) })
}

// tend looks for it again and again. What fails is tried again at the next look.
func tend(ctx context.Context, store state.Store) {
	tick := time.NewTicker(lease)
	defer tick.Stop()
	var missed map[string]int // uploads without a process at the last look, and their versions
	for ctx.Err() == nil {
		missed = sweep(ctx, store, missed)
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

// sweep forgets the uploads that had no process before and have none now, and returns those that have none since.
func sweep(ctx context.Context, store state.Store, before map[string]int) (missed map[string]int) {
	left, err := store.List(ctx, state.Query{Kind: kindFile, Orphaned: true, Limit: mostLeft})
	if err != nil {
		return before
	}
	missed = map[string]int{}
	for _, r := range left {
		if version, known := before[r.Name]; !known || version != r.Version {
			missed[r.Name] = r.Version
		} else if _, err := forget(ctx, store, r); err != nil {
			missed[r.Name] = r.Version
		}
	}
	return missed
}

// attend says that this process takes files, now and until the function that it returns is called.
func (s *Shelf) attend(ctx context.Context, store state.Store) (leave func(), err error) {
	if err := s.present(ctx, store); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(heartbeat)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				s.present(ctx, store) // what fails is tried again at the next beat
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() { cancel(); <-done }, nil
}

// present says that this process is there, unless it just has.
func (s *Shelf) present(ctx context.Context, store state.Store) error {
	now := time.Now()
	s.mu.Lock()
	recent := now.Sub(s.beaten) < heartbeat/2
	s.mu.Unlock()
	if recent {
		return nil
	}
	if err := store.Present(ctx, s.owner, now.Add(lease)); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.beaten = now
	return nil
}
