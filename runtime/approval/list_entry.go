package approval

import (
	"encoding/json"
	"time"

	"hatchel/runtime/state"
)

// Entry is an approval in a list. Its JSON has not been parsed.
type Entry struct {
	ID      string
	Status  Status
	Tool    string
	Subject string // of the caller

	seal   string
	json   []byte
	record *state.Record
}

// decodeEntry decodes what a list needs of a record.
func decodeEntry(r *state.Record, now time.Time) (*Entry, error) {
	e := &Entry{ID: r.Name, Status: statusAt(r, now), record: r}
	var err error
	if e.Tool, e.json, err = cutString(r.Body); err != nil {
		return nil, err
	}
	if e.Subject, e.json, err = cutString(e.json); err != nil {
		return nil, err
	}
	if len(e.json) > 0 && e.json[0] != '{' {
		if e.seal, e.json, err = cutString(e.json); err != nil {
			return nil, err
		}
	}
	if len(e.json) == 0 || e.json[0] != '{' {
		return nil, errMalformed
	}
	return e, nil
}

// statusAt returns the status of a record at a time: a pending or approved one may have expired.
func statusAt(r *state.Record, now time.Time) Status {
	s := Status(r.Group)
	if (s == Pending || s == Approved) && !now.Before(r.Due) {
		return Expired
	}
	return s
}

// AppendJSON appends the approval as an object: id, status, and the members of the request and of
// the decision.
func (e *Entry) AppendJSON(dst []byte) []byte {
	dst = append(append(dst, `{"id":"`...), e.ID...)
	dst = append(append(dst, `","status":"`...), e.Status...)
	return append(append(dst, `",`...), e.json[1:]...)
}

// Approval decodes the whole approval.
func (e *Entry) Approval() (*Approval, error) {
	var c content
	if err := json.Unmarshal(e.json, &c); err != nil {
		return nil, errMalformed
	}
	c.Seal = e.seal
	return &Approval{ID: e.ID, Status: e.Status, Request: c.Request, Decision: c.Decision, record: e.record}, nil
}

// AppendJSON appends the approval in the form of Entry.AppendJSON.
func (a *Approval) AppendJSON(dst []byte) ([]byte, error) {
	text, err := json.Marshal(&content{a.Request, a.Decision})
	if err != nil {
		return nil, err
	}
	return (&Entry{ID: a.ID, Status: a.Status, json: EscapeJSON(text)}).AppendJSON(dst), nil
}

func decodeApproval(r *state.Record, now time.Time) (*Approval, error) {
	e, err := decodeEntry(r, now)
	if err != nil {
		return nil, err
	}
	return e.Approval()
}
