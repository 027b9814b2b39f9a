package mcptest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// Start serves HTTP until the test ends, and returns the URL of the endpoint.
func (s *Server) Start(t testing.TB) string {
	server := httptest.NewServer(s)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server.URL + "/mcp"
}

// stream writes the response of one request: a JSON text, or events as soon as something precedes the answer.
type stream struct {
	w      http.ResponseWriter
	mu     sync.Mutex
	opened bool // guarded by mu
	ended  bool // guarded by mu
}

func (st *stream) open() {
	if !st.opened {
		st.opened = true
		st.w.Header().Set("Content-Type", "text/event-stream")
		st.w.WriteHeader(http.StatusOK)
	}
}

func (st *stream) send(message []byte) error {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.ended {
		return http.ErrHandlerTimeout
	}
	st.open()
	_, err := fmt.Fprintf(st.w, "event: message\ndata: %s\n\n", message)
	st.w.(http.Flusher).Flush()
	return err
}

// end lets nothing more be sent.
func (st *stream) end() {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.ended = true
}

func (st *stream) finish(message []byte, asEvents bool) {
	st.mu.Lock()
	opened := st.opened
	st.mu.Unlock()
	if opened || asEvents {
		st.send(message)
		return
	}
	st.w.Header().Set("Content-Type", "application/json")
	st.w.Header().Set("Content-Length", fmt.Sprint(len(message)))
	st.w.Write(message)
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	var f frame
	if len(body) > 0 && json.Unmarshal(body, &f) != nil {
		http.Error(w, "Parse error", http.StatusBadRequest)
		return
	}
	if s.Intercept != nil && s.Intercept(w, r, f.Method, bytes.Clone(body)) {
		return
	}
	in, ok := s.sessionOf(w, r, &f)
	if !ok {
		return
	}
	switch r.Method {
	case http.MethodGet:
		s.serveGet(w, r)
	case http.MethodDelete:
		s.mu.Lock()
		delete(s.sessions, r.Header.Get("Mcp-Session-Id"))
		s.mu.Unlock()
		w.WriteHeader(http.StatusNoContent)
	case http.MethodPost:
		s.servePost(w, r, &f, in)
	default:
		w.WriteHeader(http.StatusMethodNotAllowed)
	}
}

// sessionOf returns the session of a request. It reports false if it has refused the request.
func (s *Server) sessionOf(w http.ResponseWriter, r *http.Request, f *frame) (*session, bool) {
	modern := r.Header.Get("Mcp-Protocol-Version") == ModernRevision
	if !s.Stateful || modern {
		return nil, true
	}
	id := r.Header.Get("Mcp-Session-Id")
	if f.Method == "initialize" {
		id = s.nextID("session-")
		in := newSession(id)
		s.mu.Lock()
		if s.sessions == nil {
			s.sessions = map[string]*session{}
		}
		s.sessions[id] = in
		s.mu.Unlock()
		w.Header().Set("Mcp-Session-Id", id)
		return in, true
	}
	s.mu.Lock()
	in := s.sessions[id]
	s.mu.Unlock()
	if in == nil {
		http.Error(w, "Session not found", http.StatusNotFound)
	}
	return in, in != nil
}

func newSession(id string) *session {
	return &session{id: id, pending: map[string]chan json.RawMessage{}, cancels: map[string]context.CancelFunc{}}
}

// serveGet serves the stream of what belongs to no request.
func (s *Server) serveGet(w http.ResponseWriter, r *http.Request) {
	if s.Era == Modern || !s.Stateful {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	st := &stream{w: w}
	defer st.end()
	st.mu.Lock()
	st.open()
	w.(http.Flusher).Flush()
	st.mu.Unlock()
	end := s.subscribe(func() { st.send(notification("notifications/tools/list_changed", struct{}{})) })
	defer end()
	<-r.Context().Done()
}

func (s *Server) servePost(w http.ResponseWriter, r *http.Request, f *frame, in *session) {
	if !s.received(f, in) {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	st := &stream{w: w}
	defer st.end()
	if f.Method == "subscriptions/listen" && s.Era != Legacy {
		st.send(notification("notifications/subscriptions/acknowledged", struct{}{}))
		end := s.subscribe(func() { st.send(notification("notifications/tools/list_changed", struct{}{})) })
		defer end()
		<-r.Context().Done()
		return
	}
	result, problem := s.serve(r.Context(), f, in, r.Header, st.send)
	text := encode(answer{"2.0", f.ID, result, problem})
	st.mu.Lock()
	opened := st.opened
	st.mu.Unlock()
	if problem != nil && !opened && r.Header.Get("Mcp-Protocol-Version") == ModernRevision {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		w.Write(text)
		return
	}
	st.finish(text, s.Stream && f.Method == "tools/call")
}
