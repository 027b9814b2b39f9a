package webhook

import (
	"context"
	"time"

	"hatchel/runtime/state"
)

// unsettled is the group of what is about something that is not settled, and so not to be delivered to the webhook yet. No webhook is called that.
func unsettled(hook string) string { return "~" + hook }

// lookForSettled looks whether what events are about is settled now: of those that somebody says so of, and of all others now and then. It returns when to look again.
func (o *Outbox) lookForSettled(ctx context.Context, h Hook, s Service) (next time.Time) {
	for name := range o.hastened(h.Name) {
		row, err := o.store.Record(ctx, Kind, name)
		if err == nil && row != nil && row.Group == unsettled(h.Name) {
			next = earlier(next, o.settle(ctx, row, h, s))
		}
	}
	rows, err := o.store.List(ctx, state.Query{Kind: Kind, Group: unsettled(h.Name), Limit: most + 1})
	if err != nil {
		return time.Now().Add(restAfter)
	}
	for _, row := range rows {
		if row.Due.After(time.Now()) {
			return earlier(next, row.Due)
		}
		next = earlier(next, o.settle(ctx, row, h, s))
	}
	if len(rows) > most {
		next = earlier(next, time.Now().Add(pause))
	}
	return next
}

// hastened are the deliveries of a webhook of which somebody says that they are settled.
func (o *Outbox) hastened(hook string) names {
	o.mu.Lock()
	defer o.mu.Unlock()
	ready := o.ready[hook]
	delete(o.ready, hook)
	return ready
}

// settle has an event delivered if what it is about is settled, and returns when to look again.
func (o *Outbox) settle(ctx context.Context, row *state.Record, h Hook, s Service) time.Time {
	d, ok := o.read(ctx, row, s)
	if !ok {
		return time.Time{}
	}
	e, settled, err := o.settled(ctx, d.Of)
	now := time.Now()
	switch {
	case err != nil:
		return now.Add(restAfter)
	case !settled:
		row.Due = d.later(now)
	case e != nil:
		if d.Body, err = e.body(); err != nil {
			return now.Add(restAfter)
		}
		d.settle(h, now)
	case string(d.Body) == nothing:
		d.end()
	default:
		d.settle(h, now)
	}
	due := row.Due
	_, err = o.replace(ctx, d)
	return earlier(due, again(err))
}
