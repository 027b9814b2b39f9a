package legacy

import (
	"hatchel/runtime/edge/mcp"

	"cmp"
	"net/http"
	"sync"
	"time"
)

// The headers of sessions, in the canonical form of package net/http.
const (
	headerSession   = "Mcp-Session-Id"
	headerLastEvent = "Last-Event-Id"
)

const sessionNotFound = "Session not found. Send initialize to start one"

// ServePost answers a packet of the era that has sessions.
func (s *Server) ServePost(r *mcp.Response, p *mcp.Packet, version string) {
	m, resp := &p.Messages[0], &response{Response: r, server: s}
	if version != "" && !isLegacyRevision(version) {
		resp.Fail(mcp.Errorf(mcp.CodeInvalidRequest, "%s", s.unsupportedHeader()), m.ID)
		return
	}
	id, err := mcp.SingleHeader(resp.Request.Header, headerSession)
	switch {
	case err != nil:
		resp.Fail(err, m.ID)
	case string(m.Method) == "initialize" && m.IsRequest() && !p.Batch:
		s.initialize(resp, m)
	case id == "" && !resp.Info.HasSessions():
		s.serveWithoutSession(resp, p, cmp.Or(mcp.Revision(version), unnamedRevision))
	case id == "":
		resp.Fail(mcp.Errorf(mcp.CodeInvalidRequest, "The header Mcp-Session-Id is missing. "+
			"Send initialize first, then repeat the id of its reply"), m.ID)
	default:
		if resp.session = s.requireSession(resp.Writer, resp.Request, id, resp.Toolset); resp.session != nil {
			defer resp.session.release()
			resp.packet = p
			resp.Keep(resp)
			s.servePeer(resp, p, &resp.session.peer)
		}
	}
}

// initialize opens a session, unless the server has none. An earlier session of the client goes on.
func (s *Server) initialize(resp *response, m *mcp.Message) {
	var err *mcp.Error
	began := time.Now()
	defer func() { s.core.ObserveInitialize(&mcp.Caller{Header: resp.Request.Header}, err, began) }()
	if err = s.core.Admit(); err != nil {
		resp.Fail(err, m.ID)
		return
	}
	defer s.core.Release()
	sess := &session{peer: peer{server: s, toolset: resp.Toolset}, owner: resp.Identity.WithoutToken()}
	if err = sess.readInitialize(m); err != nil {
		resp.Finish(err.AppendReply(nil, m.ID), http.StatusOK)
		return
	}
	if !resp.Info.HasSessions() {
		resp.Finish(sess.appendInitializeReply(nil, m, resp.Info, sessionlessCapabilities), http.StatusOK)
		return
	}
	if failed := s.table.open(resp.Request.Context(), sess); failed != nil {
		err = s.core.ProtocolError(resp.Request.Context(), m, failed)
		resp.Fail(err, m.ID)
		return
	}
	defer sess.release()
	resp.Writer.Header()[headerSession] = []string{sess.id}
	resp.Finish(sess.appendInitializeReply(nil, m, resp.Info, legacyCapabilities), http.StatusOK)
}

// unnamedRevision is the revision of a request without a session whose header does not name it:
// https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#protocol-version-header
const unnamedRevision = mcp.Revision20250326

// serveWithoutSession acts on a packet of a client that has no session. The client can neither be
// asked nor notified.
func (s *Server) serveWithoutSession(resp *response, p *mcp.Packet, r mcp.Revision) {
	s.servePeer(resp, p, &peer{
		server: s, revision: r, toolset: resp.Toolset,
		inflight: mcp.InflightRequests{Limit: s.options.CallsPerSession},
	})
}

// servePeer acts on a packet of a peer.
func (s *Server) servePeer(resp *response, p *mcp.Packet, from *peer) {
	if p.Batch {
		if err := from.CheckBatch(); err != nil {
			resp.Fail(err, nil)
			return
		}
	}
	replies, unavailable := 0, false
	for i := range p.Messages {
		m := &p.Messages[i]
		switch {
		case m.Invalid != "" || m.IsRequest():
			replies++
		case m.IsResponse():
			unavailable = s.answer(resp, m) != nil || unavailable
		default:
			s.notified(resp, m, from)
		}
	}
	switch {
	case unavailable && replies == 0: // the client may repeat its answers: only the first one counts
		resp.Fail(mcp.ErrUnavailable, nil)
	case replies == 0:
		resp.Writer.WriteHeader(http.StatusAccepted)
	case p.Batch && s.core.IsRefusing():
		resp.Fail(mcp.ErrClosing, nil)
	case p.Batch:
		resp.StartKeepAlive()
		resp.Finish(s.replyBatch(resp, p, from), http.StatusOK)
	default:
		m := &p.Messages[0]
		if mcp.HasKeepAlive(m.Method) {
			resp.StartKeepAlive()
		}
		reply := mcp.BorrowBuffer()
		defer reply.Release()
		frame, err := s.replyToPeer(resp, m, from, reply.B, &resp.Rest)
		if frame != nil {
			reply.B = frame
		}
		resp.Finish(frame, resp.sessionStatus(err))
	}
}

// answer delivers a response of the client to the call that has asked.
func (s *Server) answer(resp *response, m *mcp.Message) error {
	if resp.session == nil {
		return nil // no call can have asked
	}
	err := s.relay.Answer(resp.Request.Context(), resp.session, m)
	if err != nil {
		s.log.WarnContext(resp.Request.Context(), "answer not delivered", "error", err)
	}
	return err
}

// notified acts on a notification of the client.
func (s *Server) notified(resp *response, m *mcp.Message, from *peer) {
	if !from.HandleNotification(m) && resp.session != nil && string(m.Method) == "notifications/cancelled" {
		s.relay.Cancel(resp.Request.Context(), resp.session.name, m.Param("requestId"))
	}
}

// replyBatch answers the requests of a batch concurrently and returns the array of replies; nil if the
// client has cancelled all of them.
func (s *Server) replyBatch(resp *response, p *mcp.Packet, from *peer) []byte {
	replies := make([][]byte, len(p.Messages))
	var wg sync.WaitGroup
	for i := range p.Messages {
		m := &p.Messages[i]
		switch {
		case m.Invalid != "":
			replies[i] = mcp.InvalidRequest(m.Invalid).AppendReply(nil, m.ID)
		case m.IsRequest():
			wg.Go(func() { replies[i], _ = s.replyToPeer(resp, m, from, nil, nil) })
		}
	}
	wg.Wait()
	return mcp.JoinReplies(replies)
}

// sessionStatus returns the status of a reply in a session. It is 200 for all errors except those
// about the caller, and that of a server that is shutting down.
func (resp *response) sessionStatus(err *mcp.Error) int {
	if err == nil || !err.IsTransient() && err.Code != mcp.CodeForbidden && err.Code != mcp.CodeUnauthorized {
		return http.StatusOK
	}
	resp.SetErrorHeader(err)
	return err.Status()
}

// replyToPeer appends the reply to one request of a peer and returns the error in it, if any. The
// reply is nil if the client has cancelled the request, or the call is suspended. Rest is as in mcp.RequestContext.
func (s *Server) replyToPeer(
	resp *response, m *mcp.Message, from *peer, dst []byte, rest *[]byte,
) ([]byte, *mcp.Error) {
	if err := s.core.Admit(); err != nil {
		return err.AppendReply(dst, m.ID), err
	}
	defer s.core.Release()
	// A legacy client may return for the events of a stream, so a closed connection alone cancels
	// nothing.
	request, err := from.inflight.Begin(resp.Request.Context(), m.ID, resp)
	if err != nil {
		return err.AppendReply(dst, m.ID), nil
	}
	defer request.Finish()
	c := from.caller()
	c.Remote, c.Header = s.options.Remote(resp.Request), resp.Request.Header
	c.SetIdentity(resp.Identity)
	dst, err = s.core.Reply(request, dst, m, mcp.RequestContext{
		Caller: c, Client: &peerRequest{peer: from, caller: c, message: m, resp: resp},
		Wire: resp, Info: resp.Info, Memory: resp.Memory, Rest: rest,
	})
	if request.Cancelled() || err == errSuspendedCall {
		return nil, nil
	}
	return dst, err
}
