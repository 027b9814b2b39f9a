package legacy

import (
	"context"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"time"

	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/edge/mcp/legacy/handover"
)

// ServeGet sends the events of a session: those of its own stream, or those of the POST that the
// client's last event belongs to.
func (s *Server) ServeGet(w http.ResponseWriter, r *http.Request, toolset string, info *mcp.Info) {
	if !mcp.AcceptsEvents(r.Header) {
		http.Error(w, "The Accept header must allow text/event-stream", http.StatusNotAcceptable)
		return
	}
	sess := s.findSession(w, r, toolset, info)
	if sess == nil {
		return
	}
	defer sess.release()
	id := r.Header.Get(headerLastEvent)
	pos, returned := sess.parsePosition(id)
	if id != "" && !returned {
		http.Error(w, "The Last-Event-ID was not issued by this server", http.StatusBadRequest)
		return
	}
	admitted := s.core.AdmitStream("event streams") == nil
	if pos.stream != 0 || !admitted {
		s.beginReturned(w, sess, pos)
	}
	if !admitted {
		s.postponeStream(w)
		return
	}
	defer s.core.ReleaseStream()
	pos, done, err := s.continueSuspended(w, r, sess, info, pos)
	switch {
	case err != nil:
		s.log.WarnContext(r.Context(), "suspended call not continued", "error", err)
		s.postponeStream(w)
		return
	case done:
		return
	}
	ctx, _, cancel := s.core.OpenStream(r.Context())
	defer cancel()
	sess.connections.Add(1)
	defer sess.connections.Add(-1)
	switch {
	case pos.stream != 0 && !sess.isHere(pos):
		s.serveRemoteStream(ctx, w, sess, pos)
	case pos.stream != 0:
		s.serveStream(ctx, w, sess, pos.eventID, nil)
	default:
		c := sess.caller()
		c.Remote, c.Header = s.options.Remote(r), r.Header
		c.SetIdentity(mcp.IdentityOf(r.Context()))
		s.serveOwnStream(ctx, w, sess, c, pos, returned)
	}
}

// serveOwnStream sends the events of the session's own stream, and ends its other readers. A client that
// has returned is notified of everything that may have changed while it was away: of resources, and of
// lists if it read from another process.
func (s *Server) serveOwnStream(
	ctx context.Context, w http.ResponseWriter, sess *session, c *mcp.Caller, pos position, returned bool,
) {
	ctx, cancel := context.WithCancel(ctx)
	from, missedLists := sess.log.lastSent(), false
	switch {
	case returned && sess.isHere(pos):
		from = pos.eventID
	case returned:
		missedLists = true
	}
	if sendsPrimingEvent(sess.revision) { // clients give up after some streams without a new id
		sess.log.add(0, nil)
	}
	wake, detach := sess.attachReader(c, cancel)
	if sess.reopened || s.relay.HasOthers() { // another process knows that the client is initialized
		sess.subscribeLists()
	}
	var following sync.WaitGroup
	following.Go(func() {
		s.relay.Broadcast(ctx, &handover.Message{Kind: handover.KindAttached, Session: sess.name})
		if err := sess.updateResources(ctx); err != nil && ctx.Err() == nil {
			s.log.WarnContext(ctx, "resources not followed", "error", err)
		}
		if returned {
			sess.subscription.Renotify(missedLists)
		}
	})
	defer func() {
		cancel()
		following.Wait()
		detach()
		sess.updateResources(context.WithoutCancel(ctx))
	}()
	s.serveStream(ctx, w, sess, from, wake)
}

// beginReturned begins the stream of a client that has returned before anything else is done, because clients give up
// the session when the process ends and has sent nothing. The id of its event is a new one for the same position,
// because they give up after some streams without one, too.
func (s *Server) beginReturned(w http.ResponseWriter, sess *session, pos position) {
	mcp.BeginEventStream(w)
	if pos.seq > 0 && sendsPrimingEvent(sess.revision) {
		mcp.SendPart(w, event{pos.eventID, sess.reference(pos), nil}.append(nil))
	}
}

// postponeStream has a client return for a stream that cannot be sent now. It is not refused, because
// clients give up the session then.
func (s *Server) postponeStream(w http.ResponseWriter) {
	mcp.SendPart(w, appendRetry(nil, s.returnDelay()))
	http.NewResponseController(w).SetWriteDeadline(time.Time{})
}

// returnDelay is when a client should return for a stream. Clients of a process that stops do not
// return all at once; if there is no other process, they return when this one was probably started
// again, because they try only a few times.
func (s *Server) returnDelay() time.Duration {
	earliest, latest := 500*time.Millisecond, 3*time.Second
	if !s.relay.HasOthers() {
		earliest, latest = 6*time.Second, 9*time.Second
	}
	return earliest + rand.N(latest-earliest)
}

// appendRetry appends the field of an event stream that says when the client should return.
func appendRetry(dst []byte, after time.Duration) []byte {
	return append(strconv.AppendInt(append(dst, "retry: "...), max(1, after.Milliseconds()), 10), "\n\n"...)
}

// serveStream sends the events after from on a new stream.
func (s *Server) serveStream(
	ctx context.Context, w http.ResponseWriter, sess *session, from eventID, wake <-chan struct{},
) {
	mcp.BeginEventStream(w)
	http.NewResponseController(w).Flush()
	defer http.NewResponseController(w).SetWriteDeadline(time.Time{})
	s.sendEvents(ctx, w, sess, from, wake)
}

// sendEvents sends the events after from until the stream, the session or ctx ends. The reader of the
// session's own stream is woken when there are notifications.
func (s *Server) sendEvents(
	ctx context.Context, w http.ResponseWriter, sess *session, from eventID, wake <-chan struct{},
) {
	ended := sess.awaitEnd()
	alive := time.NewTicker(mcp.KeepAliveInterval)
	defer alive.Stop()
	for {
		undrained := false
		if wake != nil {
			// A few at a time, so that the log still has the client's last event.
			undrained = sess.subscription.Drain(maxEvents/4, func(frame []byte) { sess.log.add(0, frame) })
		}
		last, events, open, more := sess.log.after(from)
		if last != from {
			from = last
			sess.subscription.Renotify(true)
		}
		for _, event := range events {
			if event.frame == nil { // nothing is lost without it, and the next reader begins with another id
				sess.log.markSent(event)
			}
			// A reader that another one replaces at once gets its first id, which takes nothing from the other.
			if event.frame != nil && ctx.Err() != nil || mcp.SendPart(w, event.append(nil)) != nil {
				return
			}
			sess.log.markSent(event)
			from = event.eventID
		}
		if !open {
			return
		}
		if undrained {
			continue
		}
		select {
		case <-more:
		case <-wake:
		case <-alive.C:
			if mcp.SendPart(w, []byte(mcp.KeepAliveComment)) != nil {
				return
			}
		case <-ctx.Done():
			return
		case <-ended:
			return
		case <-s.core.Ending():
			mcp.SendPart(w, appendRetry(nil, s.returnDelay()))
			return
		}
	}
}

// ServeDelete ends a session.
func (s *Server) ServeDelete(w http.ResponseWriter, r *http.Request, toolset string, info *mcp.Info) {
	sess := s.findSession(w, r, toolset, info)
	if sess == nil {
		return
	}
	defer sess.release()
	s.endSession(r.Context(), sess)
	w.WriteHeader(http.StatusNoContent)
}

// findSession returns the session of a GET or DELETE, or answers with an error and returns nil.
func (s *Server) findSession(w http.ResponseWriter, r *http.Request, toolset string, info *mcp.Info) *session {
	version := r.Header.Get(mcp.HeaderVersion)
	if mcp.Revision(version).Modern() {
		refuseMethod(w, "This revision of the protocol supports only POST")
		return nil
	}
	if version != "" && !isLegacyRevision(version) {
		http.Error(w, s.unsupportedHeader(), http.StatusBadRequest)
		return nil
	}
	id, err := mcp.SingleHeader(r.Header, headerSession)
	if err == nil && id == "" && !info.HasSessions() {
		refuseMethod(w, "This server has no sessions and supports only POST")
		return nil
	}
	if err != nil || id == "" {
		http.Error(w, "The header Mcp-Session-Id is missing", http.StatusBadRequest)
		return nil
	}
	return s.requireSession(w, r, id, toolset)
}

func refuseMethod(w http.ResponseWriter, problem string) {
	w.Header().Set("Allow", "POST")
	http.Error(w, problem, http.StatusMethodNotAllowed)
}

// requireSession returns the session with an id, or answers with an error and returns nil. The caller
// must release it.
func (s *Server) requireSession(w http.ResponseWriter, r *http.Request, id, toolset string) *session {
	sess, err := s.table.find(r.Context(), id, toolset, mcp.IdentityOf(r.Context()))
	switch {
	case err != nil:
		s.log.ErrorContext(r.Context(), "session not readable", "error", err)
		w.Header().Set("Retry-After", "1")
		http.Error(w, "The session cannot be read. Try again shortly", http.StatusServiceUnavailable)
	case sess == nil:
		http.Error(w, sessionNotFound, http.StatusNotFound)
	}
	return sess
}
