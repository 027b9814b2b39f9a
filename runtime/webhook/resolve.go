package webhook

import (
	"context"
	"time"

	"hatchel/runtime/state"
)

// unresolvedGroup is the group of deliveries of unresolved events to a webhook. No webhook has such a
// name.
func unresolvedGroup(hook string) string { return "~" + hook }

// resolvePending resolves the events that [Outbox.Resolve] has named, and those that are due for another look.
// It returns when to look again.
func (o *Outbox) resolvePending(ctx context.Context, h Endpoint, s Config) (next time.Time) {
	group := unresolvedGroup(h.Name)
	for name := range o.takeResolved(h.Name) {
		r, err := o.store.Record(ctx, Kind, name)
		if err == nil && r != nil && r.Group == group {
			next = earlier(next, o.resolveDelivery(ctx, r, h, s))
		}
	}
	records, err := o.store.List(ctx, state.Query{Kind: Kind, Group: group, Limit: deliveriesPage})
	if err != nil {
		return time.Now().Add(storeRetry)
	}
	for _, r := range records {
		if r.Due.After(time.Now()) {
			return earlier(next, r.Due)
		}
		next = earlier(next, o.resolveDelivery(ctx, r, h, s))
	}
	return earlier(next, afterPage(records))
}

// takeResolved returns the names of the deliveries to a webhook that [Outbox.Resolve] has named since the last
// call.
func (o *Outbox) takeResolved(hook string) map[string]bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	e := o.endpoint(hook)
	resolved := e.resolved
	e.resolved = map[string]bool{}
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
		return now.Add(storeRetry)
	case !resolved:
		r.Due = d.nextResolve(now)
	case e != nil:
		if d.Body, err = e.body(); err != nil {
			return now.Add(storeRetry)
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
