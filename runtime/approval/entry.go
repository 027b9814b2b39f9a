package approval

import (
	"encoding/json"
	"time"

	"hatchel/runtime/state"
)

// Entry is an approval in a list, of which little has been read.
type Entry struct {
	ID      string
	Status  Status
	Tool    string
	Subject string // of who asks

	seal   string
	text   []byte // the JSON
	record *state.Record
}

// entryOf reads what a list is made by.
func entryOf(r *state.Record, now time.Time) (*Entry, error) {
	e := &Entry{ID: r.Name, Status: statusOf(r, now), record: r}
	var err error
	if e.Tool, e.text, err = cut(r.Body); err != nil {
		return nil, err
	}
	if e.Subject, e.text, err = cut(e.text); err != nil {
		return nil, err
	}
	if len(e.text) > 0 && e.text[0] != '{' {
		if e.seal, e.text, err = cut(e.text); err != nil {
			return nil, err
		}
	}
	if len(e.text) == 0 || e.text[0] != '{' {
		return nil, errBody
	}
	return e, nil
}

// statusOf is what has become of an approval at a moment: of what is open nothing holds when its time has passed.
func statusOf(r *state.Record, now time.Time) Status {
	s := Status(r.Group)
	if (s == Pending || s == Approved) && !now.Before(r.Due) {
		return Expired
	}
	return s
}

// AppendJSON appends the approval as an object: id, status, and the members of the request and of the decision.
func (e *Entry) AppendJSON(dst []byte) []byte {
	dst = append(append(dst, `{"id":"`...), e.ID...)
	dst = append(append(dst, `","status":"`...), e.Status...)
	return append(append(dst, `",`...), e.text[1:]...)
}

// Approval reads the rest.
func (e *Entry) Approval() (*Approval, error) {
	var c content
	if err := json.Unmarshal(e.text, &c); err != nil {
		return nil, errBody
	}
	c.Seal = e.seal
	return &Approval{ID: e.ID, Status: e.Status, Request: c.Request, Decision: c.Decision, record: e.record}, nil
}

// AppendJSON is that of Entry.
func (a *Approval) AppendJSON(dst []byte) ([]byte, error) {
	text, err := json.Marshal(&content{a.Request, a.Decision})
	if err != nil {
		return nil, err
	}
	return (&Entry{ID: a.ID, Status: a.Status, text: Harmless(text)}).AppendJSON(dst), nil
}

// read reads a record.
func read(r *state.Record, now time.Time) (*Approval, error) {
	e, err := entryOf(r, now)
	if err != nil {
		return nil, err
	}
	return e.Approval()
}
