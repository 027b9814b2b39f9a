package webhook

import (
	"context"
	"log/slog"
	"time"

	"hatchel/runtime/state"
)

const (
	most      = 8               // deliveries that are sent to one webhook at once, by this process
	margin    = 5 * time.Second // that a claim lasts longer than an attempt can
	restAfter = 2 * time.Second // a store that is away is asked again
	pause     = 100 * time.Millisecond
)

// dispatch has delivered what is due, and sleeps until the next is.
func (o *Outbox) dispatch(ctx context.Context) {
	for {
		var due <-chan time.Time
		next := o.round(ctx)
		var timer *time.Timer
		if !next.IsZero() {
			timer = time.NewTimer(max(time.Until(next), 0))
			due = timer.C
		}
		select {
		case <-o.wake:
		case <-due:
		case <-ctx.Done():
			return
		}
		if timer != nil {
			timer.Stop()
		}
	}
}

// round begins what is due now, and returns when the next is; zero for not before something happens.
func (o *Outbox) round(ctx context.Context) (next time.Time) {
	o.mu.Lock()
	service := o.service
	o.mu.Unlock()
	for _, h := range service.Hooks {
		next = earlier(next, o.look(ctx, h, service))
	}
	return next
}

// earlier is the earlier of two times, of which zero is never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// look begins what is due for one webhook, and returns when it has to be looked again.
func (o *Outbox) look(ctx context.Context, h Hook, s Service) (next time.Time) {
	next = o.lookForSettled(ctx, h, s) // which makes more of them due
	if rest := o.rest(h.Name); rest.After(time.Now()) {
		return earlier(next, rest)
	}
	rows, err := o.store.List(ctx, state.Query{Kind: Kind, Group: h.Name, Limit: most + 1})
	if err != nil {
		return time.Now().Add(restAfter)
	}
	for _, row := range rows {
		switch {
		case row.Due.After(time.Now()):
			return earlier(next, row.Due)
		case o.free(h.Name) <= 0:
			return next // until one has ended
		}
		next = earlier(next, o.begins(ctx, row, h, s))
	}
	if len(rows) > most {
		next = earlier(next, time.Now().Add(pause)) // more may be due
	}
	return next
}

// free is how many more deliveries may be sent to a webhook now.
func (o *Outbox) free(hook string) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.streaks[hook].away() {
		return 1 - len(o.sending[hook])
	}
	return most - len(o.sending[hook])
}

// begins begins one delivery, if no other process does, and returns when it has to be looked at again in any case.
func (o *Outbox) begins(ctx context.Context, row *state.Record, h Hook, s Service) time.Time {
	d, ok := o.read(ctx, row, s)
	if !ok {
		return time.Time{}
	}
	now := time.Now()
	if why := o.absence(h.Name); why != "" && now.After(time.UnixMilli(d.Until)) {
		o.conclude(d, h, s, &failure{said: why})
		return now
	}
	due := now.Add(h.Timeout + margin)
	row.Due = due
	d.Tries++
	won, err := o.replace(ctx, d)
	if won {
		o.deliver(d, h, s)
	}
	return earlier(due, again(err))
}

// read is the delivery of a record. One that cannot be read is forgotten.
func (o *Outbox) read(ctx context.Context, row *state.Record, s Service) (*delivery, bool) {
	d, err := readRecord(row)
	if err != nil {
		o.store.Remove(ctx, row)
		s.Log.LogAttrs(ctx, slog.LevelError, "what was to be delivered cannot be read", slog.String("delivery", row.Name), slog.String("error", err.Error()))
	}
	return d, err == nil
}

// replace remembers what a delivery is now, and reports whether nobody else has in the meantime.
func (o *Outbox) replace(ctx context.Context, d *delivery) (bool, error) {
	if err := d.encode(); err != nil {
		return false, err
	}
	return o.store.Replace(ctx, d.record)
}

// again is when a store that has failed is asked again.
func again(err error) time.Time {
	if err == nil {
		return time.Time{}
	}
	return time.Now().Add(restAfter)
}

// deliver sends a delivery that is claimed, on a goroutine of its own.
func (o *Outbox) deliver(d *delivery, h Hook, s Service) {
	o.mu.Lock()
	add(o.sending, h.Name, d.record.Name)
	o.mu.Unlock()
	o.delivering.Go(func() {
		why := o.send(o.hurry, d, h, s.Agent)
		o.saw(h.Name, why, time.Now())
		o.conclude(d, h, s, why)
		o.mu.Lock()
		delete(o.sending[h.Name], d.record.Name)
		o.mu.Unlock()
		o.Wake()
	})
}

// conclude remembers what came of a try: nil when the receiver has taken it.
func (o *Outbox) conclude(d *delivery, h Hook, s Service, why *failure) {
	now := time.Now()
	said := []slog.Attr{slog.String("webhook", h.Name), slog.String("to", h.Place), slog.String("id", d.ID), slog.Int("tries", d.Tries)}
	if why != nil {
		said = append(said, slog.String("error", why.said))
	}
	switch due, tries := d.again(now, why.asked()); {
	case why == nil:
		s.Log.LogAttrs(o.ctx, slog.LevelDebug, "an event was delivered", said...)
		d.end()
	case why.stopped:
		d.Tries--
		d.record.Due = now
	case why.gone, !tries:
		s.Log.LogAttrs(o.ctx, slog.LevelError, "an event is given up, the webhook does not take it", said...)
		d.end()
	default:
		level := slog.LevelDebug
		if d.Tries == 1 {
			level = slog.LevelWarn
		}
		s.Log.LogAttrs(o.ctx, level, "an event was not delivered, and is tried again", append(said, slog.Time("next", due))...)
		d.record.Due, d.Failed = due, why.said
	}
	if err := o.remember(d, now.Add(margin)); err != nil {
		s.Log.LogAttrs(o.ctx, slog.LevelWarn, "what came of an event cannot be remembered, and it is delivered again", said...)
	}
}

// remember replaces the record of a delivery, for as long as it is claimed: then it is somebody else's.
func (o *Outbox) remember(d *delivery, until time.Time) error {
	for {
		_, err := o.replace(o.ctx, d)
		if err == nil || o.hurry.Err() != nil || time.Now().After(until) {
			return err
		}
		select {
		case <-time.After(time.Second):
		case <-o.hurry.Done():
		}
	}
}
