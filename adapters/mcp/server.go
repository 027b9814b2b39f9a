package mcp

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"hatchel/adapters"
	"hatchel/adapters/credential"
	"hatchel/adapters/credential/auth"
	"hatchel/adapters/http"
	"hatchel/adapters/mcp/client"
	"hatchel/adapters/mcp/drift"
	"hatchel/adapters/mcp/pool"
)

// server is the handle of a connection. It is safe for concurrent use.
type server struct {
	*connection
	name      string
	dir       string // of the configuration
	userAgent string
	version   string
	log       *slog.Logger
	changed   func() // is called when UpstreamState may return something else; nil for nobody

	transport  client.Transport
	memory     client.Memory
	authorizer *auth.Authorizer // nil if requests need no credentials
	monitor    *drift.Monitor
	sessions   *pool.Pool[*session]
	mocks      *mockedServer // nil for the real thing

	mu       sync.Mutex
	protocol string // of the latest session; empty before the first one; guarded by mu
	failure  string // why the latest session could not be opened; empty if it could; guarded by mu
}

// session is a session with the server, with what it has listed.
type session struct {
	*client.Session
	drift *drift.Session
}

// Close implements pool.Session.
func (s *session) Close() {
	s.drift.Close()
	s.Session.Close()
}

const (
	defaultMaxSessions = 256 // over HTTP
	openTimeout        = 20 * time.Second
)

// open returns the handle of a connection. It does not connect.
func open(ctx context.Context, c *connection, env adapters.Env) (any, error) {
	s := &server{
		connection: c, name: env.ConnectionName, dir: env.Dir, userAgent: "hatchel/" + env.Version,
		version: env.Version, log: env.Log, changed: env.StateChanged,
	}
	s.monitor = drift.New(drift.Options{
		Pins: *c.file, Compatible: c.OnDrift == driftCompatible, Refresh: c.Refresh, PerCaller: c.callerSpecific(),
		Changed: s.reportChange, Log: env.Log,
	})
	if env.Mocks != nil {
		s.mocks = &mockedServer{mocks: env.Mocks, connection: env.ConnectionName}
		if !env.Mocks.Live(false) {
			return s, nil
		}
	}
	if c.Auth != nil {
		var err error
		s.authorizer, err = c.Auth.Open(ctx, http.NewTokenService(env), credential.NewMachine(), env)
		if err != nil {
			return nil, err
		}
	}
	tripper := client.NewRoundTripper(nil)
	s.transport = client.NewHTTP(client.HTTPConfig{URL: c.URL, RoundTripper: tripper, Header: s.newHeader})
	s.sessions = pool.New(ctx, pool.Config[*session]{
		Connection: s.name, Open: s.openSession, Max: cmp.Or(c.MaxSessions, defaultMaxSessions), Idle: c.Idle,
		PerCall: c.Sessions == sessionsCall,
	})
	env.Defer(func() error {
		s.sessions.Close()
		tripper.CloseIdleConnections()
		return nil
	})
	return s, nil
}

// reportChange says that UpstreamState may return something else.
func (s *server) reportChange() {
	if s.changed != nil {
		s.changed()
	}
}

// openSession opens a session. It is called by the pool.
func (s *server) openSession(ctx context.Context, _ string) (*session, error) {
	opening, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	compared := s.monitor.NewSession()
	options := s.options()
	options.Changed = compared.Changed
	opened, err := client.Open(opening, s.transport, options)
	s.mu.Lock()
	if err != nil {
		s.failure = unreachable(err)
	} else {
		s.protocol, s.failure = opened.Protocol(), ""
	}
	s.mu.Unlock()
	if err != nil {
		compared.Close()
		s.reportChange()
		return nil, err
	}
	compared.Begin(context.WithoutCancel(ctx), opened.Tools)
	s.reportChange()
	return &session{opened, compared}, nil
}

// options returns what a session declares.
func (s *server) options() client.Options {
	o := client.Options{
		Name: "hatchel", Version: s.version, Protocol: s.Protocol, Memory: &s.memory, MaxMessage: int(s.MaxMessage),
	}
	for _, ask := range s.Asks {
		if ask != asksRoots {
			o.Asks = append(o.Asks, ask)
		}
	}
	for _, uri := range s.Roots {
		o.Roots = append(o.Roots, client.Root{URI: uri})
	}
	return o
}

// ownerOf returns whose session a call gets. Over HTTP with 2026-07-28, which has no sessions, callers share one unless
// the server may list something else for each of them.
func (s *server) ownerOf(call *adapters.Call) string {
	if s.callerSpecific() {
		return call.Owner
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Sessions == sessionsShared || s.protocol == client.Revision20260728 && s.URL != "" {
		return ""
	}
	return call.Owner
}

// UpstreamState implements adapters.Upstream.
func (s *server) UpstreamState() adapters.UpstreamState {
	compared := s.monitor.State()
	s.mu.Lock()
	state := adapters.UpstreamState{
		State: adapters.UpstreamReady, Failure: cmp.Or(s.failure, compared.Failure), Protocol: s.protocol,
		Unused: compared.Unused, Drift: compared.Drift,
	}
	s.mu.Unlock()
	if s.sessions != nil {
		state.Sessions = len(s.sessions.Sessions())
	}
	isDrifted := slices.ContainsFunc(state.Drift, func(d adapters.Drift) bool { return !d.Served })
	switch {
	case isDrifted:
		state.State = adapters.UpstreamDrifted
	case state.Failure != "":
		state.State = adapters.UpstreamFailed
	case state.Protocol == "":
		state.State = adapters.UpstreamStarting
	}
	return state
}

// Pool implements adapters.Pooled.
func (s *server) Pool() (inUse, maximum int) {
	if s.sessions == nil {
		return 0, cmp.Or(s.MaxSessions, defaultMaxSessions)
	}
	return s.sessions.Pool()
}

// Credential implements adapters.SignedIn.
func (s *server) Credential() *adapters.CredentialState {
	if s.authorizer == nil {
		return nil
	}
	return s.authorizer.Credential()
}

// Credential implements adapters.SignedIn.
func (a *action) Credential() *adapters.CredentialState { return a.server.Credential() }

// Withdrawn implements adapters.Withdrawable.
func (a *action) Withdrawn() *adapters.Fault { return a.server.monitor.Withdrawn(a.Call) }
