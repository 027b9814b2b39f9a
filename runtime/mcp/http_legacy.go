package mcp

import (
	"bytes"
	"context"
	"crypto/rand"
	"net/http"
	"slices"
	"sync"
)

const (
	sessionNotFound          = "Session not found. Send initialize to start one"
	unsupportedVersionHeader = "The header MCP-Protocol-Version must be one of "
)

// postLegacy answers a packet of the era that has sessions.
func (s *Server) postLegacy(resp *postResponse, p *packet, version string) {
	m := &p.messages[0]
	if version != "" && !isLegacyRevision(version) {
		resp.fail(errorf(CodeInvalidRequest, "%s", unsupportedVersionHeader+revisionList()), m.id)
		return
	}
	id, err := singleHeader(resp.r.Header, headerSession)
	switch {
	case err != nil:
		resp.fail(err, m.id)
	case string(m.method) == "initialize" && m.isRequest() && !p.batch:
		s.openSession(resp, m, id)
	case id == "":
		resp.fail(errorf(CodeInvalidRequest, "The header Mcp-Session-Id is missing. "+
			"Send initialize first, then repeat the id of its reply"), m.id)
	default:
		if resp.session = s.sessions.find(id, resp.toolset, resp.identity); resp.session == nil {
			http.Error(resp.w, sessionNotFound, http.StatusNotFound)
			return
		}
		s.serveSession(resp, p)
	}
}

// openSession serves initialize.
func (s *Server) openSession(resp *postResponse, m *message, id string) {
	if id != "" {
		resp.fail(errInitialized, m.id)
		return
	}
	if err := s.admit(); err != nil {
		resp.fail(err, m.id)
		return
	}
	defer s.calls.Release(1)
	p, err := s.newPeer(m, resp.toolset)
	if err != nil {
		resp.finish(err.appendReply(nil, m.id), http.StatusOK)
		return
	}
	sess := s.sessions.open(p, rand.Text(), resp.identity.WithoutToken())
	resp.w.Header()[headerSession] = []string{sess.id}
	resp.finish(p.appendInitializeReply(nil, m, resp.info), http.StatusOK)
}

// serveSession acts on a packet of a session.
func (s *Server) serveSession(resp *postResponse, p *packet) {
	if p.batch && !resp.session.revision.allowsBatches() {
		resp.fail(batchesNotSupported(resp.session.revision), nil)
		return
	}
	replies := 0
	for i := range p.messages {
		m := &p.messages[i]
		switch {
		case m.invalid != "" || m.isRequest():
			replies++
		case m.isResponse():
			resp.session.requests.resolve(m)
		default:
			resp.session.handleNotification(m)
		}
	}
	switch {
	case replies == 0:
		resp.w.WriteHeader(http.StatusAccepted)
	case p.batch && isClosed(s.refusing):
		resp.fail(ErrClosing, nil)
	case p.batch:
		resp.startKeepAlive()
		resp.finish(s.replyBatch(resp, p), http.StatusOK)
	default:
		m := &p.messages[0]
		if mayBlock(m.method) {
			resp.startKeepAlive()
		}
		reply := borrowBuffer()
		defer reply.release()
		frame, err := s.replyInSession(resp, m, reply.b)
		if frame != nil {
			reply.b = frame
		}
		resp.finish(frame, resp.sessionStatus(err))
	}
}

// replyBatch answers the requests of a batch concurrently and returns the array of replies; nil if the
// client has cancelled all of them.
func (s *Server) replyBatch(resp *postResponse, p *packet) []byte {
	replies := make([][]byte, len(p.messages))
	var wg sync.WaitGroup
	for i := range p.messages {
		m := &p.messages[i]
		switch {
		case m.invalid != "":
			replies[i] = invalidRequest(m.invalid).appendReply(nil, m.id)
		case m.isRequest():
			wg.Go(func() { replies[i], _ = s.replyInSession(resp, m, nil) })
		}
	}
	wg.Wait()
	return joinReplies(replies)
}

// joinReplies returns the array of the replies that are not nil; nil if there is none.
func joinReplies(replies [][]byte) []byte {
	replies = slices.DeleteFunc(replies, func(reply []byte) bool { return reply == nil })
	if len(replies) == 0 {
		return nil
	}
	return append(append([]byte{'['}, bytes.Join(replies, []byte{','})...), ']')
}

// sessionStatus returns the status of a reply in a session. It is 200 for all errors except those
// about the caller, and that of a server that is shutting down.
func (resp *postResponse) sessionStatus(err *Error) int {
	if err == nil || err != ErrClosing && err.Code != CodeForbidden && err.Code != CodeUnauthorized {
		return http.StatusOK
	}
	resp.setErrorHeader(err)
	return statusOf(err)
}

// replyInSession appends the reply to one request of a session and returns the error in it, if any.
// The reply is nil if the client has cancelled the request.
func (s *Server) replyInSession(resp *postResponse, m *message, dst []byte) ([]byte, *Error) {
	if err := s.admit(); err != nil {
		return err.appendReply(dst, m.id), err
	}
	defer s.calls.Release(1)
	// A legacy client may return for the events of a stream, so a closed connection alone cancels
	// nothing.
	request, err := resp.session.inflight.begin(context.WithoutCancel(resp.r.Context()), m.id)
	if err != nil {
		return err.appendReply(dst, m.id), nil
	}
	defer request.done()
	defer context.AfterFunc(resp.r.Context(), func() {
		if !resp.resumable() {
			request.cancel(context.Canceled)
		}
	})()
	c := resp.session.caller()
	c.Session, c.Remote, c.Header = resp.session.id, s.options.Remote(resp.r), resp.r.Header
	c.SetIdentity(resp.identity)
	dst, err = s.reply(request.ctx, dst, m, requestContext{c, resp.session.peer, resp, resp.info})
	if request.cancelled() {
		return nil, nil
	}
	return dst, err
}
