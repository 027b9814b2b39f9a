package handover

import (
	"hatchel/internal/backoff"
	"hatchel/runtime/edge/mcp"

	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

const (
	suspensionTTL = 24 * time.Hour   // for which a suspended call waits for its client
	storeTimeout  = 10 * time.Second // for storing one
)

// storing are the attempts to store a call.
var storing = backoff.Policy{First: 100 * time.Millisecond}

// StoredCall is the record of a call that waits for people.
type StoredCall struct {
	Name    string
	Body    []byte
	Version int
}

// CallStore keeps the calls of sessions that wait for people for all processes of a server. Its methods are called
// concurrently.
type CallStore interface {
	// LoadCall returns the record of a call. Its Version is 0 if there is none.
	LoadCall(ctx context.Context, name string) (StoredCall, error)

	// ListCalls returns the records of the calls of a session.
	ListCalls(ctx context.Context, session string) ([]StoredCall, error)

	// SaveCall adds, for the version 0, or replaces the record of a call of a session, which is kept until
	// a time. It reports false, and changes nothing, if the record no longer has this version.
	SaveCall(ctx context.Context, session string, call StoredCall, until time.Time) (bool, error)

	// RemoveCall removes the record of a call. It reports false, and changes nothing, if the record no
	// longer has this version.
	RemoveCall(ctx context.Context, call StoredCall) (bool, error)
}

// Call is a call of a session that waits for people, as it is stored until it goes on.
type Call struct {
	In        StreamName      `json:"in"`              // where it waits
	Request   json.RawMessage `json:"request"`         // as the client has sent it
	State     string          `json:"state,omitempty"` // to resume it with
	Progress  float64         `json:"progress,omitempty"`
	Asked     []Question      `json:"asked,omitempty"`
	Released  bool            `json:"released,omitempty"`  // by the process of In, which has stopped
	Continues *StreamName     `json:"continues,omitempty"` // where it was taken to; nil for nowhere yet
	Taking    bool            `json:"taking,omitempty"`    // the process of Continues has not gone on with it
}

// Question is a question that the client was asked.
type Question struct {
	Key    string           `json:"key"`
	ID     string           `json:"id"`              // of the request to the client
	Seq    uint64           `json:"seq,omitempty"`   // of its event; 0 if that is not kept any more
	Frame  json.RawMessage  `json:"frame,omitempty"` // the request to the client
	Result json.RawMessage  `json:"result,omitempty"`
	Error  *mcp.ClientError `json:"error,omitempty"`
}

// isTakenFrom reports whether a call, nil for none, continues elsewhere than in a stream; nil for the one where it
// waits.
func (c *Call) isTakenFrom(holder *StreamName) bool {
	return c != nil && c.Continues != nil && (holder == nil || *c.Continues != *holder)
}

// isSameAs reports whether a question was asked instead of another one.
func (q *Question) isSameAs(other Question) bool { return q.Key == other.Key }

// IsAnswered reports whether the client has answered.
func (q *Question) IsAnswered() bool { return q.Result != nil || q.Error != nil }

// Response returns the answer of the client.
func (q *Question) Response() Response {
	if q.Error != nil {
		return Response{Err: q.Error}
	}
	return Response{Result: q.Result}
}

// answer sets the answer of the client, unless there is one.
func (q *Question) answer(r Response) {
	if !q.IsAnswered() && !errors.As(r.Err, &q.Error) {
		q.Result = r.Result
	}
}

// StreamName names an event stream of a session among those of all processes.
type StreamName struct {
	Process string `json:"process"`
	Serial  uint64 `json:"serial"` // of the session in that process
	Stream  uint64 `json:"stream"`
}

// recordOf returns the name of the record of the call of a stream.
func (n StreamName) recordOf(session SessionName) string {
	return fmt.Sprintf("%s.%s.%d.%d", session, n.Process, n.Serial, n.Stream)
}

// SaveCall saves the record of a call. It reports false, and changes nothing, if the record has another version.
func (r *Relay) SaveCall(
	ctx context.Context, session SessionName, record StoredCall, call *Call,
) (saved bool, err error) {
	if record.Body, err = json.Marshal(call); err != nil {
		return false, err
	}
	return r.store.SaveCall(ctx, session.String(), record, time.Now().Add(suspensionTTL))
}

// LoadCall returns the call that waits in a stream, or has waited, with its record; nil if there is none.
func (r *Relay) LoadCall(
	ctx context.Context, session SessionName, in StreamName,
) (*Call, StoredCall, error) {
	record, err := r.store.LoadCall(ctx, in.recordOf(session))
	if err != nil || record.Version == 0 {
		return nil, record, err
	}
	call := new(Call)
	return call, record, json.Unmarshal(record.Body, call)
}

// storeAnswer stores an answer to a question of a call that no process has, or returns where the call is. It
// reports false for any other question. Ended is the name of a process that is known to have ended.
func (r *Relay) storeAnswer(
	ctx context.Context, sess Session, id string, response Response, ended string,
) (suspended bool, at *StreamName, err error) {
	for {
		call, record, err := r.findAsking(ctx, sess, id, ended)
		switch {
		case call == nil || err != nil:
			return false, nil, err
		case call.Continues != nil && call.Continues.Process != ended:
			return true, call.Continues, nil
		case call.Continues != nil && !call.Taking: // it was interrupted
			return true, nil, nil
		case call.Continues == nil && !call.Released && call.In.Process != ended:
			return true, &call.In, nil
		}
		i := slices.IndexFunc(call.Asked, func(q Question) bool { return q.ID == id })
		if i < 0 {
			i = len(call.Asked)
			call.Asked = append(call.Asked, Question{ID: id})
		}
		if response.Err != nil && slices.ContainsFunc(call.Asked[i+1:], call.Asked[i].isSameAs) {
			return true, nil, nil // it was cancelled, and asked again
		}
		call.Asked[i].answer(response)
		if stored, err := r.SaveCall(ctx, sess.Name(), record, call); stored || err != nil {
			return true, nil, err
		}
	}
}

// findAsking returns the call that has asked a question, with its record; nil if there is none. For a call
// that was suspended several times, it returns the last record. A question that could not be stored is one of
// a call that waits in the process that has asked it, if that has ended: it may be back and look for the answer.
func (r *Relay) findAsking(
	ctx context.Context, sess Session, id, ended string,
) (found *Call, record StoredCall, err error) {
	records, err := r.store.ListCalls(ctx, sess.Name().String())
	names := make(map[string]bool, len(records))
	for _, one := range records {
		names[one.Name] = true
	}
	for _, one := range records {
		call := new(Call)
		if err := json.Unmarshal(one.Body, call); err != nil {
			return nil, one, err
		}
		again := call.Continues != nil && names[call.Continues.recordOf(sess.Name())]
		if !again && slices.ContainsFunc(call.Asked, func(q Question) bool { return q.ID == id }) {
			return call, one, nil
		}
		if found == nil && call.Continues == nil && !call.Released && ended != "" && call.In.Process == ended &&
			sess.AskingProcess(id) == ended {
			found, record = call, one
		}
	}
	return found, record, err
}
