package webhook

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"time"

	"hatchel/internal/backoff"
	"hatchel/runtime/durable/state"
)

const (
	claimMargin    = 5 * time.Second // that a claim outlasts the timeout of its attempt
	nextPageDelay  = 100 * time.Millisecond
	deliveriesPage = maxConcurrent + 1
)

// dispatch starts due deliveries, and sleeps until the next one is due or it is woken up.
func (o *Outbox) dispatch(ctx context.Context) {
	for {
		var due <-chan time.Time
		if next := o.startDue(ctx); !next.IsZero() {
			due = time.After(time.Until(next))
		}
		select {
		case <-o.wake:
		case <-due:
		case <-ctx.Done():
			return
		}
	}
}

// startDue starts the deliveries that are due, and returns when the next one is; the zero time means
// not before the dispatcher is woken up.
func (o *Outbox) startDue(ctx context.Context) (next time.Time) {
	o.mu.Lock()
	service := o.service
	o.mu.Unlock()
	for _, h := range service.Hooks {
		next = earlier(next, o.startDueOf(ctx, h, service))
	}
	return next
}

// earlier returns the earlier of two times; the zero time means never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// startDueOf starts the deliveries that are due for one webhook, and returns when to look again.
func (o *Outbox) startDueOf(ctx context.Context, h Endpoint, s Config) (next time.Time) {
	next = o.resolvePending(ctx, h, s) // which makes more of them due
	if e := o.stateOf(h.Name); e.pausedUntil.After(time.Now()) {
		return earlier(next, e.pausedUntil)
	}
	records, err := o.store.List(ctx, state.Query{Kind: Kind, Group: h.Name, Limit: deliveriesPage})
	if err != nil {
		return retryAt(err)
	}
	for _, r := range records {
		if r.Due.After(time.Now()) {
			return earlier(next, r.Due)
		}
		if e := o.stateOf(h.Name); e.freeSlots() <= 0 {
			return next // until a request ends
		}
		next = earlier(next, o.start(ctx, r, h, s))
	}
	return earlier(next, afterPage(records))
}

// afterPage returns when to read the next page, if there may be one.
func afterPage(records []*state.Record) time.Time {
	if len(records) < deliveriesPage {
		return time.Time{}
	}
	return time.Now().Add(nextPageDelay)
}

// start starts one delivery unless another process does, and returns when to look at it again. A
// delivery is claimed by its due time: others leave it alone until the claim has run out.
func (o *Outbox) start(ctx context.Context, r *state.Record, h Endpoint, s Config) time.Time {
	d, ok := o.decode(ctx, r, s)
	if !ok {
		return time.Time{}
	}
	now := time.Now()
	if e := o.stateOf(h.Name); e.lastFailure() != "" && now.After(time.UnixMilli(d.Until)) {
		o.recordOutcome(ctx, d, h, s, &failure{message: e.lastError})
		return now
	}
	claimedUntil := now.Add(h.Timeout + claimMargin)
	r.Due = claimedUntil
	d.Attempts++
	d.Sent = true
	claimed, err := o.replace(ctx, d)
	if claimed {
		o.deliver(d, h, s)
	}
	return earlier(claimedUntil, retryAt(err))
}

// decode decodes a record, and removes one that is malformed.
func (o *Outbox) decode(ctx context.Context, r *state.Record, s Config) (*delivery, bool) {
	d, err := decodeRecord(r)
	if err != nil {
		o.store.Remove(ctx, r)
		s.Log.LogAttrs(ctx, slog.LevelError, "malformed webhook delivery removed",
			slog.String("delivery", r.Name), slog.String("error", err.Error()))
	}
	return d, err == nil
}

// replace stores a delivery, and reports false when another process has changed it.
func (o *Outbox) replace(ctx context.Context, d *delivery) (bool, error) {
	if err := d.encode(); err != nil {
		return false, err
	}
	return o.store.Replace(ctx, d.record)
}

// storeBackoff is how often the store is used again after an error.
var storeBackoff = backoff.Policy{First: 2 * time.Second}

// retryAt returns when to use the store again after an error.
func retryAt(err error) time.Time {
	if err == nil {
		return time.Time{}
	}
	return time.Now().Add(storeBackoff.First)
}

// deliver sends a claimed delivery in the background.
func (o *Outbox) deliver(d *delivery, h Endpoint, s Config) {
	o.addSending(h.Name, 1)
	o.delivering.Go(func(ctx context.Context) {
		failed := o.send(ctx, d, h, s.Agent)
		o.recordAttempt(h.Name, failed, time.Now())
		o.recordOutcome(ctx, d, h, s, failed)
		o.addSending(h.Name, -1)
		o.wake.Send()
	})
}

func (o *Outbox) addSending(hook string, n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	e := o.endpoint(hook)
	e.sending += n
	if _, served := o.service.Hooks[hook]; !served && e.sending == 0 {
		delete(o.endpoints, hook)
	}
}

// recordOutcome stores and logs the outcome of an attempt; failed is nil after a success.
func (o *Outbox) recordOutcome(
	ctx context.Context, d *delivery, h Endpoint, s Config, failed *failure,
) {
	now := time.Now()
	attrs := []slog.Attr{
		slog.String("webhook", h.Name), slog.String("to", h.Origin),
		slog.String("id", d.ID), slog.Int("attempts", d.Attempts),
	}
	if failed != nil {
		attrs = append(attrs, slog.String("error", failed.message))
	}
	switch due, retry := d.nextAttempt(now, cmp.Or(failed, &failure{}).retryAfter); {
	case failed == nil:
		s.Log.LogAttrs(ctx, slog.LevelDebug, "webhook event delivered", attrs...)
		d.end()
	case failed.stopped:
		d.Attempts--
		d.record.Due = now
	case failed.permanent, !retry:
		s.Log.LogAttrs(ctx, slog.LevelError, "webhook delivery failed permanently", attrs...)
		d.end()
	default:
		level := slog.LevelDebug
		if d.Attempts == 1 {
			level = slog.LevelWarn
		}
		s.Log.LogAttrs(ctx, level, "webhook delivery failed", append(attrs, slog.Time("next", due))...)
		d.record.Due, d.Error = due, failed.message
	}
	// After the claim has run out the delivery may be another process's.
	storing, cancel := context.WithDeadline(ctx, now.Add(claimMargin))
	defer cancel()
	err := state.Retry(storing, func(context.Context) error {
		_, err := o.replace(context.WithoutCancel(ctx), d)
		return err
	})
	if err != nil {
		const message = "webhook delivery outcome not stored, the event will be sent again"
		s.Log.LogAttrs(ctx, slog.LevelWarn, message, attrs...)
	}
}

// unresolvedGroup is the group of deliveries of unresolved events to a webhook. No webhook has such a
// name.
func unresolvedGroup(hook string) string { return "~" + hook }

// resolvePending resolves the events that [Outbox.Resolve] has named, and those that are due for another look.
// It returns when to look again.
func (o *Outbox) resolvePending(ctx context.Context, h Endpoint, s Config) (next time.Time) {
	group := unresolvedGroup(h.Name)
	resolved := o.takeResolved(h.Name)
	records, err := o.store.List(ctx, state.Query{Kind: Kind, Group: group, Limit: deliveriesPage})
	if err != nil || len(records) > 0 {
		o.setUnsettled(h.Name)
	}
	if err != nil {
		o.keepResolved(h.Name, resolved)
		return retryAt(err)
	}
	isAll := len(records) < deliveriesPage
	records = slices.DeleteFunc(records, func(r *state.Record) bool {
		if !resolved[r.Name] {
			return false
		}
		delete(resolved, r.Name)
		next = earlier(next, o.resolveDelivery(ctx, r, h, s))
		return true
	})
	for name := range resolved {
		if isAll { // most names are of events that this webhook does not get
			break
		}
		r, err := o.store.Record(ctx, Kind, name)
		if err == nil && r != nil && r.Group == group {
			next = earlier(next, o.resolveDelivery(ctx, r, h, s))
		}
	}
	for _, r := range records {
		if r.Due.After(time.Now()) {
			return earlier(next, r.Due)
		}
		next = earlier(next, o.resolveDelivery(ctx, r, h, s))
	}
	if !isAll {
		next = earlier(next, time.Now().Add(nextPageDelay))
	}
	return next
}

// keepResolved gives back names of deliveries that could not be looked for.
func (o *Outbox) keepResolved(hook string, names map[string]bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	e := o.endpoint(hook)
	for name := range names {
		if len(e.resolved) < maxResolved {
			e.resolved[name] = true
		}
	}
}

// setUnsettled records that deliveries to a webhook may wait for an outcome.
func (o *Outbox) setUnsettled(hook string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.endpoint(hook).settled = false
}

// takeResolved returns the names of the deliveries to a webhook that [Outbox.Resolve] has named since the last
// call. The webhook is settled until deliveries that wait for an outcome are found or added.
func (o *Outbox) takeResolved(hook string) map[string]bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	e := o.endpoint(hook)
	resolved := e.resolved
	e.resolved, e.settled = map[string]bool{}, true
	return resolved
}

// resolveDelivery makes a delivery due if the outcome of its subject is known, and returns when to
// look at it again.
func (o *Outbox) resolveDelivery(ctx context.Context, r *state.Record, h Endpoint, s Config) time.Time {
	d, ok := o.decode(ctx, r, s)
	if !ok {
		return time.Time{}
	}
	e, resolved, err := o.resolve(ctx, d.Subject)
	now := time.Now()
	switch {
	case err != nil:
		return retryAt(err)
	case !resolved:
		r.Due = d.nextResolve(now)
	case e != nil:
		if d.Body, err = e.body(); err != nil {
			return retryAt(err)
		}
		d.makeDue(h, now)
	case string(d.Body) == noBody:
		d.end()
	default:
		d.makeDue(h, now)
	}
	due := r.Due
	_, err = o.replace(ctx, d)
	return earlier(due, retryAt(err))
}
