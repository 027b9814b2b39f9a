package mcp

import (
	"net/http"
	"strconv"
	"sync"
	"time"
)

// Response is the HTTP response to one request: a JSON document, or an event stream if anything must be sent before
// the reply.
type Response struct {
	Writer      http.ResponseWriter
	Request     *http.Request
	server      *Server
	Toolset     string
	Info        *Info     // as of the start of the request
	Identity    *Identity // nil for unauthenticated clients
	accepts     acceptedTypes
	requestSize int // in bytes
	Memory      *Reservation
	Rest        []byte     // follows the frame of Finish; not changed
	kept        KeptEvents // for a client that may return for missed events, or nil
	length      [1]string  // the header Content-Length

	mu        sync.Mutex
	streaming bool        // the response is an event stream; guarded by mu
	over      bool        // the response is complete; guarded by mu
	detached  bool        // the connection is closed, and the stream continues in kept; guarded by mu
	keepAlive *time.Timer // sends the next keep-alive; guarded by mu
}

// KeptEvents keep the events of a response for a client that returns with the id of the last one that it has received.
// The methods are called one after the other.
type KeptEvents interface {
	// Begin is called when the response becomes an event stream. It returns the first event, as text, or nil.
	Begin() []byte

	// Add keeps an event and appends it, as text with its id.
	Add(dst, frame []byte) []byte

	// End is called after the last event.
	End()
}

// NewEventResponse returns a response that is an event stream in any case.
func (s *Server) NewEventResponse(
	w http.ResponseWriter, r *http.Request, toolset string, info *Info, memory *Reservation,
) *Response {
	return &Response{
		Writer: w, Request: r, server: s, Toolset: toolset, Info: info, Identity: IdentityOf(r.Context()),
		accepts: acceptedTypes{events: true}, Memory: memory,
	}
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

// KeepAliveComment is the part of an event stream that keeps its connection open.
const KeepAliveComment = ": keep-alive\n\n"

// StartKeepAlive schedules keep-alives for a reply that takes long. A client that accepts no events
// gets none.
func (resp *Response) StartKeepAlive() {
	if !resp.accepts.events {
		return
	}
	resp.mu.Lock()
	defer resp.mu.Unlock()
	if resp.keepAlive == nil && !resp.over {
		resp.keepAlive = time.AfterFunc(firstByteTimeout, resp.sendKeepAlive)
	}
}

func (resp *Response) sendKeepAlive() {
	resp.mu.Lock()
	defer resp.mu.Unlock()
	if resp.over || resp.keepAlive == nil {
		return
	}
	resp.startStreamLocked()
	resp.writeLocked([]byte(KeepAliveComment))
	resp.keepAlive.Reset(KeepAliveInterval)
}

// stopKeepAlive undoes StartKeepAlive, for a caller that sends keep-alives itself.
func (resp *Response) stopKeepAlive() {
	resp.mu.Lock()
	defer resp.mu.Unlock()
	if resp.keepAlive != nil {
		resp.keepAlive.Stop()
		resp.keepAlive = nil
	}
}

// Notify sends an event before the reply.
func (resp *Response) Notify(frame []byte) {
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

// AcceptsEvents reports whether the client accepts an event stream.
func (resp *Response) AcceptsEvents() bool { return resp.accepts.events }

// Keep keeps the events of the response, from its first one on.
func (resp *Response) Keep(kept KeptEvents) { resp.kept = kept }

// IsStreaming reports whether the response is an event stream.
func (resp *Response) IsStreaming() bool {
	resp.mu.Lock()
	defer resp.mu.Unlock()
	return resp.streaming
}

// Fail sends an error of the protocol with its status.
func (resp *Response) Fail(err *Error, id []byte) {
	resp.SetErrorHeader(err)
	resp.Finish(err.AppendReply(nil, id), err.Status())
}

// SetErrorHeader sets the header that belongs to err, unless the response has started:
// WWW-Authenticate or Retry-After.
func (resp *Response) SetErrorHeader(err *Error) {
	resp.mu.Lock()
	defer resp.mu.Unlock()
	if resp.streaming {
		return
	}
	if challenge := err.challenge(resp.Identity); challenge != "" {
		resp.Writer.Header()["Www-Authenticate"] = []string{challenge}
	}
	if err.IsTransient() {
		resp.Writer.Header()["Retry-After"] = retryAfter
	}
}

// Finish sends the reply: the frame, and Rest. A nil frame ends the response without one.
func (resp *Response) Finish(frame []byte, status int) {
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
			resp.sendEventLocked(append(frame, resp.Rest...))
		}
		if resp.kept != nil {
			resp.kept.End()
		}
		if !resp.detached {
			http.NewResponseController(resp.Writer).SetWriteDeadline(time.Time{})
		}
	case frame == nil:
		resp.Writer.WriteHeader(http.StatusNoContent)
	default:
		resp.writeJSON(frame, status)
	}
}

// maxBufferedReply is the size of a reply that fits in the buffers of net/http and of the kernel,
// so that a client that does not read cannot delay it.
const maxBufferedReply = 64 << 10

// writeJSON sends the whole response as a JSON document.
func (resp *Response) writeJSON(frame []byte, status int) {
	h := resp.Writer.Header()
	resp.server.SetConnection(h) // the server may have begun to stop during the request
	h["Content-Type"] = jsonType
	size := len(frame) + len(resp.Rest)
	resp.length[0] = strconv.Itoa(size)
	h["Content-Length"] = resp.length[:]
	if status != http.StatusOK {
		resp.Writer.WriteHeader(status)
	}
	if size >= maxBufferedReply {
		rc := http.NewResponseController(resp.Writer)
		rc.SetWriteDeadline(time.Now().Add(sendTimeout))
		defer rc.SetWriteDeadline(time.Time{})
	}
	resp.Writer.Write(frame)
	if resp.Rest != nil {
		resp.Writer.Write(resp.Rest)
	}
}

// StartStream turns the response into an event stream.
func (resp *Response) StartStream() {
	resp.mu.Lock()
	defer resp.mu.Unlock()
	resp.startStreamLocked()
}

func (resp *Response) startStreamLocked() {
	if resp.streaming {
		return
	}
	resp.streaming = true
	resp.server.SetConnection(resp.Writer.Header())
	BeginEventStream(resp.Writer)
	if resp.kept == nil {
		return
	}
	if first := resp.kept.Begin(); first != nil {
		resp.writeLocked(first)
	}
}

func (resp *Response) sendEventLocked(frame []byte) {
	b := BorrowBuffer()
	defer b.Release()
	if resp.kept != nil {
		b.B = resp.kept.Add(b.B, frame)
	} else {
		b.B = AppendEvent(b.B, frame)
	}
	resp.writeLocked(b.B)
}

// Write sends a part of the event stream that is no event.
func (resp *Response) Write(chunk []byte) {
	resp.mu.Lock()
	defer resp.mu.Unlock()
	resp.writeLocked(chunk)
}

func (resp *Response) writeLocked(chunk []byte) {
	if !resp.detached {
		SendPart(resp.Writer, chunk)
	}
}

// Detach ends the connection but not the event stream, whose further events are kept: last is the last part that is
// sent. It reports false if that is not possible.
func (resp *Response) Detach(last []byte) bool {
	resp.mu.Lock()
	defer resp.mu.Unlock()
	if resp.over || resp.detached {
		return false
	}
	if !resp.streaming {
		// The client learns early that it cannot reuse the connection.
		resp.Writer.Header()["Connection"] = connectionClose
	}
	resp.startStreamLocked()
	resp.writeLocked(last)
	conn, _, err := http.NewResponseController(resp.Writer).Hijack()
	if err != nil {
		return false
	}
	resp.detached = true
	conn.SetWriteDeadline(time.Now().Add(sendTimeout))
	conn.Write([]byte("0\r\n\r\n")) // the last chunk completes the response
	conn.Close()
	return true
}

// BeginEventStream sets the head of an event stream, which is sent with the first bytes, or when they are flushed. It
// has no effect on a stream that has begun.
func BeginEventStream(w http.ResponseWriter) {
	h := w.Header()
	h["Content-Type"] = eventType
	h["Cache-Control"] = noCache
	h["X-Accel-Buffering"] = noBuffering
}

// AppendEvent appends a message as an event without an id.
func AppendEvent(dst, frame []byte) []byte {
	return append(appendOneLine(append(dst, "data: "...), frame), "\n\n"...)
}

// SendPart writes and flushes a part of an event stream. It fails if the client does not accept it in
// time.
func SendPart(w http.ResponseWriter, chunk []byte) error {
	rc := http.NewResponseController(w)
	rc.SetWriteDeadline(time.Now().Add(sendTimeout))
	if _, err := w.Write(chunk); err != nil {
		return err
	}
	return rc.Flush()
}
