package mcp

import (
	"context"
	"sync"
)

// Server serves a Handler. Make one with [New]; its methods may be called from any goroutine.
type Server struct {
	handler  Handler
	options  Options
	calls    gate // every request being answered
	waits    gate // every stream that waits for something to happen
	sessions sessions
	streams  streams

	audience audience

	closing   chan struct{} // closed when Shutdown begins
	closeOnce sync.Once
}

// New makes a server for h.
func New(h Handler, o Options) *Server {
	o = o.withDefaults()
	s := &Server{
		handler:  h,
		options:  o,
		calls:    gate{limit: o.Calls},
		waits:    gate{limit: o.Listeners},
		sessions: sessions{limit: o.Sessions, idle: o.SessionIdle},
		closing:  make(chan struct{}),
	}
	s.sessions.keeping.sessions, s.sessions.keeping.most = &s.sessions, o.SessionEvents
	return s
}

// Changes are the lists that read differently than before.
type Changes struct{ Tools, Prompts, Resources bool }

// Changed tells every session and every subscription what reads differently now in the toolset that it sees. It does not wait for them.
func (s *Server) Changed(in func(toolset string) Changes) { s.audience.changed(in) }

// ResourceUpdated tells everybody who follows the document at uri, in whatever toolset, that it reads differently now. It does not wait for them.
func (s *Server) ResourceUpdated(uri string) { s.audience.tell(topic{documentTopic, uri}, nil) }

// TaskChanged tells everybody who listens to a task what it is now: the members of the object as tasks/get answers them, encoded and without
// braces. It does not wait for them: a state that one of them has not been told of yet gives way to this one.
func (s *Server) TaskChanged(id string, members []byte) {
	s.audience.tell(topic{taskTopic, id}, members)
}

// Retain ends the sessions and the streams of everybody who does not stand any more, of whom nobody has asked too: stands is told nil of them.
func (s *Server) Retain(stands func(*Identity) bool) {
	s.streams.retain(stands)
	s.sessions.retain(stands)
}

// Shutdown refuses new requests, ends the streams that wait for something to happen, and waits for the requests being answered. When
// ctx ends first, it returns why; what is still running ends with its connection. Shutdown may be called again to wait longer.
func (s *Server) Shutdown(ctx context.Context) error {
	s.closeOnce.Do(func() {
		s.calls.close()
		s.waits.close()
		close(s.closing)
	})
	if err := s.waits.drained(ctx); err != nil {
		return err
	}
	if err := s.calls.drained(ctx); err != nil {
		return err
	}
	s.sessions.endAll()
	return nil
}

var errClosing = &Error{Code: CodeBusy, Message: "The server is shutting down"}

// admit lets a request in, or says why not. Who was admitted must leave s.calls.
func (s *Server) admit() *Error {
	if s.calls.enter() {
		return nil
	}
	select {
	case <-s.closing:
		return errClosing
	default:
		return errorf(CodeBusy, "Too many requests at once: %d are being answered. Try again shortly", s.options.Calls)
	}
}
