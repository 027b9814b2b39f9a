package handover

import (
	"hatchel/runtime/edge/mcp"

	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"time"

	"hatchel/hcl/jsonscan"
)

// Courier carries messages between the processes of a server. Its methods are called concurrently.
type Courier interface {
	// Name returns the name of this process.
	Name() string

	// Processes returns approximately how many processes there are, at least 1.
	Processes() int

	// Send returns nil when the process has received the message or will, [ErrNoReceiver] when the process does
	// not exist, and [ErrUnavailable] otherwise. A message to "" is for all other processes that listen at
	// this moment.
	Send(ctx context.Context, to string, message []byte) error
}

// ErrNoReceiver is returned by a Courier.
var ErrNoReceiver = errors.New("the process no longer exists")

// Message is what one process tells another, or all others, about a session.
type Message struct {
	Kind    MessageKind     `json:"kind"`
	Session SessionName     `json:"session"`
	ID      json.RawMessage `json:"id,omitempty"`      // of the request, or of the question
	Result  json.RawMessage `json:"result,omitempty"`  // of the question
	Failure json.RawMessage `json:"failure,omitempty"` // instead of Result

	Serial uint64    `json:"serial,omitempty"` // as in position
	Stream uint64    `json:"stream,omitempty"`
	Seq    uint64    `json:"seq,omitempty"`
	Reader string    `json:"reader,omitempty"` // of the stream, in the process that has asked to resume it
	Events []Event   `json:"events,omitempty"`
	End    StreamEnd `json:"end,omitempty"` // after Events
}

// MessageKind is what a message is about.
type MessageKind string

const (
	KindAnswer   MessageKind = "answer"   // the client has answered a question
	KindCancel   MessageKind = "cancel"   // the client has cancelled a request
	KindDeleted  MessageKind = "deleted"  // the client has ended the session
	KindAttached MessageKind = "attached" // the client reads the session's own stream elsewhere
	KindChanged  MessageKind = "changed"  // the record of the session was changed
	KindResume   MessageKind = "resume"   // the client has returned elsewhere for the events of a stream
	KindEvents   MessageKind = "events"   // events of a stream that was resumed elsewhere
	KindStop     MessageKind = "left"     // the client has stopped reading a stream that it had resumed
	KindProbe    MessageKind = "probe"    // ignored; Send reports whether the process exists
)

// NewRelay returns a relay of the processes with a store and a courier; either may be nil.
func NewRelay(store Store, courier Courier, log *slog.Logger) *Relay {
	r := &Relay{process: rand.Text(), store: store, courier: courier, log: log}
	if courier != nil {
		r.process = courier.Name()
	}
	return r
}

// ProcessName returns the name of this process.
func (r *Relay) ProcessName() string { return r.process }

// HasOthers reports whether there may be other processes.
func (r *Relay) HasOthers() bool { return r.courier != nil }

// KeepsCalls reports whether calls are stored while they wait for people.
func (r *Relay) KeepsCalls() bool { return r.store != nil }

const (
	broadcastTimeout = time.Second
	// answerTimeout is how long an answer waits for the store, because clients do not send it again.
	answerTimeout = 10 * time.Second
	// maxCancelMessages is how many cancellations all processes together broadcast in a second. A server
	// may ignore cancellations.
	maxCancelMessages = 200
)

// Relay exchanges messages with the other processes.
type Relay struct {
	process string  // the name of this process
	store   Store   // nil for none
	courier Courier // nil if there are no others
	log     *slog.Logger
	readers streamReaders

	mu      sync.Mutex
	second  time.Time // guarded by mu
	cancels int       // sent since then; guarded by mu
}

func (r *Relay) send(ctx context.Context, to string, m *Message) error {
	b, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return r.courier.Send(ctx, to, b)
}

// Broadcast sends a message to all other processes, if there are any. A process that misses it catches up
// when it listens again.
func (r *Relay) Broadcast(ctx context.Context, m *Message) {
	if r.courier == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), broadcastTimeout)
	defer cancel()
	if err := r.send(ctx, "", m); err != nil {
		r.log.DebugContext(ctx, "broadcast failed", "message", string(m.Kind), "error", err)
	}
}

// Session is a session in this process, as far as others answer its questions.
type Session interface {
	// Name returns what identifies the session between processes.
	Name() SessionName

	// AskingProcess returns the process that has asked a question of the session, or "".
	AskingProcess(id string) string

	// ResolveQuestion delivers the answer to a question, and reports whether a call here waits for it.
	ResolveQuestion(id string, r Response) bool

	// QuestionEvent returns the number and the message of the event of a question in a stream; 0 if it is not kept any
	// more.
	QuestionEvent(stream uint64, id string) (seq uint64, frame []byte)
}

// Answer delivers a response of the client to the process that has asked, once: it fails if that
// cannot be done now. The response to a question of a suspended call is stored, and that to a question
// that no call waits for is ignored.
func (r *Relay) Answer(ctx context.Context, sess Session, m *mcp.Message) error {
	id, _ := jsonscan.Text(m.ID)
	process := sess.AskingProcess(id)
	here := process == r.process
	response := NewResponse(m.Result, m.Failure)
	if process == "" || here && sess.ResolveQuestion(id, response) {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerTimeout)
	defer cancel()
	suspended, err := r.AnswerSuspended(ctx, sess, id, response, "")
	if suspended || here || r.courier == nil {
		return err
	}
	answer := &Message{Kind: KindAnswer, Session: sess.Name(), ID: m.ID, Result: m.Result, Failure: m.Failure}
	failed := r.send(ctx, process, answer) // waits for the store
	if failed != nil && !errors.Is(failed, ErrNoReceiver) || failed == nil && err == nil {
		return failed
	}
	// The record was stored in the last moment, or could not be read.
	ended := ""
	if failed != nil {
		ended = process
	}
	_, err = r.AnswerSuspended(ctx, sess, id, response, ended)
	return err
}

// ReceiveAnswer delivers an answer that another process has received. It reports false if AnswerLate must deliver it,
// which may block.
func (r *Relay) ReceiveAnswer(sess Session, m *Message) bool {
	id, _ := jsonscan.Text(m.ID)
	return sess.ResolveQuestion(id, NewResponse(m.Result, m.Failure))
}

// AnswerLate delivers an answer that no call here waits for.
func (r *Relay) AnswerLate(ctx context.Context, sess Session, m *Message) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerTimeout)
	defer cancel()
	id, _ := jsonscan.Text(m.ID)
	if _, err := r.AnswerSuspended(ctx, sess, id, NewResponse(m.Result, m.Failure), ""); err != nil {
		r.log.WarnContext(ctx, "answer to a suspended call not delivered", "error", err)
	}
}

// AnswerSuspended delivers the answer to a question of a call that waits, or has waited, to the process that
// has the call, or stores it if there is none. It reports false for any other question. Ended is the name of a
// process that is known to have ended, or empty.
func (r *Relay) AnswerSuspended(
	ctx context.Context, sess Session, id string, response Response, ended string,
) (suspended bool, err error) {
	if r.store == nil {
		return false, nil
	}
	for {
		suspended, at, err := r.storeAnswer(ctx, sess, id, response, ended)
		switch {
		case err != nil || at == nil:
			return suspended, err
		case at.Process == r.process:
			sess.ResolveQuestion(id, response)
			return true, nil
		}
		err = ErrNoReceiver
		if r.courier != nil {
			err = r.sendAnswer(ctx, at.Process, sess, id, response)
		}
		if !errors.Is(err, ErrNoReceiver) {
			return true, err
		}
		ended = at.Process
	}
}

func (r *Relay) sendAnswer(
	ctx context.Context, to string, sess Session, id string, response Response,
) (err error) {
	m := &Message{
		Kind: KindAnswer, Session: sess.Name(), ID: jsonscan.AppendString(nil, id), Result: response.Result,
	}
	if response.Err != nil {
		m.Failure, err = json.Marshal(response.Err)
	}
	if err != nil {
		return err
	}
	return r.send(ctx, to, m)
}

// HasEnded reports whether a process of an event or a question has ended.
func (r *Relay) HasEnded(ctx context.Context, process string) (bool, error) {
	switch {
	case process == r.process:
		return false, nil
	case r.courier == nil:
		return true, nil
	}
	ctx, cancel := context.WithTimeout(ctx, relayTimeout)
	defer cancel()
	err := r.send(ctx, process, &Message{Kind: KindProbe})
	if errors.Is(err, ErrNoReceiver) {
		return true, nil
	}
	return false, err
}

// Cancel cancels a request of the session that another process serves.
func (r *Relay) Cancel(ctx context.Context, session SessionName, id []byte) {
	if r.courier != nil && id != nil && r.mayCancel() {
		r.Broadcast(ctx, &Message{Kind: KindCancel, Session: session, ID: id})
	}
}

// mayCancel reports whether this process may broadcast one more cancellation in this second.
func (r *Relay) mayCancel() bool {
	limit := max(maxCancelMessages/r.courier.Processes(), 1)
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := time.Now(); now.Sub(r.second) >= time.Second {
		r.second, r.cancels = now, 0
	}
	r.cancels++
	return r.cancels <= limit
}
