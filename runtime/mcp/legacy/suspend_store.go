package legacy

import (
	"hatchel/runtime/mcp"

	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

const (
	suspensionTTL = 24 * time.Hour   // for which a suspended call waits for its client
	storeTimeout  = 10 * time.Second // for storing one
	storeAgain    = 100 * time.Millisecond
)

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

// suspendedCall is a call of a session that waits for people, as it is stored until it goes on.
type suspendedCall struct {
	In        streamName          `json:"in"`              // where it waits
	Request   json.RawMessage     `json:"request"`         // as the client has sent it
	State     string              `json:"state,omitempty"` // to resume it with
	Progress  float64             `json:"progress,omitempty"`
	Asked     []suspendedQuestion `json:"asked,omitempty"`
	Released  bool                `json:"released,omitempty"`  // by the process of In, which has stopped
	Continues *streamName         `json:"continues,omitempty"` // where it was taken to; nil for nowhere yet
	Taking    bool                `json:"taking,omitempty"`    // the process of Continues has not gone on with it
}

// suspendedQuestion is a question that the client was asked.
type suspendedQuestion struct {
	Key    string           `json:"key"`
	ID     string           `json:"id"`              // of the request to the client
	Seq    uint64           `json:"seq,omitempty"`   // of its event; 0 if that is not kept any more
	Frame  json.RawMessage  `json:"frame,omitempty"` // the request to the client
	Result json.RawMessage  `json:"result,omitempty"`
	Error  *mcp.ClientError `json:"error,omitempty"`
}

// isTakenFrom reports whether a call, nil for none, continues elsewhere than in a stream; nil for the one where it
// waits.
func (c *suspendedCall) isTakenFrom(holder *streamName) bool {
	return c != nil && c.Continues != nil && (holder == nil || *c.Continues != *holder)
}

// isSameAs reports whether a question was asked instead of another one.
func (q *suspendedQuestion) isSameAs(other suspendedQuestion) bool { return q.Key == other.Key }

func (q *suspendedQuestion) isAnswered() bool { return q.Result != nil || q.Error != nil }

// response returns the answer of the client.
func (q *suspendedQuestion) response() clientResponse {
	if q.Error != nil {
		return clientResponse{err: q.Error}
	}
	return clientResponse{result: q.Result}
}

// answer sets the answer of the client, unless there is one.
func (q *suspendedQuestion) answer(r clientResponse) {
	if !q.isAnswered() && !errors.As(r.err, &q.Error) {
		q.Result = r.result
	}
}

// streamName names an event stream of a session among those of all processes.
type streamName struct {
	Process string `json:"process"`
	Serial  uint64 `json:"serial"` // of the session in that process
	Stream  uint64 `json:"stream"`
}

// recordOf returns the name of the record of the call of a stream.
func (n streamName) recordOf(sess *session) string {
	return fmt.Sprintf("%s.%s.%d.%d", sess.name, n.Process, n.Serial, n.Stream)
}

func (t *sessions) saveSuspended(ctx context.Context, sess *session, r StoredCall, call *suspendedCall) (bool, error) {
	var err error
	if r.Body, err = json.Marshal(call); err != nil {
		return false, err
	}
	return t.store.SaveCall(ctx, sess.name.String(), r, time.Now().Add(suspensionTTL))
}

// loadSuspended returns the call that waits in a stream, or has waited, with its record; nil if there is none.
func (t *sessions) loadSuspended(
	ctx context.Context, sess *session, in streamName,
) (*suspendedCall, StoredCall, error) {
	r, err := t.store.LoadCall(ctx, in.recordOf(sess))
	if err != nil || r.Version == 0 {
		return nil, r, err
	}
	call := new(suspendedCall)
	return call, r, json.Unmarshal(r.Body, call)
}

// storeAnswer stores an answer to a question of a call that no process has, or returns where the call is. It
// reports false for any other question. Ended is the name of a process that is known to have ended.
func (t *sessions) storeAnswer(
	ctx context.Context, sess *session, id string, response clientResponse, ended string,
) (suspended bool, at *streamName, err error) {
	for {
		call, record, err := t.findAsking(ctx, sess, id, ended)
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
		i := slices.IndexFunc(call.Asked, func(q suspendedQuestion) bool { return q.ID == id })
		if i < 0 {
			i = len(call.Asked)
			call.Asked = append(call.Asked, suspendedQuestion{ID: id})
		}
		if response.err != nil && slices.ContainsFunc(call.Asked[i+1:], call.Asked[i].isSameAs) {
			return true, nil, nil // it was cancelled, and asked again
		}
		call.Asked[i].answer(response)
		if stored, err := t.saveSuspended(ctx, sess, record, call); stored || err != nil {
			return true, nil, err
		}
	}
}

// findAsking returns the call that has asked a question, with its record; nil if there is none. For a call
// that was suspended several times, it returns the last record. A question that could not be stored is one of
// a call that waits in the process that has asked it, if that has ended: it may be back and look for the answer.
func (t *sessions) findAsking(
	ctx context.Context, sess *session, id, ended string,
) (found *suspendedCall, record StoredCall, err error) {
	records, err := t.store.ListCalls(ctx, sess.name.String())
	names := make(map[string]bool, len(records))
	for _, r := range records {
		names[r.Name] = true
	}
	for _, r := range records {
		call := new(suspendedCall)
		if err := json.Unmarshal(r.Body, call); err != nil {
			return nil, r, err
		}
		again := call.Continues != nil && names[call.Continues.recordOf(sess)]
		if !again && slices.ContainsFunc(call.Asked, func(q suspendedQuestion) bool { return q.ID == id }) {
			return call, r, nil
		}
		if found == nil && call.Continues == nil && !call.Released && ended != "" && call.In.Process == ended &&
			sess.askingProcess(id) == ended {
			found, record = call, r
		}
	}
	return found, record, err
}

// addWaiting registers a call that begins to wait for people here, until the function that it returns.
func (t *sessions) addWaiting(record *callRecord) (remove func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.waiting == nil {
		t.waiting = map[*callRecord]struct{}{}
	}
	t.waiting[record] = struct{}{}
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.waiting, record)
	}
}

func (t *sessions) waitingCalls() []*callRecord {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Collect(maps.Keys(t.waiting))
}
