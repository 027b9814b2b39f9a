package approval

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"hatchel/internal/printable"
	"hatchel/runtime/durable/state"
)

// idDigits are those of Crockford's base 32 in ascending order. They leave out letters that look like
// digits.
const idDigits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

const idLength = 16

// newID makes an ID of 48 bits of milliseconds and 32 random bits, so that IDs sort by time.
func newID(at time.Time) string {
	var b [10]byte
	binary.BigEndian.PutUint64(b[:8], uint64(at.UnixMilli())<<16)
	rand.Read(b[6:])
	return base32.NewEncoding(idDigits).EncodeToString(b[:])
}

// IsID reports whether a text that a person has typed has the form of an ID.
func IsID(text string) bool { return canonicalID(text) != "" }

// canonicalID returns an ID as newID has made it, for one that a person has typed. It returns an
// empty string for any other text.
func canonicalID(id string) string {
	id = strings.NewReplacer("O", "0", "I", "1", "L", "1", "-", "").Replace(strings.ToUpper(id))
	if len(id) != idLength || strings.Trim(id, idDigits) != "" {
		return ""
	}
	return id
}

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

var errMalformed = errors.New("the record of an approval is malformed")

// encodeBody makes the body of a record: the tool, the subject of the caller and the seal, each after
// its length, so that a list can be made without parsing the JSON that follows.
func (a *Approval) encodeBody() ([]byte, error) {
	a.Digest = a.Request.digest()
	text, err := json.Marshal(a)
	if err != nil {
		return nil, fmt.Errorf("an approval cannot be encoded as JSON: %w", err)
	}
	var body []byte
	for _, s := range []string{a.Tool, a.Caller.Subject, a.Seal} {
		body = append(binary.AppendUvarint(body, uint64(len(s))), s...)
	}
	return append(body, printable.EscapeJSON(text)...), nil
}

// digest returns the digest of what an approver is shown of a request: what it would do, with which arguments, in
// which configuration, and what the state was before.
func (r *Request) digest() string {
	type observed struct {
		Result json.RawMessage
		Error  string
	}
	before := make([]observed, len(r.Before))
	for i, o := range r.Before {
		before[i] = observed{o.Result, o.Error}
	}
	text, err := json.Marshal([]any{r.Tool, r.Message, r.Effect, r.Effects, r.Arguments, r.Revision, before})
	if err != nil {
		return "" // encodeBody fails, too
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// decodeEntry decodes what a list needs of a record.
func decodeEntry(r *state.Record) (*Entry, error) {
	e := &Entry{ID: r.Name, Status: Status(r.Group), json: r.Body, record: r}
	if (e.Status == Pending || e.Status == Approved) && !time.Now().Before(r.Due) {
		e.Status = Expired
	}
	for _, s := range []*string{&e.Tool, &e.Subject, &e.seal} {
		n, width := binary.Uvarint(e.json)
		if width <= 0 || n > uint64(len(e.json)-width) {
			return nil, errMalformed
		}
		e.json = e.json[width:]
		*s, e.json = string(e.json[:n]), e.json[n:]
	}
	if len(e.json) == 0 || e.json[0] != '{' {
		return nil, errMalformed
	}
	return e, nil
}

// AppendJSON appends the approval as an object: id, status, and the members of the request, of the
// decision and of the proposal.
func (e *Entry) AppendJSON(dst []byte) []byte {
	dst = append(append(dst, `{"id":"`...), e.ID...)
	dst = append(append(dst, `","status":"`...), e.Status...)
	return append(append(dst, `",`...), e.json[1:]...)
}

// Approval decodes the whole approval, without a proposal that was dropped.
func (e *Entry) Approval() (*Approval, error) {
	a := &Approval{ID: e.ID, Status: e.Status, record: e.record}
	if err := json.Unmarshal(e.json, a); err != nil {
		return nil, errMalformed
	}
	a.Seal = e.seal
	if a.Proposal != nil && !time.Now().Before(a.Proposal.Until) {
		a.Proposal = nil
	}
	return a, nil
}

// AppendJSON appends the approval in the form of Entry.AppendJSON.
func (a *Approval) AppendJSON(dst []byte) ([]byte, error) {
	text, err := json.Marshal(a)
	if err != nil {
		return nil, err
	}
	return (&Entry{ID: a.ID, Status: a.Status, json: printable.EscapeJSON(text)}).AppendJSON(dst), nil
}

func decodeApproval(r *state.Record) (*Approval, error) {
	e, err := decodeEntry(r)
	if err != nil {
		return nil, err
	}
	return e.Approval()
}

// EscapeText replaces the characters of a text that are not printable by \u and their number, and tabs by
// spaces. Line breaks stay. The result controls no terminal and is displayed in its order.
func EscapeText(text string) string {
	return printable.Replace(text, "\n", func(r rune) string {
		if r == '\t' {
			return "    "
		}
		return printable.Escape(r)
	})
}
