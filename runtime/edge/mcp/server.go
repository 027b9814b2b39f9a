package mcp

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
)

// Server serves a Handler. Use [New] to create one. Its methods are safe for concurrent use.
type Server struct {
	handler       Handler
	options       Options
	calls         *semaphore.Weighted // requests in progress
	memory        memoryBudget
	listeners     *semaphore.Weighted // event streams that wait for something to happen
	legacy        Legacy              // nil if only modern clients are served
	streams       httpStreams
	subscriptions subscriptionRegistry

	closing    chan struct{} // closed by EndStreams
	closeOnce  sync.Once
	refusing   chan struct{} // closed by Shutdown
	refuseOnce sync.Once
}

// New returns a server for h.
func New(h Handler, o Options) *Server {
	o = o.withDefaults()
	s := &Server{
		handler:       h,
		options:       o,
		calls:         semaphore.NewWeighted(maxCalls),
		memory:        memoryBudget{byCaller: make(map[string]int64)},
		listeners:     semaphore.NewWeighted(maxListeners),
		streams:       httpStreams{active: make(map[*httpStream]struct{})},
		subscriptions: subscriptionRegistry{byTopic: make(map[topic]map[*Subscription]struct{})},
		closing:       make(chan struct{}),
		refusing:      make(chan struct{}),
	}
	if o.Legacy != nil {
		s.legacy = o.Legacy(s)
	}
	return s
}

// Changes are the lists that have changed.
type Changes struct{ Tools, Prompts, Resources bool }

// ListsChanged notifies every session and every listener of what has changed in its toolset. It does not
// wait for them.
func (s *Server) ListsChanged(in func(toolset string) Changes) { s.subscriptions.notifyLists(in) }

// ResourceUpdated notifies the subscribers of the resource at uri, in every toolset: those whom of selects, nil for
// all. It does not wait for them.
func (s *Server) ResourceUpdated(uri string, of func(*Caller) bool) {
	s.subscriptions.notifySome(topic{resourceTopic, uri}, of)
}

// TaskChanged notifies the subscribers of a task. The members are those of the object that
// tasks/get returns, encoded and without braces; nil if they depend on who reads them. TaskChanged does not wait for
// the subscribers: a state that was not delivered yet is replaced by this one.
func (s *Server) TaskChanged(id string, members []byte) {
	s.subscriptions.notify(topic{taskTopic, id}, members)
}

// FollowsTask reports whether a task has subscribers.
func (s *Server) FollowsTask(id string) bool { return s.subscriptions.has(topic{taskTopic, id}) }

// Connected returns how many sessions are in memory, and how many streams there are to clients over HTTP.
func (s *Server) Connected() (sessions, streams int) {
	if s.legacy != nil {
		sessions = s.legacy.Count()
	}
	s.streams.mu.Lock()
	defer s.streams.mu.Unlock()
	return sessions, len(s.streams.active)
}

// Retain ends the sessions and the streams of every identity that is no longer valid. The identity
// of unauthenticated clients is nil.
func (s *Server) Retain(valid func(*Identity) bool) {
	s.streams.retain(valid)
	if s.legacy != nil {
		s.legacy.Retain(valid)
	}
}

// EndStreams ends the streams that wait for something to happen, refuses new ones, and closes each
// HTTP connection after its next response. Other requests are served until Shutdown.
func (s *Server) EndStreams() { s.closeOnce.Do(func() { close(s.closing) }) }

// OpenStream returns a context for a stream of another endpoint of the same HTTP server: it ends when the
// credentials of the client expire or become invalid. The stream must end soon after ending is closed,
// by EndStreams. The caller must call cancel.
func (s *Server) OpenStream(
	ctx context.Context,
) (_ context.Context, ending <-chan struct{}, cancel context.CancelFunc) {
	ctx, cancel = s.streams.open(ctx)
	return ctx, s.closing, cancel
}

// SetConnection announces in the header of an HTTP response that its connection will be closed, once
// EndStreams was called. Set it on the responses of other endpoints of the same HTTP server.
func (s *Server) SetConnection(h http.Header) {
	if isClosed(s.closing) {
		h["Connection"] = connectionClose
	}
}

// Shutdown refuses new requests, ends the streams that wait for something to happen, and waits for
// the requests in progress. If ctx ends first, it returns the cause, and the remaining requests end
// with their connections. Shutdown may be called again to wait longer.
func (s *Server) Shutdown(ctx context.Context) error {
	s.EndStreams()
	s.refuseOnce.Do(func() { close(s.refusing) })
	if !awaitAll(ctx, s.listeners, maxListeners) || !awaitAll(ctx, s.calls, maxCalls) ||
		s.legacy != nil && !s.legacy.Shutdown(ctx) { // last, because other processes get the last events of calls
		return context.Cause(ctx)
	}
	return nil
}

// awaitAll waits until all places are free. It reports whether they were before the end of ctx, also
// when ctx has ended before.
func awaitAll(ctx context.Context, places *semaphore.Weighted, n int64) bool {
	if !places.TryAcquire(n) && places.Acquire(ctx, n) != nil {
		return false
	}
	places.Release(n)
	return true
}

// ErrClosing is the error for a request to a server that is shutting down. Over HTTP its status is
// 503, with the header Retry-After.
var ErrClosing = &Error{Code: CodeBusy, Message: "The server is shutting down"}

// ErrUnavailable is the error for a request that needs the store of the sessions or another process,
// while these are unavailable. Over HTTP its status is 503, with the header Retry-After.
var ErrUnavailable = &Error{Code: CodeBusy, Message: "The state store is unavailable. Try again in a moment"}

// IsTransient reports whether the client is asked to try again, with 503 and the header Retry-After.
func (e *Error) IsTransient() bool { return e == ErrClosing || e == ErrUnavailable || e == ErrNoMemory }

// acquire reports whether a place in the semaphore is acquired: there is one, and the channel that
// refuses is not closed.
func acquire(places *semaphore.Weighted, refuses <-chan struct{}) bool {
	if !places.TryAcquire(1) {
		return false
	}
	if isClosed(refuses) { // checked last, so that Shutdown waits for every place that stays acquired
		places.Release(1)
		return false
	}
	return true
}

// Admit acquires s.calls for a request, or returns the error to answer with.
func (s *Server) Admit() *Error {
	switch {
	case acquire(s.calls, s.refusing):
		return nil
	case isClosed(s.refusing):
		return ErrClosing
	}
	return Errorf(CodeBusy, "Too many concurrent requests: %d are in progress. Try again shortly", maxCalls)
}

// Release undoes admit.
func (s *Server) Release() { s.calls.Release(1) }

// AdmitStream acquires s.listeners for a stream of these, or returns the error to answer with.
func (s *Server) AdmitStream(these string) *Error {
	switch {
	case acquire(s.listeners, s.closing):
		return nil
	case isClosed(s.closing):
		return ErrClosing
	}
	return Errorf(CodeBusy, "Too many concurrent %s. Try again shortly", these)
}

// ReleaseStream undoes AdmitStream.
func (s *Server) ReleaseStream() { s.listeners.Release(1) }

// Settings returns the options of the server, with their defaults.
func (s *Server) Settings() Options { return s.options }

// Ending returns a channel that is closed by EndStreams.
func (s *Server) Ending() <-chan struct{} { return s.closing }

// IsClosing reports whether EndStreams was called.
func (s *Server) IsClosing() bool { return isClosed(s.closing) }

// IsRefusing reports whether Shutdown was called.
func (s *Server) IsRefusing() bool { return isClosed(s.refusing) }

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// Toolset is the part of a Server that one address shows. Sessions and subscriptions belong to the
// toolset that they were opened in.
type Toolset struct {
	server *Server
	name   string
}

// For returns the toolset that the Handler calls by this name; "" is the whole server. It need not
// exist yet. A Toolset is an [http.Handler].
func (s *Server) For(toolset string) Toolset { return Toolset{s, toolset} }

// ServeHTTP serves the one endpoint of the protocol. If the toolset does not exist, the status is 404.
// The http.Server should have a ReadHeaderTimeout, but neither a ReadTimeout nor a WriteTimeout:
// deadlines are set for each request.
func (t Toolset) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if problem := t.server.CheckHost(r); problem != "" {
		t.server.forbid(w, r, problem)
		return
	}
	t.ServeKnownHost(w, r)
}

// forbid refuses a request because of its Host or Origin header.
func (s *Server) forbid(w http.ResponseWriter, r *http.Request, problem string) {
	if s.options.Refused != nil {
		s.options.Refused(r, http.StatusForbidden, problem)
	}
	s.reject(w, http.StatusForbidden, problem)
}

// ServeKnownHost is ServeHTTP for a request whose Host header was checked by CheckHost.
func (t Toolset) ServeKnownHost(w http.ResponseWriter, r *http.Request) {
	s := t.server
	if problem := s.options.Names().checkOrigin(r, true); problem != "" {
		s.forbid(w, r, problem)
		return
	}
	info := s.handler.Info(t.name)
	if info == nil {
		s.reject(w, http.StatusNotFound, "Toolset not found")
		return
	}
	switch {
	case r.Method == http.MethodPost:
		s.servePost(w, r, t.name, info)
	case s.legacy == nil:
		w.Header().Set("Allow", "POST")
		s.reject(w, http.StatusMethodNotAllowed, "Only POST is supported")
	case r.Method == http.MethodGet:
		s.legacy.ServeGet(w, r, t.name, info)
	case r.Method == http.MethodDelete:
		s.legacy.ServeDelete(w, r, t.name, info)
	default:
		w.Header().Set("Allow", "POST, GET, DELETE")
		s.reject(w, http.StatusMethodNotAllowed, "Only POST, GET and DELETE are supported")
	}
}

// Options configures a server. Zero values mean the defaults named in the comments.
type Options struct {
	Logger *slog.Logger // receives failures, and calls that the Handler does not see; nil discards them
	// Refused is called for a request that is refused with 403; nil for nothing to do.
	Refused func(r *http.Request, status int, reason string)
	// Observer is told of requests that are no calls; nil for nobody.
	Observer Observer
	// Names returns the names under which the server is served now; nil for those of this machine.
	Names func() Names
	// Remote returns the network address of the client of a request, for the Handler: by default its
	// RemoteAddr.
	Remote func(r *http.Request) string
	// Network returns what one client without credentials has of its address; nil for the whole address.
	Network func(remote string) string

	MaxBody  int64 // bytes of an HTTP request: 4 MiB
	MaxFrame int   // bytes of a line: 16 MiB
	MaxDepth int   // levels of nesting: 64

	// StreamIdentity is the caller on a pair of streams; nil for a client that nothing describes.
	StreamIdentity *Identity

	// Legacy returns what serves the clients of the revisions up to 2025-11-25; nil serves only modern ones.
	Legacy func(*Server) Legacy

	CallsPerSession int // concurrent requests of a session or a pair of streams: 128
}

// Observer is told how long requests took that the CallTool, GetPrompt and ReadResource of the Handler have not seen.
type Observer interface {
	// Observes reports whether it wants to be told now.
	Observes() bool
	// Answered is called for each request. The caller may have chosen any method.
	Answered(caller *Caller, method string, failed *Error, took time.Duration)
	// MemoryRefused is called when a request over HTTP was not read, because there was no memory for it.
	MemoryRefused()
	// SessionChanged is called when a session over HTTP has begun here, or has ended: State is "begun" or
	// "ended". The owner of an unauthenticated client is nil.
	SessionChanged(name string, owner *Identity, state string)
	// SessionEnded is called when a session over HTTP has been deleted by its client, or one over a pair of streams
	// has ended with them.
	SessionEnded(http bool, took time.Duration)
}

// ObserveInitialize tells the Observer of a reply to initialize.
func (s *Server) ObserveInitialize(caller *Caller, failed *Error, began time.Time) {
	if o := s.options.Observer; o != nil && o.Observes() {
		o.Answered(caller, "initialize", failed, time.Since(began))
	}
}

// ObserveEnd tells the Observer of the end of a session.
func (s *Server) ObserveEnd(http bool, began time.Time) {
	if o := s.options.Observer; o != nil && o.Observes() {
		o.SessionEnded(http, time.Since(began))
	}
}

func (o Options) withDefaults() Options {
	if o.Names == nil {
		o.Names = func() Names { return Names{} }
	}
	if o.Remote == nil {
		o.Remote = func(r *http.Request) string { return r.RemoteAddr }
	}
	if o.Network == nil {
		o.Network = func(remote string) string { return remote }
	}
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	o.MaxBody = cmp.Or(o.MaxBody, 4<<20)
	o.MaxFrame = cmp.Or(o.MaxFrame, 16<<20)
	o.MaxDepth = cmp.Or(o.MaxDepth, 64)
	o.CallsPerSession = cmp.Or(o.CallsPerSession, 128)
	return o
}

// The limits that all servers share.
const (
	maxCalls     = 4096  // concurrent requests of all clients
	maxListeners = 16384 // event streams of all clients that wait for something to happen

	firstByteTimeout  = 5 * time.Second  // after which keep-alives of a pending call begin
	KeepAliveInterval = 15 * time.Second // between keep-alives
	bodyTimeout       = 30 * time.Second // for a peer to send its request
	sendTimeout       = 30 * time.Second // for a peer to accept a part of a reply
)
