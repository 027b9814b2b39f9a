package mcp

import (
	"context"
	"crypto/rand"
	"net/http"
	"sync"
)

// postModern answers a message of the stateless era.
func (s *Server) postModern(x *exchange, m *message, version string) {
	if m.isResponse() {
		x.fail(errorf(CodeInvalidRequest, "This server has asked for nothing"), m.id)
		return
	}
	if err := checkHeaders(x.r.Header, version, m); err != nil {
		x.fail(err, m.id)
		return
	}
	if !m.isRequest() {
		// A client of this era cancels by going away, so there is nothing a notification could be about.
		x.w.WriteHeader(http.StatusAccepted)
		return
	}
	c := &Caller{Toolset: x.view.toolset, Remote: x.r.RemoteAddr, Header: x.r.Header}
	c.known(x.identity)
	if err := checkMeta(m, c); err != nil {
		x.finish(err.append(nil, m.id), http.StatusBadRequest)
		return
	}
	if string(m.method) == "subscriptions/listen" {
		s.listenHTTP(x, m, c)
		return
	}
	if err := s.admit(); err != nil {
		x.fail(err, m.id)
		return
	}
	defer s.calls.leave()
	if takesTime(m.method) {
		x.await()
	}
	reply := borrow()
	defer reply.release()
	var err *Error
	reply.b, err = s.answer(x.r.Context(), reply.b, m, query{c, x, x.view.info})
	status := http.StatusOK
	if err != nil {
		status = statusOf(err)
		x.challenge(err)
	}
	x.finish(reply.b, status)
}

// postLegacy answers a packet of the era that has sessions.
func (s *Server) postLegacy(x *exchange, p *packet, version string) {
	m := &p.messages[0]
	if version != "" {
		if _, ok := known(legacyRevisions, version); !ok {
			x.fail(errorf(CodeInvalidRequest, "The header MCP-Protocol-Version is none of %s", listed(revisions)), m.id)
			return
		}
	}
	id, err := header(x.r.Header, headerSession)
	switch {
	case err != nil:
		x.fail(err, m.id)
	case string(m.method) == "initialize" && m.isRequest() && !p.batch:
		s.open(x, m, id)
	case id == "":
		x.fail(errorf(CodeInvalidRequest, "The header Mcp-Session-Id is missing. Send initialize first, then repeat the id it answers with"), m.id)
	default:
		e := s.sessions.find(id, x.view.toolset, x.identity)
		if e == nil {
			refuse(x.w, http.StatusNotFound, "There is no such session. Send initialize to begin one")
			return
		}
		x.session = e
		s.converse(x, p)
	}
}

// open begins a session.
func (s *Server) open(x *exchange, m *message, id string) {
	if id != "" {
		x.fail(errorf(CodeInvalidRequest, "The session has been initialized before"), m.id)
		return
	}
	if err := s.admit(); err != nil {
		x.fail(err, m.id)
		return
	}
	defer s.calls.leave()
	p, err := s.greet(m, x.view.toolset)
	if err != nil {
		x.finish(err.append(nil, m.id), http.StatusOK)
		return
	}
	x.w.Header()[headerSession] = []string{s.sessions.open(p, rand.Text(), x.identity.Kept()).id}
	x.finish(p.welcome(nil, m, x.view.info), http.StatusOK)
}

// converse acts on the packet of a session.
func (s *Server) converse(x *exchange, p *packet) {
	if p.batch && !x.session.revision.batches() {
		x.fail(errorf(CodeInvalidRequest, "Revision %s has no batches", x.session.revision), nil)
		return
	}
	due := 0
	for i := range p.messages {
		m := &p.messages[i]
		switch {
		case m.invalid != "" || m.isRequest():
			due++
		case m.isResponse():
			x.session.peer.asked.settle(m)
		default:
			x.session.notice(m)
		}
	}
	reply := borrow()
	defer reply.release()
	switch {
	case due == 0:
		x.w.WriteHeader(http.StatusAccepted)
	case p.batch:
		x.await()
		if reply.b = s.batch(x, p, reply.b); len(reply.b) == 0 {
			reply.b = nil
		}
		x.finish(reply.b, http.StatusOK)
	default:
		m := &p.messages[0]
		if takesTime(m.method) {
			x.await()
		}
		frame, err := s.inSession(x, m, reply.b)
		if frame != nil {
			reply.b = frame
		}
		x.finish(frame, x.denied(err))
	}
}

// batch answers the requests of a batch at once and appends the array of replies; nothing, when none of them wants one any more.
func (s *Server) batch(x *exchange, p *packet, dst []byte) []byte {
	replies := make([][]byte, len(p.messages))
	var all sync.WaitGroup
	for i := range p.messages {
		m := &p.messages[i]
		switch {
		case m.invalid != "":
			replies[i] = errorf(CodeInvalidRequest, "Invalid request: %s", m.invalid).append(nil, m.id)
		case m.isRequest():
			all.Go(func() { replies[i], _ = s.inSession(x, m, nil) })
		}
	}
	all.Wait()
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

// denied is the status of a reply in a session: errors are told in the document, but for those that are about who asks.
func (x *exchange) denied(err *Error) int {
	if err == nil || err.Code != CodeForbidden && err.Code != CodeUnauthorized {
		return http.StatusOK
	}
	x.challenge(err)
	return statusOf(err)
}

// inSession appends the reply to one request of a session, and returns the error that it tells, if it does. The reply is nil when the client has cancelled
// the request.
func (s *Server) inSession(x *exchange, m *message, dst []byte) ([]byte, *Error) {
	if err := s.admit(); err != nil {
		return err.append(dst, m.id), nil
	}
	defer s.calls.leave()
	// That a legacy client hangs up does not mean that it has lost interest: it may come back for the events it has an id of.
	p, err := x.session.requests.begin(context.WithoutCancel(x.r.Context()), m.id)
	if err != nil {
		return err.append(dst, m.id), nil
	}
	defer p.done()
	defer context.AfterFunc(x.r.Context(), func() {
		if !x.resumable() {
			p.cancel(context.Canceled)
		}
	})()
	c := x.session.caller()
	c.Session, c.Remote, c.Header = x.session.id, x.r.RemoteAddr, x.r.Header
	c.known(x.identity)
	dst, told := s.answerPeer(p.ctx, dst, m, x.session.peer, query{c, x, x.view.info})
	if p.unwanted() {
		return nil, nil
	}
	return dst, told
}
