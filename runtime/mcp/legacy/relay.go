package legacy

import (
	"hatchel/runtime/mcp"

	"context"
	"encoding/json"
	"errors"
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

// relayMessage is what one process tells another, or all others, about a session.
type relayMessage struct {
	Kind    messageKind     `json:"kind"`
	Session sessionName     `json:"session"`
	ID      json.RawMessage `json:"id,omitempty"`      // of the request, or of the question
	Result  json.RawMessage `json:"result,omitempty"`  // of the question
	Failure json.RawMessage `json:"failure,omitempty"` // instead of Result

	Serial uint64      `json:"serial,omitempty"` // as in position
	Stream uint64      `json:"stream,omitempty"`
	Seq    uint64      `json:"seq,omitempty"`
	Reader string      `json:"reader,omitempty"` // of the stream, in the process that has asked to resume it
	Events []sentEvent `json:"events,omitempty"`
	End    streamEnd   `json:"end,omitempty"` // after Events
}

type messageKind string

const (
	kindAnswer   messageKind = "answer"   // the client has answered a question
	kindCancel   messageKind = "cancel"   // the client has cancelled a request
	kindDeleted  messageKind = "deleted"  // the client has ended the session
	kindAttached messageKind = "attached" // the client reads the session's own stream elsewhere
	kindChanged  messageKind = "changed"  // the record of the session was changed
	kindResume   messageKind = "resume"   // the client has returned elsewhere for the events of a stream
	kindEvents   messageKind = "events"   // events of a stream that was resumed elsewhere
	kindStop     messageKind = "left"     // the client has stopped reading a stream that it had resumed
	kindProbe    messageKind = "probe"    // ignored; Send reports whether the process exists
)

const (
	broadcastTimeout = time.Second
	// answerTimeout is how long an answer waits for the store, because clients do not send it again.
	answerTimeout = 10 * time.Second
	// maxCancelMessages is how many cancellations all processes together broadcast in a second. A server
	// may ignore cancellations.
	maxCancelMessages = 200
)

// relay exchanges messages with the other processes.
type relay struct {
	server  *Server
	courier Courier // nil if there are no others
	served  remoteReaders
	streams streamReaders

	mu      sync.Mutex
	second  time.Time // guarded by mu
	cancels int       // sent since then; guarded by mu
}

func (r *relay) send(ctx context.Context, to string, m *relayMessage) error {
	b, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return r.courier.Send(ctx, to, b)
}

// broadcast sends a message to all other processes, if there are any. A process that misses it catches up
// when it listens again.
func (r *relay) broadcast(ctx context.Context, m *relayMessage) {
	if r.courier == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), broadcastTimeout)
	defer cancel()
	if err := r.send(ctx, "", m); err != nil {
		r.server.log.DebugContext(ctx, "broadcast failed", "message", string(m.Kind), "error", err)
	}
}

// answer delivers a response of the client to the process that has asked, once: it fails if that
// cannot be done now. The response to a question of a suspended call is stored, and that to a question
// that no call waits for is ignored.
func (r *relay) answer(ctx context.Context, sess *session, m *mcp.Message) error {
	id, _ := jsonscan.Text(m.ID)
	process := sess.askingProcess(id)
	here := process == sess.table.process
	response := newClientResponse(m.Result, m.Failure)
	if process == "" || here && sess.questions.resolve(id, response) {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerTimeout)
	defer cancel()
	suspended, err := r.answerSuspended(ctx, sess, id, response, "")
	if suspended || here || r.courier == nil {
		return err
	}
	answer := &relayMessage{Kind: kindAnswer, Session: sess.name, ID: m.ID, Result: m.Result, Failure: m.Failure}
	failed := r.send(ctx, process, answer) // waits for the store
	if failed != nil && !errors.Is(failed, ErrNoReceiver) || failed == nil && err == nil {
		return failed
	}
	// The record was stored in the last moment, or could not be read.
	ended := ""
	if failed != nil {
		ended = process
	}
	_, err = r.answerSuspended(ctx, sess, id, response, ended)
	return err
}

// hasEnded reports whether a process of an event or a question has ended.
func (r *relay) hasEnded(ctx context.Context, process string) (bool, error) {
	switch {
	case process == r.server.table.process:
		return false, nil
	case r.courier == nil:
		return true, nil
	}
	ctx, cancel := context.WithTimeout(ctx, relayTimeout)
	defer cancel()
	err := r.send(ctx, process, &relayMessage{Kind: kindProbe})
	if errors.Is(err, ErrNoReceiver) {
		return true, nil
	}
	return false, err
}

// receiveAnswer delivers an answer that another process has received.
func (r *relay) receiveAnswer(ctx context.Context, sess *session, m *relayMessage) {
	id, _ := jsonscan.Text(m.ID)
	response := newClientResponse(m.Result, m.Failure)
	if sess.questions.resolve(id, response) {
		sess.release()
		return
	}
	r.server.work.start(func() {
		defer sess.release()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerTimeout)
		defer cancel()
		if _, err := r.answerSuspended(ctx, sess, id, response, ""); err != nil {
			r.server.log.WarnContext(ctx, "answer to a suspended call not delivered", "error", err)
		}
	})
}

// cancel cancels a request of the session that another process serves.
func (r *relay) cancel(ctx context.Context, sess *session, id []byte) {
	if r.courier != nil && id != nil && r.mayCancel() {
		r.broadcast(ctx, &relayMessage{Kind: kindCancel, Session: sess.name, ID: id})
	}
}

// mayCancel reports whether this process may broadcast one more cancellation in this second.
func (r *relay) mayCancel() bool {
	limit := max(maxCancelMessages/r.courier.Processes(), 1)
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := time.Now(); now.Sub(r.second) >= time.Second {
		r.second, r.cancels = now, 0
	}
	r.cancels++
	return r.cancels <= limit
}

// Receive handles a message of another process, as mcp.Server.Receive does.
func (s *Server) Receive(ctx context.Context, from string, b []byte) {
	if from == "" {
		s.table.catchUp(ctx)
		return
	}
	var m relayMessage
	if err := json.Unmarshal(b, &m); err != nil {
		s.log.Error("message not readable", "process", from, "error", err)
		return
	}
	switch m.Kind {
	case kindEvents:
		if !s.relay.streams.receive(&m) && m.End == "" {
			s.work.start(func() { s.relay.stopReading(ctx, from, m.Reader) })
		}
		return
	case kindStop:
		s.relay.served.remove(m.Reader)
		return
	case kindDeleted:
		s.table.forgetDeleted(m.Session)
		return
	}
	sess := s.table.named(m.Session)
	switch m.Kind {
	case kindResume:
		s.relay.serveResume(ctx, from, sess, &m)
		return
	case kindAnswer:
		if sess == nil { // its calls may be suspended
			sess = &session{peer: peer{server: s}, table: &s.table, name: m.Session}
		}
		s.relay.receiveAnswer(ctx, sess, &m)
		return
	}
	if sess == nil {
		return
	}
	defer sess.release()
	switch m.Kind {
	case kindCancel:
		sess.inflight.Cancel(m.ID, mcp.ErrCancelled)
	case kindAttached:
		sess.readElsewhere()
	case kindChanged:
		sess.recordChanged(ctx)
	}
}
