package mcp

import (
	"net/http"
	"strconv"
	"sync"
	"time"
)

// postResponse is the HTTP response to one POST: a JSON document, or an event stream if anything
// must be sent before the reply.
type postResponse struct {
	w           http.ResponseWriter
	r           *http.Request
	server      *Server
	toolset     string
	info        *Info     // as of the start of the request
	identity    *Identity // nil for unauthenticated clients
	accepts     acceptedTypes
	requestSize int // in bytes
	memory      *reservation
	session     *session // of a legacy client that may return for missed events, or nil
	packet      *packet  // of a session

	suspended *suspendedCall  // that continues, or nil
	from      *callRecord     // of suspended, which another process has stored
	asked     []askedQuestion // before it was suspended

	mu        sync.Mutex
	streaming bool        // the response is an event stream; guarded by mu
	over      bool        // the response is complete; guarded by mu
	detached  bool        // the connection is closed, and the stream continues in the session; guarded by mu
	stream    uint64      // the stream of the session, once streaming; guarded by mu
	keepAlive *time.Timer // sends the next keep-alive; guarded by mu

	disconnect disconnectState
}

// Header values that all responses share.
var (
	jsonType    = []string{"application/json"}
	eventType   = []string{"text/event-stream"}
	noCache     = []string{"no-cache, no-transform"}
	noBuffering = []string{"no"}
	retryAfter  = []string{"1"} // seconds

	connectionClose = []string{"close"}
)

const keepAliveComment = ": keep-alive\n\n"

// startKeepAlive schedules keep-alives for a reply that takes long. A client that accepts no events
// gets none.
func (resp *postResponse) startKeepAlive() {
	if !resp.accepts.events {
		return
	}
	resp.mu.Lock()
	defer resp.mu.Unlock()
	resp.keepAlive = time.AfterFunc(firstByteTimeout, resp.sendKeepAlive)
}

func (resp *postResponse) sendKeepAlive() {
	resp.mu.Lock()
	defer resp.mu.Unlock()
	if resp.over || resp.keepAlive == nil {
		return
	}
	resp.startStreamLocked()
	resp.writeLocked([]byte(keepAliveComment))
	resp.keepAlive.Reset(keepAliveInterval)
}

// stopKeepAlive undoes startKeepAlive, for a caller that sends keep-alives itself.
func (resp *postResponse) stopKeepAlive() {
	resp.mu.Lock()
	defer resp.mu.Unlock()
	if resp.keepAlive != nil {
		resp.keepAlive.Stop()
		resp.keepAlive = nil
	}
}

// notify sends an event before the reply.
func (resp *postResponse) notify(frame []byte) {
	if !resp.accepts.events {
		return
	}
	resp.mu.Lock()
	defer resp.mu.Unlock()
	if !resp.over {
		resp.startStreamLocked()
		resp.sendEventLocked(frame)
	}
}

func (resp *postResponse) clientRequests() *clientRequests {
	if resp.session == nil || !resp.accepts.events {
		return nil
	}
	return &resp.session.requests
}

// resumable reports whether the client has an event id to resume from, so that it may disconnect
// without cancelling the call.
func (resp *postResponse) resumable() bool {
	resp.mu.Lock()
	defer resp.mu.Unlock()
	return resp.streaming && resp.session != nil
}

// fail sends an error of the protocol with its status.
func (resp *postResponse) fail(err *Error, id []byte) {
	resp.setErrorHeader(err)
	resp.finish(err.appendReply(nil, id), statusOf(err))
}

// setErrorHeader sets the header that belongs to err, unless the response has started:
// WWW-Authenticate or Retry-After.
func (resp *postResponse) setErrorHeader(err *Error) {
	resp.mu.Lock()
	defer resp.mu.Unlock()
	if resp.streaming {
		return
	}
	if challenge := err.challenge(resp.identity); challenge != "" {
		resp.w.Header()["Www-Authenticate"] = []string{challenge}
	}
	if err.isTransient() {
		resp.w.Header()["Retry-After"] = retryAfter
	}
}

// finish sends the reply. A nil frame ends the response without one.
func (resp *postResponse) finish(frame []byte, status int) {
	resp.mu.Lock()
	defer resp.mu.Unlock()
	resp.over = true
	if resp.keepAlive != nil {
		resp.keepAlive.Stop()
	}
	switch {
	case resp.streaming || resp.accepts.events && (frame == nil || !resp.accepts.json):
		resp.startStreamLocked()
		if frame != nil {
			resp.sendEventLocked(frame)
		}
		if resp.session != nil {
			resp.session.log.endStream(resp.stream)
		}
		if !resp.detached {
			http.NewResponseController(resp.w).SetWriteDeadline(time.Time{})
		}
	case frame == nil:
		resp.w.WriteHeader(http.StatusNoContent)
	default:
		resp.writeJSON(frame, status)
	}
}

// maxBufferedReply is the size of a reply that fits in the buffers of net/http and of the kernel,
// so that a client that does not read cannot delay it.
const maxBufferedReply = 64 << 10

// writeJSON sends the whole response as a JSON document.
func (resp *postResponse) writeJSON(frame []byte, status int) {
	h := resp.w.Header()
	resp.server.SetConnection(h) // the server may have begun to stop during the request
	h["Content-Type"] = jsonType
	h["Content-Length"] = []string{strconv.Itoa(len(frame))}
	if status != http.StatusOK {
		resp.w.WriteHeader(status)
	}
	if len(frame) < maxBufferedReply {
		resp.w.Write(frame)
		return
	}
	rc := http.NewResponseController(resp.w)
	rc.SetWriteDeadline(time.Now().Add(sendTimeout))
	resp.w.Write(frame)
	rc.SetWriteDeadline(time.Time{})
}

// startStreamLocked turns the response into an event stream.
func (resp *postResponse) startStreamLocked() {
	if resp.streaming {
		return
	}
	resp.streaming = true
	resp.server.SetConnection(resp.w.Header())
	beginEventStream(resp.w)
	if resp.session == nil {
		return
	}
	if resp.suspended == nil {
		resp.stream = resp.session.log.openStream(resp.packet.requestIDs())
	}
	if resp.session.revision.sendsPrimingEvent() {
		priming := resp.session.log.add(resp.stream, nil)
		resp.writeLocked(priming.append(nil))
	}
}

func (resp *postResponse) sendEventLocked(frame []byte) {
	e := event{frame: frame}
	if resp.session != nil {
		e = resp.session.log.add(resp.stream, frame)
	}
	b := borrowBuffer()
	defer b.release()
	b.b = e.append(b.b)
	resp.writeLocked(b.b)
}

func (resp *postResponse) writeLocked(chunk []byte) {
	if !resp.detached {
		resp.server.send(resp.w, chunk)
	}
}

// beginEventStream sets the head of an event stream, which is sent with the first bytes, or when they are flushed. It
// has no effect on a stream that has begun.
func beginEventStream(w http.ResponseWriter) {
	h := w.Header()
	h["Content-Type"] = eventType
	h["Cache-Control"] = noCache
	h["X-Accel-Buffering"] = noBuffering
}

// send writes and flushes a part of an event stream. It fails if the client does not accept it in
// time.
func (s *Server) send(w http.ResponseWriter, chunk []byte) error {
	rc := http.NewResponseController(w)
	rc.SetWriteDeadline(time.Now().Add(sendTimeout))
	if _, err := w.Write(chunk); err != nil {
		return err
	}
	return rc.Flush()
}

// disconnectState records since when the client of a request is disconnected. It has its own lock,
// because that of the response is held while a client does not read.
type disconnectState struct {
	mu       sync.Mutex
	detached bool      // the server has closed the connection; guarded by mu
	since    time.Time // when the client disconnected or should return; zero if it is connected; guarded by mu
}

// detach ends the connection but not the stream: further events are kept in the session until the
// client returns after retry.
func (resp *postResponse) detach(retry time.Duration) bool {
	resp.mu.Lock()
	defer resp.mu.Unlock()
	if resp.over || resp.detached || resp.session == nil || !resp.accepts.events ||
		!resp.session.revision.sendsPrimingEvent() || !resp.r.ProtoAtLeast(1, 1) {
		return false
	}
	if !resp.streaming {
		// The client learns early that it cannot reuse the connection.
		resp.w.Header()["Connection"] = connectionClose
	}
	resp.startStreamLocked()
	resp.writeLocked(appendRetry(nil, retry))
	conn, _, err := http.NewResponseController(resp.w).Hijack()
	if err != nil {
		return false
	}
	resp.detached = true
	resp.disconnect.mu.Lock()
	resp.disconnect.detached, resp.disconnect.since = true, time.Now().Add(retry)
	resp.disconnect.mu.Unlock()
	conn.SetWriteDeadline(time.Now().Add(sendTimeout))
	conn.Write([]byte("0\r\n\r\n")) // the last chunk completes the response
	conn.Close()
	return true
}

// disconnected reports whether the client has been disconnected for too long: its connection is
// closed, and it reads no other stream of the session. During a shutdown no client can return, so
// any time is too long.
func (resp *postResponse) disconnected() bool {
	d := &resp.disconnect
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.detached && resp.r.Context().Err() == nil || resp.session.connections.Load() > 0 {
		d.since = time.Time{}
		return false
	}
	if d.since.IsZero() {
		d.since = time.Now()
	}
	return isClosed(resp.server.closing) || time.Since(d.since) >= returnTimeout
}
