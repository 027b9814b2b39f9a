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

	mu        sync.Mutex
	audience  map[listener]struct{} // guarded by mu
	closing   chan struct{}         // closed when Shutdown begins
	closeOnce sync.Once
}

// listener is told that the list of tools has changed. It must not block.
type listener interface{ toolsChanged() }

// New makes a server for h.
func New(h Handler, o Options) *Server {
	o = o.withDefaults()
	return &Server{
		handler:  h,
		options:  o,
		calls:    gate{limit: o.Calls},
		waits:    gate{limit: o.Listeners},
		sessions: sessions{limit: o.Sessions, idle: o.SessionIdle},
		audience: make(map[listener]struct{}),
		closing:  make(chan struct{}),
	}
}

// Changes are the lists that read differently than before.
type Changes struct{ Tools, Prompts, Resources bool }

// Changed tells every session and every subscription what reads differently now in the toolset that it sees. It does not wait for them.
func (s *Server) Changed(in func(toolset string) Changes) {
	if !in("").Tools {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for l := range s.audience {
		l.toolsChanged()
	}
}

func (s *Server) join(l listener) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.audience[l] = struct{}{}
}

func (s *Server) part(l listener) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.audience, l)
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
