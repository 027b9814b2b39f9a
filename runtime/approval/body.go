package approval

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"time"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"hatchel/runtime/state"
)

// The body of a record begins with the tool and the subject of who asks, each behind its length, so that a list can be made for a reviewer without reading the JSON that
// follows: the members of the request and of the decision.

// content is the JSON of a body.
type content struct {
	Request
	Decision *Decision `json:"decision,omitempty"`
}

const largest = 32 << 10 // bytes of arguments, and of an effect, that are kept

// encode makes the body of a record.
func encode(c *content) ([]byte, error) {
	text, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("an approval cannot be written as JSON: %w", err)
	}
	text = Harmless(text)
	body := make([]byte, 0, len(text)+len(c.Tool)+len(c.Caller.Subject)+2*binary.MaxVarintLen16)
	for _, s := range []string{c.Tool, c.Caller.Subject} {
		body = append(binary.AppendUvarint(body, uint64(len(s))), s...)
	}
	return append(body, text...), nil
}

var errBody = errors.New("the record of an approval cannot be read")

// cut takes one text off the beginning of a body.
func cut(body []byte) (s string, rest []byte, err error) {
	n, width := binary.Uvarint(body)
	if width <= 0 || n > uint64(len(body)-width) {
		return "", nil, errBody
	}
	return string(body[width : width+int(n)]), body[width+int(n):], nil
}

// clip leaves out what is too long for a reviewer.
func (r *Request) clip() {
	if cut, more := beginning(r.Effect); more > 0 {
		r.Effect = fmt.Sprintf("%s… and %d bytes more, which are not shown", cut, more)
	}
	if cut, more := beginning(string(r.Arguments)); more > 0 {
		r.Arguments, _ = json.Marshal(fmt.Sprintf("%s… and %d bytes more, which are not shown", cut, more)) // a text always can
	}
}

// beginning is as much of a text as is kept, and how many bytes are not.
func beginning(s string) (string, int) {
	if len(s) <= largest {
		return s, 0
	}
	at := largest
	for !utf8.RuneStart(s[at]) {
		at--
	}
	return s[:at], len(s) - at
}

// Entry is an approval in a list, of which little has been read.
type Entry struct {
	ID      string
	Status  Status
	Tool    string
	Subject string // of who asks

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

// Harmless is JSON that says the same, and in which every character that is none to read is written as an escape: callers have a say in it, and terminals obey some.
func Harmless(text []byte) []byte {
	if !bytes.ContainsFunc(text, steers) {
		return text
	}
	out := make([]byte, 0, len(text)+64)
	for _, r := range string(text) {
		switch {
		case !steers(r):
			out = utf8.AppendRune(out, r)
		case r > 0xFFFF:
			high, low := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
	}
	return out
}

// steers reports whether a character is none to read. Those between the tokens of JSON are.
func steers(r rune) bool { return r != '\n' && r != '\t' && r != '\r' && !unicode.IsPrint(r) }

// read reads a record.
func read(r *state.Record, now time.Time) (*Approval, error) {
	e, err := entryOf(r, now)
	if err != nil {
		return nil, err
	}
	return e.Approval()
}
