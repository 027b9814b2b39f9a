package webhook

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"hatchel/internal/backoff"
	"hatchel/runtime/durable/state"
)

// Event is something that happened.
type Event struct {
	ID   string // the same in every delivery; letters, digits, _ and -
	Type string // such as task.finished
	At   time.Time
	Data any

	// Of is the subject of an event whose outcome is not known yet; empty otherwise. The event is
	// delivered when [Resolver] returns one, with its contents. If the subject is gone by then, this
	// event is delivered as it is, or dropped when it has no Data.
	Subject    string
	ResolvedBy time.Time // when the outcome is known at the latest; zero for soon
}

// body encodes the event as it is sent.
func (e *Event) body() ([]byte, error) {
	return encodeJSON(struct {
		Type      string    `json:"type"`
		Timestamp time.Time `json:"timestamp"`
		Data      any       `json:"data"`
	}{e.Type, e.At.UTC().Truncate(time.Millisecond), e.Data})
}

// encodeJSON encodes v without escaping HTML characters.
func encodeJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// delivery is the body of the record of an event for a webhook. It holds neither URL nor keys, so
// that those of the current configuration are used.
type delivery struct {
	record *state.Record

	ID       string          `json:"id"`
	Subject  string          `json:"subject,omitempty"`   // of an unresolved event
	ResultBy int64           `json:"result_by,omitempty"` // Event.ResolvedBy; all times are milliseconds since 1970
	Created  int64           `json:"created"`
	Until    int64           `json:"until"` // when delivery is given up
	Attempts int             `json:"attempts,omitempty"`
	Error    string          `json:"error,omitempty"` // of the last attempt
	Count    int             `json:"count,omitempty"` // of the events of a Series that this is the delivery of
	SlotEnd  int64           `json:"slot_end,omitempty"`
	Sent     bool            `json:"sent,omitempty"` // an attempt was begun, so the payload stays the same
	Body     json.RawMessage `json:"body"`
}

// payload returns what is sent.
func (d *delivery) payload() []byte {
	if d.Count == 0 {
		return d.Body
	}
	open, _ := bytes.CutSuffix(d.Body, []byte("}"))
	return fmt.Appendf(nil, `%s,"count":%d}`, open, d.Count)
}

// Records of deliveries that have ended are kept in this group for a while, so that the same event is
// not added again. No webhook has this name.
const (
	endedGroup   = "+"
	endedKeepFor = time.Hour

	endedSeriesKeepFor = time.Minute // after the end of the interval, in which there is one delivery
)

// resolveGrace is how long the subject of a new event has before it is resolved for the first time.
const resolveGrace = time.Second

// noBody is the body of an event without data.
const noBody = "null"

func deliveryName(hook, id string) string { return hook + "/" + id }

func newRecord(h Endpoint, e *Event, now time.Time) (*state.Record, error) {
	body, err := e.body()
	if err != nil {
		return nil, err
	}
	d := &delivery{ID: e.ID, Subject: e.Subject, Created: now.UnixMilli(), Body: body}
	d.record = &state.Record{Kind: Kind, Name: deliveryName(h.Name, e.ID), Group: h.Name, Due: now}
	from := now
	if e.Subject != "" {
		d.record.Group, d.record.Due = unresolvedGroup(h.Name), now.Add(resolveGrace)
		if e.Data == nil {
			d.Body = json.RawMessage(noBody)
		}
		if e.ResolvedBy.After(now) {
			from, d.ResultBy = e.ResolvedBy, e.ResolvedBy.UnixMilli()
		}
	}
	d.startRetention(h, from)
	return d.record, d.encode()
}

// startRetention sets from when on delivery is attempted for the retention of the webhook.
func (d *delivery) startRetention(h Endpoint, from time.Time) {
	until := from.Add(h.Retention)
	d.Until, d.record.Expires = until.UnixMilli(), until.Add(endedKeepFor)
}

// makeDue turns an unresolved delivery into one that is due.
func (d *delivery) makeDue(h Endpoint, now time.Time) {
	d.Subject, d.ResultBy, d.record.Group, d.record.Due = "", 0, h.Name, now
	d.startRetention(h, now)
}

func decodeRecord(r *state.Record) (*delivery, error) {
	d := &delivery{record: r}
	return d, json.Unmarshal(r.Body, d)
}

func (d *delivery) encode() (err error) {
	d.record.Body, err = encodeJSON(d)
	return err
}

// end marks the delivery as ended.
func (d *delivery) end() {
	if d.Count > 0 { // there may be many
		d.record.Expires = time.UnixMilli(max(d.SlotEnd, time.Now().UnixMilli())).Add(endedSeriesKeepFor)
	}
	d.Subject, d.record.Group, d.record.Due, d.Body = "", endedGroup, d.record.Expires, json.RawMessage(noBody)
}

// deliveryBackoff is how often a delivery is attempted again. Its jitter spreads the load on a receiver that is back.
var deliveryBackoff = backoff.Policy{Jitter: 0.2, Steps: []time.Duration{
	2 * time.Second, 5 * time.Second, 30 * time.Second, 2 * time.Minute, 10 * time.Minute, 30 * time.Minute, time.Hour,
}}

// nextAttempt returns when to attempt the delivery again after a failure at now, but not before
// retryAfter has passed. It reports false when delivery is given up.
func (d *delivery) nextAttempt(now time.Time, retryAfter time.Duration) (time.Time, bool) {
	pause := deliveryBackoff.Pause(d.Attempts)
	until := time.UnixMilli(d.Until)
	if now.Add(pause).After(until) {
		return time.Time{}, false
	}
	if due := now.Add(max(pause, retryAfter)); due.Before(until) {
		return due, true
	}
	return until, true // the last attempt
}

// nextResolve returns when to resolve the event again. The interval grows, because [Outbox.Resolve] reports the
// outcome in the normal case.
func (d *delivery) nextResolve(now time.Time) time.Time {
	longest, by := time.Minute, time.UnixMilli(d.ResultBy)
	if by.After(now) {
		longest = 15 * time.Minute
	}
	due := now.Add(min(max(now.Sub(time.UnixMilli(d.Created)), resolveGrace), longest))
	if by.After(now) && due.After(by) {
		return by.Add(resolveGrace)
	}
	return due
}
