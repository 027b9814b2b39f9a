package mcp

import (
	"bytes"
	"cmp"
	"context"
	"net/http"
	"slices"
	"sync"
	"time"
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
		s.initialize(resp, m)
	case id == "" && resp.info.noSessions:
		s.serveWithoutSession(resp, p, cmp.Or(Revision(version), unnamedRevision))
	case id == "":
		resp.fail(errorf(CodeInvalidRequest, "The header Mcp-Session-Id is missing. "+
			"Send initialize first, then repeat the id of its reply"), m.id)
	default:
		if resp.session = s.requireSession(resp.w, resp.r, id, resp.toolset); resp.session != nil {
			defer resp.session.release()
			resp.packet = p
			s.servePeer(resp, p, &resp.session.peer)
		}
	}
}

// initialize opens a session, unless the server has none. An earlier session of the client goes on.
func (s *Server) initialize(resp *postResponse, m *message) {
	var err *Error
	began := time.Now()
	defer func() { s.observeInitialize(&Caller{Header: resp.r.Header}, err, began) }()
	if err = s.admit(); err != nil {
		resp.fail(err, m.id)
		return
	}
	defer s.calls.Release(1)
	sess := &session{peer: peer{toolset: resp.toolset}, owner: resp.identity.WithoutToken()}
	if err = sess.readInitialize(m); err != nil {
		resp.finish(err.appendReply(nil, m.id), http.StatusOK)
		return
	}
	if resp.info.noSessions {
		resp.finish(sess.appendInitializeReply(nil, m, resp.info, sessionlessCapabilities), http.StatusOK)
		return
	}
	if failed := s.sessions.open(resp.r.Context(), sess); failed != nil {
		err = s.protocolError(resp.r.Context(), m, failed)
		resp.fail(err, m.id)
		return
	}
	defer sess.release()
	resp.w.Header()[headerSession] = []string{sess.id}
	resp.finish(sess.appendInitializeReply(nil, m, resp.info, legacyCapabilities), http.StatusOK)
}

// unnamedRevision is the revision of a request without a session whose header does not name it:
// https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#protocol-version-header
const unnamedRevision = Revision20250326

// serveWithoutSession acts on a packet of a client that has no session. The client can neither be
// asked nor notified.
func (s *Server) serveWithoutSession(resp *postResponse, p *packet, r Revision) {
	s.servePeer(resp, p, &peer{
		revision: r, toolset: resp.toolset, inflight: inflightRequests{limit: s.options.CallsPerSession},
	})
}

// servePeer acts on a packet of a peer.
func (s *Server) servePeer(resp *postResponse, p *packet, from *peer) {
	if p.batch && !from.revision.allowsBatches() {
		resp.fail(batchesNotSupported(from.revision), nil)
		return
	}
	replies, unavailable := 0, false
	for i := range p.messages {
		m := &p.messages[i]
		switch {
		case m.invalid != "" || m.isRequest():
			replies++
		case m.isResponse():
			unavailable = s.answer(resp, m) != nil || unavailable
		default:
			s.notified(resp, m, from)
		}
	}
	switch {
	case unavailable && replies == 0: // the client may repeat its answers: only the first one counts
		resp.fail(ErrUnavailable, nil)
	case replies == 0:
		resp.w.WriteHeader(http.StatusAccepted)
	case p.batch && isClosed(s.refusing):
		resp.fail(ErrClosing, nil)
	case p.batch:
		resp.startKeepAlive()
		resp.finish(s.replyBatch(resp, p, from), http.StatusOK)
	default:
		m := &p.messages[0]
		if mayBlock(m.method) {
			resp.startKeepAlive()
		}
		reply := borrowBuffer()
		defer reply.release()
		frame, err := s.replyToPeer(resp, m, from, reply.b)
		if frame != nil {
			reply.b = frame
		}
		resp.finish(frame, resp.sessionStatus(err))
	}
}

// answer delivers a response of the client to the call that has asked.
func (s *Server) answer(resp *postResponse, m *message) error {
	if resp.session == nil {
		return nil // no call can have asked
	}
	err := s.relay.answer(resp.r.Context(), resp.session, m)
	if err != nil {
		s.options.Logger.WarnContext(resp.r.Context(), "answer not delivered", "error", err)
	}
	return err
}

// notified acts on a notification of the client.
func (s *Server) notified(resp *postResponse, m *message, from *peer) {
	if !from.handleNotification(m) && resp.session != nil && string(m.method) == "notifications/cancelled" {
		s.relay.cancel(resp.r.Context(), resp.session, m.param("requestId"))
	}
}

// replyBatch answers the requests of a batch concurrently and returns the array of replies; nil if the
// client has cancelled all of them.
func (s *Server) replyBatch(resp *postResponse, p *packet, from *peer) []byte {
	replies := make([][]byte, len(p.messages))
	var wg sync.WaitGroup
	for i := range p.messages {
		m := &p.messages[i]
		switch {
		case m.invalid != "":
			replies[i] = invalidRequest(m.invalid).appendReply(nil, m.id)
		case m.isRequest():
			wg.Go(func() { replies[i], _ = s.replyToPeer(resp, m, from, nil) })
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
	if err == nil || !err.isTransient() && err.Code != CodeForbidden && err.Code != CodeUnauthorized {
		return http.StatusOK
	}
	resp.setErrorHeader(err)
	return statusOf(err)
}

// replyToPeer appends the reply to one request of a peer and returns the error in it, if any. The
// reply is nil if the client has cancelled the request, or the call is suspended.
func (s *Server) replyToPeer(resp *postResponse, m *message, from *peer, dst []byte) ([]byte, *Error) {
	if err := s.admit(); err != nil {
		return err.appendReply(dst, m.id), err
	}
	defer s.calls.Release(1)
	// A legacy client may return for the events of a stream, so a closed connection alone cancels
	// nothing.
	request, err := from.inflight.begin(context.WithoutCancel(resp.r.Context()), m.id)
	if err != nil {
		return err.appendReply(dst, m.id), nil
	}
	defer request.done()
	defer context.AfterFunc(resp.r.Context(), func() {
		if !resp.resumable() {
			request.cancel(context.Canceled)
		}
	})()
	c := from.caller()
	c.Remote, c.Header = s.options.Remote(resp.r), resp.r.Header
	c.SetIdentity(resp.identity)
	rc := requestContext{caller: c, peer: from, wire: resp, info: resp.info, memory: resp.memory}
	if resp.suspended != nil {
		rc.resumed = resp
	}
	dst, err = s.reply(request.ctx, dst, m, rc)
	if request.cancelled() || err == errSuspendedCall {
		return nil, nil
	}
	return dst, err
}
