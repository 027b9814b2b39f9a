package server

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"hatchel/runtime"
	"hatchel/runtime/durable/store"
	"hatchel/runtime/edge/auth"
	"hatchel/runtime/edge/console"
	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/edge/mcp/legacy"
	"hatchel/runtime/edge/signin"
	"hatchel/runtime/observe/logging"
	"hatchel/runtime/stage/limit"
)

// Options configure a Server. Host, Reloader and Log are required.
type Options struct {
	Host     *runtime.Host
	Reloader *Reloader
	Log      *logging.Log
	// Toolset is the only toolset that is served. When it is empty, everything is served at /mcp
	// and each toolset at /mcp/NAME.
	Toolset string
	// RequireAuth refuses every HTTP request while the configuration declares no authentication.
	// Set it for a listener that other machines can reach.
	RequireAuth bool
	// StreamIdentity is the caller of ServeStdio; nil for one that nothing describes.
	StreamIdentity *mcp.Identity
	// Sessions keep the sessions of clients over HTTP when the process ends.
	Sessions store.Sessions
	// Drain is how long Serve accepts new requests after its context has ended.
	Drain time.Duration
}

// Server serves one host, over HTTP with [Server.Serve] or to one client with [Server.ServeStdio].
// It is safe for concurrent use as an http.Handler.
type Server struct {
	Options
	mcp      *mcp.Server
	console  *console.Console
	signIn   *signin.Server
	stopping atomic.Bool  // the shutdown has begun
	address  atomic.Value // the net.Addr of the listener of Serve
}

// New returns a Server and makes it the receiver of the host's notifications.
func New(o Options) *Server {
	s := &Server{Options: o}
	s.mcp = mcp.New(o.Host, mcp.Options{
		Logger: o.Log.Logger, Refused: s.audit, Observer: o.Host.Telemetry(),
		Names:  func() mcp.Names { return o.Host.Current().ServerNames() },
		Remote: s.clientAddress, Network: limit.Network, StreamIdentity: o.StreamIdentity,
		Legacy: legacy.New(legacy.Options{
			Key: o.Sessions.Key, Store: o.Sessions.Store, Courier: o.Sessions.Courier,
		}),
	})
	o.Sessions.Listen(s.mcp)
	o.Host.SetNotifier(s.mcp)
	s.signIn = s.newSignIn()
	s.console = s.newConsole()
	o.Host.SetConsoleHandler(http.HandlerFunc(s.serveConsoleListener))
	o.Host.Telemetry().SetScrapeHandler(http.HandlerFunc(s.serveScrapes))
	return s
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mcp.SetConnection(w.Header())
	if !s.checkHost(w, r) {
		return
	}
	if isUnder(r, "/mcp") {
		r.URL.Path = strings.TrimSuffix(r.URL.Path, "/")
	}
	if s.serveCard(w, r) {
		return
	}
	if isShared(r) && s.Host.Current().ServerNames().ShareWithPages(w, r) {
		return
	}
	if r.URL.Path == "/healthz" {
		io.WriteString(w, "ok\n")
		return
	}
	if s.serveWellKnown(w, r) {
		return
	}
	if isSignedFile(r) {
		s.serveFiles(w, r, true)
		return
	}
	if signin.Handles(r) && s.Host.Current().SignIn != nil {
		s.signIn.ServeHTTP(w, r)
		return
	}
	if isUnder(r, "/console") { // which has sessions in place of credentials
		s.serveConsole(w, r)
		return
	}
	if r = s.authenticate(w, r); r == nil {
		return
	}
	switch {
	case isHome(r):
		s.serveHome(w, r)
	case isUnder(r, "/files"):
		s.serveFiles(w, r, false)
	case isUnder(r, "/approvals"):
		s.serveApprovals(w, r)
	case isUnder(r, "/sign-ins"):
		s.serveSignIns(w, r)
	case r.URL.Path == "/readyz":
		s.serveReadiness(w, r)
	case r.URL.Path == "/events" && s.Host.Operator().HasEvents():
		s.serveEvents(w, r)
	case s.isScrape(r):
		s.serveMetrics(w, r)
	case r.URL.Path == "/admin/reload":
		s.serveReload(w, r)
	case r.URL.Path == "/admin/log":
		s.serveLogLevel(w, r)
	case r.URL.Path == "/admin/lock":
		s.serveLock(w, r)
	default:
		s.serveMCP(w, r)
	}
}

func (s *Server) serveMCP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/mcp" {
		s.mcp.For(s.Toolset).ServeKnownHost(w, r)
		return
	}
	toolset, ok := strings.CutPrefix(r.URL.Path, "/mcp/")
	if !ok || toolset == "" || s.Toolset != "" && s.Toolset != toolset {
		http.Error(w, "Not found. "+s.explainNotFound(r.URL.Path), http.StatusNotFound)
		return
	}
	s.mcp.For(toolset).ServeKnownHost(w, r)
}

// explainNotFound returns why there is nothing at a path, or what the caller may have looked for.
func (s *Server) explainNotFound(path string) string {
	_, decl := s.Host.Telemetry().Metrics()
	switch {
	case path == "/events":
		return "The configuration of this server has no events block"
	case path == "/metrics" && decl == nil:
		return "The configuration of this server has no metrics block"
	case path == "/metrics":
		return "The metrics have an address of their own: listen in their block"
	}
	return "The MCP endpoint of this server is /mcp"
}

// checkHost reports whether a request names a host that is served, and refuses it otherwise.
func (s *Server) checkHost(w http.ResponseWriter, r *http.Request) bool {
	reason := s.mcp.CheckHost(r)
	if reason != "" {
		s.refuse(w, r, forbidden(reason))
	}
	return reason == ""
}

// isShared reports whether pages of other sites may be allowed to use an endpoint.
func isShared(r *http.Request) bool { return isUnder(r, "/mcp") || auth.IsMetadata(r) }

// isUnder reports whether a request is for a path or for one below it.
func isUnder(r *http.Request, path string) bool {
	rest, ok := strings.CutPrefix(r.URL.Path, path)
	return ok && (rest == "" || rest[0] == '/')
}
