package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"hatchel/hcl/jsonscan"
)

// Courier carries news between the processes of a server. Its methods are called concurrently.
type Courier interface {
	// Name returns the name of this process.
	Name() string

	// Processes returns approximately how many processes there are, at least 1.
	Processes() int

	// Send returns nil when the process has received the news or will, [ErrGone] when the process does
	// not exist, and [ErrUnavailable] otherwise. News to "" are for all other processes that listen at
	// this moment.
	Send(ctx context.Context, to string, news []byte) error
}

// ErrGone is returned by a Courier.
var ErrGone = errors.New("the process no longer exists")

// news are what one process tells another, or all others, about a session.
type news struct {
	Kind    newsKind        `json:"kind"`
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

type newsKind string

const (
	newsAnswer   newsKind = "answer"   // the client has answered a question
	newsCancel   newsKind = "cancel"   // the client has cancelled a request
	newsDeleted  newsKind = "deleted"  // the client has ended the session
	newsAttached newsKind = "attached" // the client reads the session's own stream elsewhere
	newsChanged  newsKind = "changed"  // the record of the session was changed
	newsResume   newsKind = "resume"   // the client has returned elsewhere for the events of a stream
	newsEvents   newsKind = "events"   // events of a stream that was resumed elsewhere
	newsLeft     newsKind = "left"     // the client has left a stream that it had resumed
	newsProbe    newsKind = "probe"    // ignored; Send reports whether the process exists
)

const (
	broadcastTimeout = time.Second
	// answerTimeout is how long an answer waits for the store, because clients do not send it again.
	answerTimeout = 10 * time.Second
	// maxCancelNews is how many cancellations all processes together broadcast in a second. A server
	// may ignore cancellations.
	maxCancelNews = 200
)

// relay exchanges news with the other processes.
type relay struct {
	server  *Server
	courier Courier             // nil if there are no others
	running *semaphore.Weighted // what start has started
	served  remoteReaders
	streams streamReaders

	mu      sync.Mutex
	second  time.Time // guarded by mu
	cancels int       // sent since then; guarded by mu
}

const maxRunning = math.MaxInt64

// start runs do in the background. Shutdown waits for all that was started before it began to wait.
func (r *relay) start(do func()) {
	awaited := r.running.TryAcquire(1)
	go func() {
		do()
		if awaited {
			r.running.Release(1)
		}
	}()
}

func (r *relay) send(ctx context.Context, to string, n *news) error {
	b, err := json.Marshal(n)
	if err != nil {
		return err
	}
	return r.courier.Send(ctx, to, b)
}

// broadcast sends news to all other processes, if there are any. A process that misses them catches up
// when it listens again.
func (r *relay) broadcast(ctx context.Context, n *news) {
	if r.courier == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), broadcastTimeout)
	defer cancel()
	if err := r.send(ctx, "", n); err != nil {
		r.server.options.Logger.DebugContext(ctx, "broadcast failed", "news", string(n.Kind), "error", err)
	}
}

// answer delivers a response of the client to the process that has asked, once: it fails if that
// cannot be done now. The response to a question of a suspended call is stored, and that to a question
// that no call waits for is ignored.
func (r *relay) answer(ctx context.Context, sess *session, m *message) error {
	id, _ := jsonscan.Text(m.id)
	process := sess.askingProcess(id)
	here := process == sess.table.process
	response := newClientResponse(m.result, m.failure)
	if process == "" || here && sess.requests.resolve(id, response) {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerTimeout)
	defer cancel()
	suspended, err := r.answerSuspended(ctx, sess, id, response, "")
	if suspended || here || r.courier == nil {
		return err
	}
	n := &news{Kind: newsAnswer, Session: sess.name, ID: m.id, Result: m.result, Failure: m.failure}
	sent := r.send(ctx, process, n) // waits for the store
	if sent != nil && !errors.Is(sent, ErrGone) || sent == nil && err == nil {
		return sent
	}
	// The record was stored in the last moment, or could not be read.
	gone := ""
	if sent != nil {
		gone = process
	}
	_, err = r.answerSuspended(ctx, sess, id, response, gone)
	return err
}

// isGone reports whether a process of an event or a question is gone.
func (r *relay) isGone(ctx context.Context, process string) (bool, error) {
	switch {
	case process == r.server.sessions.process:
		return false, nil
	case r.courier == nil:
		return true, nil
	}
	ctx, cancel := context.WithTimeout(ctx, relayTimeout)
	defer cancel()
	err := r.send(ctx, process, &news{Kind: newsProbe})
	if errors.Is(err, ErrGone) {
		return true, nil
	}
	return false, err
}

// hearAnswer delivers an answer that another process has received.
func (r *relay) hearAnswer(sess *session, n *news) {
	id, _ := jsonscan.Text(n.ID)
	response := newClientResponse(n.Result, n.Failure)
	if sess.requests.resolve(id, response) {
		sess.release()
		return
	}
	r.start(func() {
		defer sess.release()
		ctx, cancel := context.WithTimeout(context.Background(), answerTimeout)
		defer cancel()
		if _, err := r.answerSuspended(ctx, sess, id, response, ""); err != nil {
			r.server.options.Logger.WarnContext(ctx, "answer to a suspended call not delivered", "error", err)
		}
	})
}

// cancel cancels a request of the session that another process serves.
func (r *relay) cancel(ctx context.Context, sess *session, id []byte) {
	if r.courier != nil && id != nil && r.mayCancel() {
		r.broadcast(ctx, &news{Kind: newsCancel, Session: sess.name, ID: id})
	}
}

// mayCancel reports whether this process may broadcast one more cancellation in this second.
func (r *relay) mayCancel() bool {
	limit := max(maxCancelNews/r.courier.Processes(), 1)
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := time.Now(); now.Sub(r.second) >= time.Second {
		r.second, r.cancels = now, 0
	}
	r.cancels++
	return r.cancels <= limit
}

// Heard is called with the news that another process has sent to this one, or to all. From is empty if
// news to all may have been missed. It does not block.
func (s *Server) Heard(from string, b []byte) {
	if from == "" {
		s.sessions.catchUp()
		return
	}
	var n news
	if err := json.Unmarshal(b, &n); err != nil {
		s.options.Logger.Error("news not readable", "process", from, "error", err)
		return
	}
	switch n.Kind {
	case newsEvents:
		if !s.relay.streams.receive(&n) && n.End == "" {
			go s.relay.leave(from, n.Reader)
		}
		return
	case newsLeft:
		s.relay.served.remove(n.Reader)
		return
	case newsDeleted:
		s.sessions.forgetDeleted(n.Session)
		return
	}
	sess := s.sessions.named(n.Session)
	if n.Kind == newsResume {
		s.relay.serveResume(from, sess, &n)
		return
	}
	if n.Kind == newsAnswer {
		if sess == nil { // its calls may be suspended
			sess = &session{table: &s.sessions, name: n.Session}
		}
		s.relay.hearAnswer(sess, &n)
		return
	}
	if sess == nil {
		return
	}
	defer sess.release()
	switch n.Kind {
	case newsCancel:
		sess.inflight.cancel(n.ID, errCancelled)
	case newsAttached:
		sess.readElsewhere()
	case newsChanged:
		sess.recordChanged()
	}
}
