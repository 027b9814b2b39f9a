package mcp

import (
	"context"
	"crypto/rand"
	"net/http"
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
		if resp.session = s.sessions.find(id, resp.view.toolset, resp.identity); resp.session == nil {
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
	p, err := s.newPeer(m, resp.view.toolset)
	if err != nil {
		resp.finish(err.appendReply(nil, m.id), http.StatusOK)
		return
	}
	sess := s.sessions.open(p, rand.Text(), resp.identity.WithoutToken())
	resp.w.Header()[headerSession] = []string{sess.id}
	resp.finish(p.appendInitializeReply(nil, m, resp.view.info), http.StatusOK)
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
	reply := borrowBuffer()
	defer reply.release()
	switch {
	case replies == 0:
		resp.w.WriteHeader(http.StatusAccepted)
	case p.batch:
		resp.startKeepAlive()
		if reply.b = s.replyBatch(resp, p, reply.b); len(reply.b) == 0 {
			reply.b = nil
		}
		resp.finish(reply.b, http.StatusOK)
	default:
		m := &p.messages[0]
		if mayBlock(m.method) {
			resp.startKeepAlive()
		}
		frame, err := s.replyInSession(resp, m, reply.b)
		if frame != nil {
			reply.b = frame
		}
		resp.finish(frame, resp.sessionStatus(err))
	}
}

// replyBatch answers the requests of a batch concurrently and appends the array of replies. It
// appends nothing if the client has cancelled all of them.
func (s *Server) replyBatch(resp *postResponse, p *packet, dst []byte) []byte {
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
	for _, reply := range replies {
		if reply == nil {
			continue
		}
		if len(dst) == 0 {
			dst = append(dst, '[')
		} else {
			dst = append(dst, ',')
		}
		dst = append(dst, reply...)
	}
	if len(dst) > 0 {
		dst = append(dst, ']')
	}
	return dst
}

// sessionStatus returns the status of a reply in a session. It is 200 for all errors except those
// about the caller.
func (resp *postResponse) sessionStatus(err *Error) int {
	if err == nil || err.Code != CodeForbidden && err.Code != CodeUnauthorized {
		return http.StatusOK
	}
	resp.setChallenge(err)
	return statusOf(err)
}

// replyInSession appends the reply to one request of a session and returns the error in it, if any.
// The reply is nil if the client has cancelled the request.
func (s *Server) replyInSession(resp *postResponse, m *message, dst []byte) ([]byte, *Error) {
	if err := s.admit(); err != nil {
		return err.appendReply(dst, m.id), nil
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
	c.Session, c.Remote, c.Header = resp.session.id, resp.r.RemoteAddr, resp.r.Header
	c.setIdentity(resp.identity)
	dst, err = s.reply(request.ctx, dst, m, requestContext{c, resp.session.peer, resp, resp.view.info})
	if request.cancelled() {
		return nil, nil
	}
	return dst, err
}
