package runtime

import (
	"context"
	"time"

	"hatchel/internal/ctxtime"
	"hatchel/runtime/approval"
	"hatchel/runtime/state"
	"hatchel/runtime/task"
	"hatchel/runtime/webhook"
)

// watch opens the store and, from the first call on, handles what other processes change or leave
// behind.
func (s *State) watch(ctx context.Context) error {
	opened, err := s.open(ctx)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.watching {
		return nil
	}
	failures := s.process.LogFailures("watching the state store for changes")
	s.watching = s.process.Go(func(ctx context.Context) {
		onChange := func(kind, name string) { s.onRemoteChange(ctx, opened, kind, name) }
		opened.Watch(ctx, onChange, failures.Record)
	})
	remote, looks := opened.Store.(state.RemoteStore)
	if looks {
		s.process.Go(func(ctx context.Context) { s.look(ctx, remote, opened.book) })
	}
	s.tasks.Watch(looks)
	return nil
}

// onRemoteChange is called when another process has changed a record, or, with an empty kind, any
// record.
func (s *State) onRemoteChange(ctx context.Context, opened *openState, kind, name string) {
	if kind == "" || kind == task.Kind {
		s.tasks.OnRemoteChange(ctx, name)
	}
	opened.book.NotifyChange(kind, name)
	if kind == "" || kind == webhook.Kind {
		s.outbox.Wake()
	}
	if kind == "" || kind == approval.Kind {
		s.recordDecisions(name)
	}
}

// look finds, every second, the changes of awaited approvals and tasks that another process made and could not
// announce, because it died in that moment. What cannot be read now is found a second later.
func (s *State) look(ctx context.Context, store state.RemoteStore, book *approval.Store) {
	for ctxtime.Sleep(ctx, time.Second) == nil {
		if s.tasks.Look(ctx, store) == nil {
			book.Look(ctx, store)
		}
	}
}
