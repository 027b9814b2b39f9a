package webhook

import (
	"context"
	"fmt"
	"time"

	"hatchel/internal/backoff"
	"hatchel/runtime/durable/state"
)

// Series is a sequence of events of which a webhook gets at most one delivery in each interval of the
// clock, whichever processes the events are of.
type Series struct {
	Name     string // the same in all processes; letters, digits, _ and -
	Interval time.Duration
}

// Slot returns the number of the interval in which a time is.
func (s *Series) Slot(t time.Time) int64 { return t.UnixNano() / int64(s.Interval) }

// slotTime returns when an interval begins.
func (s *Series) slotTime(slot int64) time.Time { return time.Unix(0, slot*int64(s.Interval)) }

// EnqueueSeries stores n events of a series, of which e is the first. They are stored, not delivered,
// when EnqueueSeries returns. The first event in an interval, by its At, is delivered at once.
// Those after it are added to the delivery at the beginning of the next interval: the body has the first of them, and
// its member count says how many they are. An event with an ID is stored once, whichever processes it comes from.
func (o *Outbox) EnqueueSeries(
	ctx context.Context, store state.Records, h Endpoint, s *Series, e *Event, n int,
) error {
	if e.ID == "" {
		return o.addToSeries(ctx, store, h, s, e, n)
	}
	claim, err := s.claim(ctx, store, h, e)
	if err != nil || claim == nil {
		return err
	}
	if err := o.addToSeries(ctx, store, h, s, e, n); err != nil {
		return err
	}
	claim.Body, claim.NoNotify = []byte(claimDone), true
	_, err = store.Replace(ctx, claim)
	return err
}

func (o *Outbox) addToSeries(
	ctx context.Context, store state.Records, h Endpoint, s *Series, e *Event, n int,
) error {
	for slot := s.Slot(e.At); ; {
		due := time.Now()
		if begins := s.slotTime(slot); begins.After(due) {
			due = begins
		}
		d, err := s.delivery(h, e, slot, due)
		if err != nil {
			return err
		}
		d.Count, d.SlotEnd = n, s.slotTime(slot+1).UnixMilli()
		if err := d.encode(); err != nil {
			return err
		}
		existing, err := store.Add(ctx, d.record)
		if err == nil && existing == nil {
			o.Wake()
		}
		if err != nil || existing == nil {
			return err
		}
		switch added, err := o.addCount(ctx, store, existing, n); {
		case err != nil || added == countAdded:
			return err
		case added == alreadySent:
			slot++
		}
	}
}

// The bodies of a claim.
const (
	claimBegun = "{}"              // a process stores the event
	claimDone  = `{"stored":true}` // it has
)

// maxClaim is how long a process waits for another one that stores an event. After that it stores the event itself,
// because the other one may have been killed.
const maxClaim = 2 * time.Second

// claim makes the caller the one that stores an event, and returns the record of that; nil for an event that is stored.
func (s *Series) claim(ctx context.Context, store state.Records, h Endpoint, e *Event) (*state.Record, error) {
	expires := time.Now().Add(endedKeepFor)
	claim := &state.Record{Kind: Kind, Name: deliveryName(h.Name, s.Name+"-"+e.ID), Group: endedGroup, Due: expires,
		Expires: expires, Body: []byte(claimBegun), Priority: state.Low, NoNotify: true}
	version, until := 0, time.Time{} // of the claim of another process
	for range claimBackoff.Attempts(ctx) {
		existing, err := store.Add(ctx, claim)
		switch {
		case err != nil:
			return nil, err
		case existing == nil:
			return claim, nil
		case string(existing.Body) == claimDone:
			return nil, nil
		}
		if existing.Version != version {
			version, until = existing.Version, time.Now().Add(maxClaim)
		} else if time.Now().After(until) {
			existing.NoNotify = true
			if taken, err := store.Replace(ctx, existing); taken || err != nil {
				return existing, err
			}
		}
	}
	return nil, ctx.Err()
}

// claimBackoff is how often the claim of another process is looked at.
var claimBackoff = backoff.Policy{First: 20 * time.Millisecond}

// delivery returns the delivery of a series in an interval.
func (s *Series) delivery(h Endpoint, e *Event, slot int64, due time.Time) (*delivery, error) {
	of := *e
	of.ID = fmt.Sprintf("%s-%d", s.Name, slot)
	r, err := newRecord(h, &of, due)
	if err != nil {
		return nil, err
	}
	r.Priority = state.Low // approvals and tasks have their share of the store, however many events there are
	return decodeRecord(r)
}

// countResult says what addCount has done.
type countResult int

const (
	countAdded  countResult = iota
	alreadySent             // the payload cannot change any more
	changed                 // another process has changed the delivery meanwhile
)

// addCount adds events to a delivery that was not sent yet.
func (o *Outbox) addCount(ctx context.Context, store state.Records, r *state.Record, n int) (countResult, error) {
	d, err := decodeRecord(r)
	if err != nil || d.Sent {
		return alreadySent, nil // a malformed delivery is removed when it is due
	}
	d.Count += n
	if err := d.encode(); err != nil {
		return 0, err
	}
	r.NoNotify = true // it is due when it was before
	switch replaced, err := store.Replace(ctx, r); {
	case err != nil:
		return 0, err
	case !replaced:
		return changed, nil
	}
	return countAdded, nil
}
