package webhook

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"time"

	"hatchel/runtime/state"
)

// Event is something that happened.
type Event struct {
	ID   string // by which who receives it twice knows it; letters, digits, _ and -
	Type string // such as task.finished
	At   time.Time
	Data any

	Of string    // what it is about, where that is not settled yet: it is delivered when Settled says so, and says what is known then; without Data, nothing is told of what is not known any more
	By time.Time // when that is settled at the latest; zero for soon
}

// body is the event as it is sent.
func (e *Event) body() ([]byte, error) {
	return encoded(struct {
		Type      string    `json:"type"`
		Timestamp time.Time `json:"timestamp"`
		Data      any       `json:"data"`
	}{e.Type, e.At.UTC().Truncate(time.Millisecond), e.Data})
}

// encoded is JSON in which texts stand as they are.
func encoded(v any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// delivery is an event that is to be delivered to a webhook, as it is remembered. Where it is delivered to, and how it is signed, is not.
type delivery struct {
	record *state.Record

	ID     string          `json:"id"`
	Of     string          `json:"of,omitempty"` // what must be settled before
	By     int64           `json:"by,omitempty"` // when that is settled at the latest; 0 for soon
	Put    int64           `json:"put"`          // in milliseconds since 1970, as By and Until
	Until  int64           `json:"until"`        // when it is given up
	Tries  int             `json:"tries,omitempty"`
	Failed string          `json:"failed,omitempty"` // of what the last try failed
	Body   json.RawMessage `json:"body"`
}

// done is the group of what is delivered, or given up: it is remembered so that it is not put again. No webhook is called that.
const done = "+"

// afterwards is for how much longer than it is tried a delivery is remembered.
const afterwards = time.Hour

// grace is how long who puts an event about something that is not settled has to settle it, before it is looked whether that was done.
const grace = time.Second

func nameOf(hook, id string) string { return hook + "/" + id }

func newRecord(h Hook, e *Event, now time.Time) (*state.Record, error) {
	body, err := e.body()
	if err != nil {
		return nil, err
	}
	d := &delivery{ID: e.ID, Of: e.Of, Put: now.UnixMilli(), Body: body}
	d.record = &state.Record{Kind: Kind, Name: nameOf(h.Name, e.ID), Group: h.Name, Due: now}
	from := now
	if e.Of != "" {
		d.record.Group, d.record.Due = unsettled(h.Name), now.Add(grace)
		if e.Data == nil {
			d.Body = json.RawMessage(nothing)
		}
		if e.By.After(now) {
			from, d.By = e.By, e.By.UnixMilli()
		}
	}
	d.keep(h, from)
	return d.record, d.encode()
}

// nothing is the body of what has none.
const nothing = "null"

// keep says from when on it is tried to deliver it.
func (d *delivery) keep(h Hook, from time.Time) {
	until := from.Add(h.Keep)
	d.Until, d.record.Expires = until.UnixMilli(), until.Add(afterwards)
}

// settle makes the delivery one that is due.
func (d *delivery) settle(h Hook, now time.Time) {
	d.Of, d.By, d.record.Group, d.record.Due = "", 0, h.Name, now
	d.keep(h, now)
}

func readRecord(r *state.Record) (*delivery, error) {
	d := &delivery{record: r}
	return d, json.Unmarshal(r.Body, d)
}

func (d *delivery) encode() (err error) {
	d.record.Body, err = encoded(d)
	return err
}

// end makes the delivery one that is remembered for its name only.
func (d *delivery) end() {
	d.Of, d.record.Group, d.record.Due, d.Body = "", done, d.record.Expires, json.RawMessage(nothing)
}

// pauses are how long it is waited after each try, and after all others.
var pauses = [...]time.Duration{2 * time.Second, 5 * time.Second, 30 * time.Second, 2 * time.Minute, 10 * time.Minute, 30 * time.Minute, time.Hour}

// again returns when it is tried again after a failure at now, of which the receiver has said to come back after that time. It reports false when it is given up.
func (d *delivery) again(now time.Time, after time.Duration) (time.Time, bool) {
	pause := pauses[min(max(d.Tries, 1), len(pauses))-1]
	pause += time.Duration(rand.Int64N(int64(pause)/5 + 1)) // so that not everything comes at once when the receiver is back
	until := time.UnixMilli(d.Until)
	if now.Add(pause).After(until) {
		return time.Time{}, false
	}
	if due := now.Add(max(pause, after)); due.Before(until) {
		return due, true
	}
	return until, true // the last try
}

// later is when it is looked again whether what the delivery is about is settled: ever more rarely, because who settles it says so; and when it is settled at the latest.
func (d *delivery) later(now time.Time) time.Time {
	most, by := time.Minute, time.UnixMilli(d.By)
	if by.After(now) {
		most = 15 * time.Minute
	}
	due := now.Add(min(max(now.Sub(time.UnixMilli(d.Put)), grace), most))
	if by.After(now) && due.After(by) {
		return by.Add(grace)
	}
	return due
}
