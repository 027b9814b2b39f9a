package mcp

import (
	"bytes"
	"context"
	"net/http"
	"time"
)

// postModern answers a message of the stateless era.
func (s *Server) postModern(resp *postResponse, m *message, version string) {
	if m.isResponse() {
		resp.fail(errorf(CodeInvalidRequest, "The server has sent no request that a response could answer"), m.id)
		return
	}
	if err := checkHeaders(resp.r.Header, version, m); err != nil {
		resp.fail(err, m.id)
		return
	}
	if !m.isRequest() {
		// No notification has an effect: a client of this era cancels a request by closing its
		// connection.
		resp.w.WriteHeader(http.StatusAccepted)
		return
	}
	c := &Caller{Toolset: resp.toolset, Remote: s.options.Remote(resp.r), Header: resp.r.Header}
	c.SetIdentity(resp.identity)
	if err := checkMeta(m, c); err != nil {
		resp.finish(err.appendReply(nil, m.id), http.StatusBadRequest)
		return
	}
	if string(m.method) == "subscriptions/listen" {
		s.listenHTTP(resp, m, c)
		return
	}
	if err := s.admit(); err != nil {
		resp.fail(err, m.id)
		return
	}
	defer s.calls.Release(1)
	if mayBlock(m.method) {
		resp.startKeepAlive()
	}
	reply := borrowBuffer()
	defer reply.release()
	var err *Error
	reply.b, err = s.reply(resp.r.Context(), reply.b, m, requestContext{
		caller: c, wire: resp, info: resp.info, memory: resp.memory,
	})
	status := http.StatusOK
	if err != nil {
		status = statusOf(err)
		resp.setErrorHeader(err)
	}
	resp.finish(reply.b, status)
}

// maxListenSize is the maximum size of a subscriptions/listen in bytes. It stays in memory with the
// subscription.
const maxListenSize = 256 << 10

// listenHTTP serves a subscription until the client disconnects or stops reading, its credentials
// become invalid, or the server shuts down.
func (s *Server) listenHTTP(resp *postResponse, m *message, c *Caller) {
	if !resp.accepts.events {
		http.Error(resp.w, "The Accept header must allow text/event-stream", http.StatusNotAcceptable)
		return
	}
	filter, err := m.listenFilter(c)
	switch {
	case err == nil && resp.requestSize > maxListenSize:
		err = invalidParams("A subscription request is limited to %d bytes, and this one has %d",
			maxListenSize, resp.requestSize)
	case err == nil:
		err = s.admitStream("subscriptions")
	}
	if err != nil {
		resp.fail(err, m.id)
		return
	}
	defer s.listeners.Release(1)
	ctx, cancel := s.streams.open(resp.r.Context())
	defer cancel()
	sub := s.newSubscription(resp.toolset, bytes.Clone(m.id))
	defer sub.close()
	sub.lookUpTask = func(id string) ([]byte, error) { return s.taskState(ctx, c, id) }
	resp.startKeepAlive()
	acknowledgement, any, refused := s.subscribe(ctx, sub, c, filter)
	resp.stopKeepAlive()
	if refused != nil {
		resp.fail(s.protocolError(ctx, m, refused), m.id)
		return
	}
	resp.notify(acknowledgement)
	if any && !s.deliver(ctx, resp, sub) {
		return
	}
	resp.finish(sub.endReply(resp.info), http.StatusOK)
}

// noticesPerChunk is how many notifications are sent at once. Each may be as large as the result of
// a task.
const noticesPerChunk = 16

// deliver sends the notifications of sub. It reports whether the subscription ends with a reply.
func (s *Server) deliver(ctx context.Context, resp *postResponse, sub *subscription) bool {
	wake := make(chan struct{}, 1)
	sub.mailbox.open(trySend(wake))
	alive := time.NewTicker(keepAliveInterval)
	defer alive.Stop()
	for closing := false; !closing; {
		chunk := []byte(nil)
		select {
		case <-wake:
		case <-alive.C:
			chunk = []byte(keepAliveComment)
		case <-s.closing:
			closing = true
		case <-ctx.Done():
			return false
		}
		for more := true; more; chunk = chunk[:0] {
			more = sub.drain(noticesPerChunk, func(frame []byte) { chunk = event{frame: frame}.append(chunk) })
			if len(chunk) > 0 && s.send(resp.w, chunk) != nil {
				return false
			}
		}
	}
	return true
}

// trySend returns a function that wakes the receiver of c and never blocks.
func trySend(c chan<- struct{}) func() {
	return func() {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}
