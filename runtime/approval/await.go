package approval

import (
	"context"
	"errors"
	"time"

	"hatchel/runtime/state"
)

// Await returns an approval when it is no longer pending, at its time at the latest; the error is that of ctx when that ends before. Until then tick is called every so often, if
// every is more than 0. While the store is away it goes on waiting. That another process decides is heard through Changed.
func (b *Book) Await(ctx context.Context, a *Approval, every time.Duration, tick func()) (*Approval, error) {
	told := b.listen(a.ID)
	defer b.leave(a.ID, told)
	var ticks <-chan time.Time
	if every > 0 {
		t := time.NewTicker(every)
		defer t.Stop()
		ticks = t.C
	}
	for {
		a, again, err := b.look(ctx, a)
		if err != nil || again <= 0 {
			return a, err
		}
		timer := time.NewTimer(again)
	waiting:
		for {
			select {
			case <-told:
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

// retry is how long a store that was away when it was asked is left alone.
const retry = time.Second

// look reads what has become of an approval, and says how long it may stay so without anybody being told; 0 when it is no longer pending.
func (b *Book) look(ctx context.Context, a *Approval) (*Approval, time.Duration, error) {
	now, err := b.Find(ctx, a.ID)
	if now != nil && now.Status == Expired {
		now, err = b.expire(ctx, now)
	}
	switch {
	case errors.Is(err, state.ErrAway) && time.Now().Before(a.Until):
		return a, retry, nil
	case err != nil:
		return nil, 0, err
	case now == nil:
		return nil, 0, ErrUnknown
	case now.Status == Pending:
		return now, max(time.Until(now.record.Due), retry), nil
	}
	return now, 0, nil
}

// expire notes that nobody has decided in time, or that it was not used, and returns what has become of it. It is still pending when somebody is deciding it: what was decided in
// time holds, also when it takes a moment to be written down.
func (b *Book) expire(ctx context.Context, a *Approval) (*Approval, error) {
	if a.Status != Expired || a.record.Slot == "" {
		return a, nil
	}
	if a.record.Group == string(Pending) {
		p, err := b.store.Holder(ctx, ProposalKind, a.ID)
		if err != nil {
			return nil, err
		}
		if p != nil {
			pending := *a
			pending.Status = Pending
			return &pending, nil
		}
	}
	won, err := b.change(ctx, a, Expired)
	if err != nil || won {
		return a, err
	}
	return b.Find(ctx, a.ID) // somebody else has
}

// Changed tells the book that another process has changed a record, as Store.Watch does. It reads nothing itself, and those who wait read what they wait for.
func (b *Book) Changed(kind, name string) {
	switch {
	case kind == "":
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, told := range b.waiting {
			ring(told)
		}
	case kind == Kind:
		b.wake(name)
	case kind == ProposalKind:
		b.wake(Proposed(name))
	}
}

func (b *Book) wake(id string) {
	b.mu.Lock()
	ring(b.waiting[id])
	b.mu.Unlock()
	if b.told != nil {
		b.told(id)
	}
}

func ring(told map[chan struct{}]struct{}) {
	for c := range told {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

// listen has a channel rung whenever the approval of an ID changes.
func (b *Book) listen(id string) chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	told := make(chan struct{}, 1)
	if b.waiting[id] == nil {
		b.waiting[id] = map[chan struct{}]struct{}{}
	}
	b.waiting[id][told] = struct{}{}
	return told
}

func (b *Book) leave(id string, told chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if delete(b.waiting[id], told); len(b.waiting[id]) == 0 {
		delete(b.waiting, id)
	}
}
