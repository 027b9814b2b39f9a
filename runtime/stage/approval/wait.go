package approval

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"hatchel/internal/queue"
	"hatchel/runtime/durable/state"
)

// Wait waits until an approval is no longer pending, and returns it. It returns at the deadline of
// the approval at the latest, or with the error of ctx when that ends before. It calls tick in
// intervals of every, if that is positive. It goes on waiting while the store is unavailable. When an approver wants
// to look again at the state before the call, one of the waiting calls reads it with the Observe of its A.
// Decisions of other processes are noticed through [Store.NotifyChange].
func (b *Store) Wait(ctx context.Context, a *Approval, every time.Duration, tick func()) (*Approval, error) {
	changed := b.addWaiter(a.ID)
	defer b.removeWaiter(a.ID, changed)
	var ticks <-chan time.Time
	if every > 0 {
		t := time.NewTicker(every)
		defer t.Stop()
		ticks = t.C
	}
	observe := a.Observe
	for {
		a, recheck, err := b.reload(ctx, a)
		if err != nil || recheck <= 0 {
			return a, err
		}
		if observe != nil && !a.Look.IsZero() {
			if err := b.observe(ctx, a, observe); err != nil {
				return nil, err
			}
			continue
		}
		b.mu.Lock()
		b.waiters[a.ID][changed] = a.record.Version
		b.mu.Unlock()
		timer := time.NewTimer(recheck)
	waiting:
		for {
			select {
			case <-changed:
				break waiting
			case <-timer.C:
				break waiting
			case <-ticks:
				tick()
			case <-ctx.Done():
				timer.Stop()
				return nil, ctx.Err()
			}
		}
		timer.Stop()
	}
}

// minRecheck is the shortest pause between two looks at an approval that nobody has changed.
const minRecheck = time.Second

// reload reads an approval again. It returns when to do so next even if no change is announced, or 0
// when the approval is no longer pending.
func (b *Store) reload(ctx context.Context, a *Approval) (*Approval, time.Duration, error) {
	current, err := b.Find(ctx, a.ID)
	if current != nil {
		current, err = b.expire(ctx, current)
	}
	switch {
	case errors.Is(err, state.ErrUnavailable) && time.Now().Before(a.Deadline):
		return a, minRecheck, nil
	case err != nil:
		return nil, 0, err
	case current == nil:
		return nil, 0, ErrNotFound
	case current.Status == Pending:
		return current, max(time.Until(current.record.Due), minRecheck), nil
	}
	return current, 0, nil
}

// expire stores that an approval has expired, if it has, and returns it as it is then. It stays pending while an
// approver is deciding it: a decision in time counts, even if it takes a moment to be recorded.
func (b *Store) expire(ctx context.Context, a *Approval) (*Approval, error) {
	if a.Status != Expired || a.record.UniqueKey == "" {
		return a, nil
	}
	if a.Proposal != nil {
		a.Status = Pending
		return a, nil
	}
	changed, err := b.setStatus(ctx, a, Expired)
	if err != nil || changed {
		return a, err
	}
	return b.Find(ctx, a.ID) // somebody else has changed it
}

// NotifyChange passes on a change of another process, as announced by state.Store.Watch. It does not read
// the store.
func (b *Store) NotifyChange(kind, name string) {
	switch kind {
	case "":
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, waiters := range b.waiters {
			signalAll(waiters)
		}
	case Kind:
		b.announce(name)
	}
}

// Look wakes up the calls that wait for an approval that another process has changed without an announcement, because
// it died.
func (b *Store) Look(ctx context.Context, store state.RemoteStore) error {
	b.mu.Lock()
	ids := slices.Collect(maps.Keys(b.waiters))
	b.mu.Unlock()
	versions, err := store.Versions(ctx, Kind, ids)
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for id, waiters := range b.waiters {
		for changed, version := range waiters {
			if version != versions[id] {
				changed.Send()
			}
		}
	}
	return nil
}

// announce wakes up the calls that wait for an approval, and calls the function that [Store.OnChange] has set.
func (b *Store) announce(id string) {
	b.mu.Lock()
	signalAll(b.waiters[id])
	b.mu.Unlock()
	if b.onChange != nil {
		b.onChange(id)
	}
}

func signalAll(waiters map[queue.Signal]int) {
	for changed := range waiters {
		changed.Send()
	}
}

// addWaiter returns a channel that is signalled when an approval changes.
func (b *Store) addWaiter(id string) queue.Signal {
	b.mu.Lock()
	defer b.mu.Unlock()
	changed := queue.NewSignal()
	if b.waiters[id] == nil {
		b.waiters[id] = map[queue.Signal]int{}
	}
	b.waiters[id][changed] = 0
	return changed
}

func (b *Store) removeWaiter(id string, changed queue.Signal) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if delete(b.waiters[id], changed); len(b.waiters[id]) == 0 {
		delete(b.waiters, id)
	}
}
