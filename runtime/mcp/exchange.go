package mcp

import (
	"net/http"
	"strconv"
	"sync"
	"time"
)

// exchange is the HTTP answer to one POST: a document, or a stream of events as soon as anything must be said before the reply.
type exchange struct {
	w        http.ResponseWriter
	r        *http.Request
	server   *Server
	view     view
	identity *Identity // nil when nobody has asked
	accepts  accepted
	size     int // of the request, in bytes

	// Of a legacy client that may come back for what it has missed; nil otherwise.
	session *session

	mu        sync.Mutex
	streaming bool   // the answer is a stream; guarded by mu
	over      bool   // the answer is complete; guarded by mu
	detached  bool   // the connection is gone, and the stream goes on without it; guarded by mu
	stream    uint64 // of the session, once streaming; guarded by mu

	absence absence
	timer   *time.Timer // sends the next keep-alive; guarded by mu
}

// Values of headers, shared by all replies.
var (
	jsonType  = []string{"application/json"}
	eventType = []string{"text/event-stream"}
	noCache   = []string{"no-cache, no-transform"}
	noBuffers = []string{"no"}
)

// await arranges for keep-alives when the reply is late. A client that takes no events gets none.
func (x *exchange) await() {
	if !x.accepts.events {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.timer = time.AfterFunc(x.server.options.FirstByte, x.keepAlive)
}

func (x *exchange) keepAlive() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.over || x.timer == nil {
		return
	}
	x.openLocked()
	x.sendLocked([]byte(": keep-alive\n\n"))
	x.timer.Reset(x.server.options.KeepAlive)
}

// quiet ends the keep-alives of await, for who sends its own.
func (x *exchange) quiet() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.timer != nil {
		x.timer.Stop()
		x.timer = nil
	}
}

// notify sends an event ahead of the reply.
func (x *exchange) notify(frame []byte) {
	if !x.accepts.events {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.over {
		x.openLocked()
		x.eventLocked(frame)
	}
}

// asked returns the questions to the client, if it can hear them.
func (x *exchange) asked() *inquiries {
	if x.session == nil || !x.accepts.events {
		return nil
	}
	return &x.session.peer.asked
}

// resumable reports whether the client knows an id to come back with, so that its going away is not the end of the call.
func (x *exchange) resumable() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.streaming && x.session != nil
}

// finish sends the reply; a nil frame ends the answer without one.
func (x *exchange) finish(frame []byte, status int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.over = true
	if x.timer != nil {
		x.timer.Stop()
	}
	switch {
	case x.streaming || x.accepts.events && (frame == nil || !x.accepts.document):
		x.openLocked()
		if frame != nil {
			x.eventLocked(frame)
		}
		if x.session != nil {
			x.session.log.finish(x.stream)
		}
		if !x.detached {
			http.NewResponseController(x.w).SetWriteDeadline(time.Time{})
		}
	case frame == nil:
		x.w.WriteHeader(http.StatusNoContent)
	default:
		x.document(frame, status)
	}
}

// document sends the whole answer as one JSON text.
func (x *exchange) document(frame []byte, status int) {
	h := x.w.Header()
	h["Content-Type"] = jsonType
	h["Content-Length"] = []string{strconv.Itoa(len(frame))}
	if status != http.StatusOK {
		x.w.WriteHeader(status)
	}
	// What fits the buffers of net/http and of the kernel cannot be held up.
	if len(frame) < 64<<10 {
		x.w.Write(frame)
		return
	}
	rc := http.NewResponseController(x.w)
	rc.SetWriteDeadline(time.Now().Add(x.server.options.SendTimeout))
	x.w.Write(frame)
	rc.SetWriteDeadline(time.Time{})
}

// openLocked makes the answer a stream.
func (x *exchange) openLocked() {
	if x.streaming {
		return
	}
	x.streaming = true
	beginEvents(x.w)
	if x.session == nil {
		return
	}
	x.stream = x.session.log.begin()
	if x.session.revision.primes() {
		prime := x.session.log.add(x.stream, nil)
		x.sendLocked(prime.append(nil))
	}
}

func (x *exchange) eventLocked(frame []byte) {
	e := event{frame: frame}
	if x.session != nil {
		e = x.session.log.add(x.stream, frame)
	}
	b := borrow()
	defer b.release()
	b.b = e.append(b.b)
	x.sendLocked(b.b)
}

func (x *exchange) sendLocked(chunk []byte) {
	if !x.detached {
		x.server.send(x.w, chunk)
	}
}

// beginEvents sends the head of an event stream.
func beginEvents(w http.ResponseWriter) {
	h := w.Header()
	h["Content-Type"] = eventType
	h["Cache-Control"] = noCache
	h["X-Accel-Buffering"] = noBuffers
	w.WriteHeader(http.StatusOK)
}

// send writes a part of an event stream so that it arrives now. It gives up when the peer does not take it in time.
func (s *Server) send(w http.ResponseWriter, chunk []byte) error {
	rc := http.NewResponseController(w)
	rc.SetWriteDeadline(time.Now().Add(s.options.SendTimeout))
	if _, err := w.Write(chunk); err != nil {
		return err
	}
	return rc.Flush()
}

// append appends the event in the form of an event stream. Only events of a session have an id.
func (e event) append(dst []byte) []byte {
	if e.seq > 0 {
		dst = append(append(append(dst, "id: "...), e.id()...), '\n')
	}
	if e.frame == nil {
		return append(dst, "retry: 1000\ndata:\n\n"...)
	}
	dst = append(dst, "data: "...)
	at := len(dst)
	dst = append(dst, e.frame...)
	if hasBreak(dst[at:]) {
		oneLine(dst[at:])
	}
	return append(dst, "\n\n"...)
}
