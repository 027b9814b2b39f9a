package mcp

import (
	"context"
	"net/http"
	"time"
)

// get follows the events of a session: its own, or those of the POST that the last event the client has seen belongs to.
func (s *Server) get(w http.ResponseWriter, r *http.Request, v view) {
	if !acceptedBy(r.Header).events {
		refuse(w, http.StatusNotAcceptable, "The Accept header must allow text/event-stream")
		return
	}
	e := s.sessionOf(w, r, v.toolset)
	if e == nil {
		return
	}
	from := e.log.unseen()
	if id := r.Header.Get(headerLastEvent); id != "" {
		var ok bool
		if from, ok = parsePlace(id); !ok {
			refuse(w, http.StatusBadRequest, "The Last-Event-ID is not one that this server gave out")
			return
		}
	}
	if !s.waits.enter() {
		refuse(w, http.StatusServiceUnavailable, "Too many event streams at once. Try again shortly")
		return
	}
	defer s.waits.leave()
	ctx, cancel := s.streams.open(r.Context())
	defer cancel()
	defer e.follows()()
	if from.stream == 0 {
		defer e.attach(cancel)()
	}
	beginEvents(w)
	http.NewResponseController(w).Flush()
	defer http.NewResponseController(w).SetWriteDeadline(time.Time{})
	s.stream(ctx, w, e, from)
}

// stream sends the events of a stream that follow one until the stream ends, the session ends, or ctx does.
func (s *Server) stream(ctx context.Context, w http.ResponseWriter, e *session, from place) {
	alive := time.NewTicker(s.options.KeepAlive)
	defer alive.Stop()
	var news chan struct{}
	if from.stream == 0 {
		news = e.news
	}
	for {
		rest := false
		if news != nil {
			// A few at a time: what the session keeps must reach back to the event that the client has seen last.
			rest = e.hears.take(keptEvents/4, func(frame []byte) { e.log.add(0, frame) })
		}
		heard := e.log.after(from)
		if heard.from != from {
			from = heard.from
			s.audience.repeat(e.hears)
		}
		for _, event := range heard.next {
			if ctx.Err() != nil || s.send(w, event.append(nil)) != nil {
				return
			}
			e.log.sent(event)
			from = event.place
		}
		if !heard.open {
			return
		}
		if rest {
			continue
		}
		select {
		case <-heard.more:
		case <-news:
		case <-alive.C:
			if s.send(w, []byte(": keep-alive\n\n")) != nil {
				return
			}
		case <-ctx.Done():
			return
		case <-e.ended:
			return
		case <-s.closing:
			return
		}
	}
}

// delete ends a session because its client says so.
func (s *Server) delete(w http.ResponseWriter, r *http.Request, v view) {
	e := s.sessionOf(w, r, v.toolset)
	if e == nil {
		return
	}
	s.sessions.close(e)
	w.WriteHeader(http.StatusNoContent)
}

// sessionOf returns the session that a GET or DELETE is about, or answers why there is none.
func (s *Server) sessionOf(w http.ResponseWriter, r *http.Request, toolset string) *session {
	version := r.Header.Get(headerVersion)
	if Revision(version).Modern() {
		w.Header().Set("Allow", "POST")
		refuse(w, http.StatusMethodNotAllowed, "This revision of the protocol only uses POST")
		return nil
	}
	if _, ok := known(legacyRevisions, version); version != "" && !ok {
		refuse(w, http.StatusBadRequest, "The header MCP-Protocol-Version is none of "+listed(revisions))
		return nil
	}
	id, err := header(r.Header, headerSession)
	if err != nil || id == "" {
		refuse(w, http.StatusBadRequest, "The header Mcp-Session-Id is missing")
		return nil
	}
	e := s.sessions.find(id, toolset, IdentityOf(r.Context()))
	if e == nil {
		refuse(w, http.StatusNotFound, "There is no such session. Send initialize to begin one")
	}
	return e
}
