package webhook

import (
	"context"
	"fmt"
	"time"

	"hatchel/runtime/state"
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
	if e.ID != "" {
		if known, err := s.addMarker(ctx, store, h, e); known || err != nil {
			return err
		}
	}
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

// addMarker remembers an event, and reports whether it was known.
func (s *Series) addMarker(ctx context.Context, store state.Records, h Endpoint, e *Event) (known bool, err error) {
	expires := time.Now().Add(endedKeepFor)
	existing, err := store.Add(ctx, &state.Record{Kind: Kind, Name: deliveryName(h.Name, s.Name+"-"+e.ID),
		Group: endedGroup, Due: expires, Expires: expires, Body: []byte("{}"), Priority: state.Low, NoNotify: true})
	return existing != nil, err
}

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
