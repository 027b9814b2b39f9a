package mcp

import (
	"bytes"
	"context"
	"net/http"
	"time"

	"hatchel/hcl/jsonscan"
	"hatchel/internal/queue"
)

// postModern answers a message of the stateless era.
func (s *Server) postModern(resp *Response, m *Message, version string) {
	if m.IsResponse() {
		resp.Fail(Errorf(CodeInvalidRequest, "The server has sent no request that a response could answer"), m.ID)
		return
	}
	if version != "" && version != string(Revision20260728) { // before the headers, whose rules in it are not known
		err := s.unsupportedVersion(version)
		if inBody, ok := jsonscan.Text(m.metaVersion); ok && inBody != version {
			err = headerMismatch("The header MCP-Protocol-Version does not match params._meta, which says %q. "+
				"This server supports %s", jsonscan.Excerpt(inBody), s.revisionNames())
		}
		resp.Fail(err, m.ID)
		return
	}
	if err := checkHeaders(resp.Request.Header, version, m); err != nil {
		resp.Fail(err, m.ID)
		return
	}
	if !m.IsRequest() {
		// No notification has an effect: a client of this era cancels a request by closing its
		// connection.
		resp.Writer.WriteHeader(http.StatusAccepted)
		return
	}
	c := &Caller{Toolset: resp.Toolset, Remote: s.options.Remote(resp.Request), Header: resp.Request.Header}
	c.SetIdentity(resp.Identity)
	if err := s.checkMeta(m, c); err != nil {
		resp.Finish(err.AppendReply(nil, m.ID), http.StatusBadRequest)
		return
	}
	if string(m.Method) == "subscriptions/listen" {
		s.listenHTTP(resp, m, c)
		return
	}
	if err := s.Admit(); err != nil {
		resp.Fail(err, m.ID)
		return
	}
	defer s.calls.Release(1)
	if HasKeepAlive(m.Method) {
		resp.StartKeepAlive()
	}
	reply := BorrowBuffer()
	defer reply.Release()
	var err *Error
	reply.B, err = s.Reply(resp.Request.Context(), reply.B, m, RequestContext{
		Caller: c, Wire: resp, Info: resp.Info, Memory: resp.Memory, Rest: &resp.Rest,
	})
	status := http.StatusOK
	if err != nil {
		status = err.Status()
		resp.SetErrorHeader(err)
	}
	resp.Finish(reply.B, status)
}

// maxListenSize is the maximum size of a subscriptions/listen in bytes. It stays in memory with the
// subscription.
const maxListenSize = 256 << 10

// listenHTTP serves a subscription until the client disconnects or stops reading, its credentials
// become invalid, or the server shuts down.
func (s *Server) listenHTTP(resp *Response, m *Message, c *Caller) {
	if !resp.accepts.events {
		http.Error(resp.Writer, "The Accept header must allow text/event-stream", http.StatusNotAcceptable)
		return
	}
	filter, err := m.listenFilter(c)
	switch {
	case err == nil && resp.requestSize > maxListenSize:
		err = InvalidParams("A subscription request is limited to %d bytes, and this one has %d",
			maxListenSize, resp.requestSize)
	case err == nil:
		err = s.AdmitStream("subscriptions")
	}
	if err != nil {
		resp.Fail(err, m.ID)
		return
	}
	defer s.listeners.Release(1)
	ctx, cancel := s.streams.open(resp.Request.Context())
	defer cancel()
	sub := s.NewSubscription(resp.Toolset, bytes.Clone(m.ID))
	defer sub.Close()
	sub.lookUpTask = func(id string) ([]byte, error) { return s.taskState(ctx, c, id) }
	resp.StartKeepAlive()
	acknowledgement, any, refused := s.subscribe(ctx, sub, c, filter)
	resp.stopKeepAlive()
	if refused != nil {
		resp.Fail(s.ProtocolError(ctx, m, refused), m.ID)
		return
	}
	resp.Notify(acknowledgement)
	if any && !s.deliver(ctx, resp, sub) {
		return
	}
	resp.Finish(sub.endReply(resp.Info), http.StatusOK)
}

// noticesPerChunk is how many notifications are sent at once. Each may be as large as the result of
// a task.
const noticesPerChunk = 16

// deliver sends the notifications of sub. It reports whether the subscription ends with a reply.
func (s *Server) deliver(ctx context.Context, resp *Response, sub *Subscription) bool {
	wake := queue.NewSignal()
	sub.mailbox.open(wake.Send)
	alive := time.NewTicker(KeepAliveInterval)
	defer alive.Stop()
	for closing := false; !closing; {
		chunk := []byte(nil)
		select {
		case <-wake:
		case <-alive.C:
			chunk = []byte(KeepAliveComment)
		case <-s.closing:
			closing = true
		case <-ctx.Done():
			return false
		}
		for more := true; more; chunk = chunk[:0] {
			more = sub.Drain(noticesPerChunk, func(frame []byte) { chunk = AppendEvent(chunk, frame) })
			if len(chunk) > 0 && SendPart(resp.Writer, chunk) != nil {
				return false
			}
		}
	}
	return true
}
