package mcp

import (
	"context"
	"sync"

	"hatchel/adapters"
	"hatchel/adapters/credential"
	"hatchel/adapters/credential/auth"
	"hatchel/adapters/http"
	"hatchel/adapters/mcp/client"
	"hatchel/adapters/mcp/drift"
	"hatchel/adapters/mcp/pool"
	"hatchel/adapters/mcp/process"
	"hatchel/hcl"
	"hatchel/internal/service"
)

// server is the handle of a connection. It is safe for concurrent use.
type server struct {
	*connection
	name      string
	dir       string // of the configuration
	userAgent string
	version   string
	changed   func()   // is called when UpstreamState may return something else; nil for nobody
	perCaller bool     // requests depend on the caller
	outside   *request // for what sessions do outside of calls, if requests do not depend on the caller

	transport  client.Transport
	memory     client.Memory
	launcher   *process.Launcher // nil for a server with a URL
	starting   *service.Group    // keeps a program running that starts at load
	authorizer *auth.Authorizer  // nil if requests need no credentials
	monitor    *drift.Monitor
	sessions   *pool.Pool[*session]
	watcher    watcher
	mocks      adapters.Mocks // nil for the real thing
	messages   serverLog

	mu       sync.Mutex
	protocol string // of the latest session; empty before the first one; guarded by mu
	failure  string // why the latest session could not be opened; empty if it could; guarded by mu
}

// open returns the handle of a connection. It does not connect.
func open(ctx context.Context, c *connection, env adapters.Env) (any, error) {
	s := &server{
		connection: c, name: env.ConnectionName, dir: env.Dir, userAgent: "hatchel/" + env.Version,
		version: env.Version, perCaller: c.callerSpecific(),
		outside: &request{call: &adapters.Call{Frame: &hcl.Frame{}}, outlives: true},
	}
	s.compareLists(env)
	if env.Mocks != nil {
		s.mocks = env.Mocks
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
	if c.Command != nil {
		var err error
		if s.launcher, err = c.newLauncher(env, s.report); err != nil {
			return nil, err
		}
		s.openSessions(ctx, env)
		s.starting = service.NewGroup(ctx)
		env.Defer(func() error {
			s.starting.Close()
			return nil
		})
		return s, nil
	}
	tripper := client.NewRoundTripper(nil)
	s.transport = client.NewHTTP(client.HTTPConfig{URL: c.URL, RoundTripper: tripper, Header: s.newHeader})
	env.Defer(func() error {
		tripper.CloseIdleConnections()
		return nil
	})
	s.openSessions(ctx, env)
	return s, nil
}

// options returns what a session declares.
func (s *server) options() client.Options {
	o := client.Options{
		Name: "hatchel", Version: s.version, Protocol: s.Protocol, Memory: &s.memory, MaxMessage: int(s.MaxMessage),
		LogLevel: s.messages.level(), Log: s.messages.write,
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

// Pool implements adapters.Pooled.
func (s *server) Pool() (inUse, maximum int) {
	if s.sessions == nil {
		return 0, s.maxSessions()
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
