package server

import (
	"context"
	"net/http"

	"hatchel/runtime/edge/console"
	"hatchel/runtime/edge/operator"
)

// newConsole returns the console of the server, which is served while the configuration wants one.
func (s *Server) newConsole() *console.Console {
	return console.New(console.Options{
		Host: s.Host, Server: s.mcp, Log: s.Log.Logger, Remote: s.clientAddress, IsLocal: isLocalConnection,
		SignIns: s.signIn, Endpoint: s.endpointOf,
		Reload: func(ctx context.Context) error {
			_, err := s.Reloader.Reload(ctx, "the console")
			return err
		},
		Refused: func(r *http.Request, status int, reason string) {
			s.Host.Operator().RecordRefusal(r.Context(), operator.Refusal{
				Status: status, Reason: reason, Path: r.URL.Path, Caller: s.callerOf(r),
			})
		},
	})
}

// serveConsole serves the console at the address of the server.
func (s *Server) serveConsole(w http.ResponseWriter, r *http.Request) {
	switch decl := s.Host.Current().Console; {
	case decl != nil && decl.Listen != "":
		writeJSON(w, http.StatusNotFound, &Error{Message: "The console has an address of its own: listen in its block"})
		return
	case decl == nil && !isUnder(r, "/console/ticket"): // whose response says why
		http.Error(w, "Not found. The configuration of this server has no console block", http.StatusNotFound)
		return
	}
	s.console.ServeHTTP(w, r)
}

// serveConsoleListener serves the listener that the console has of its own.
func (s *Server) serveConsoleListener(w http.ResponseWriter, r *http.Request) {
	switch {
	case isUnder(r, "/console"):
		s.console.ServeHTTP(w, r)
	case !s.checkHost(w, r):
	case r.URL.Path == "/":
		http.Redirect(w, r, "/console/", http.StatusSeeOther)
	default:
		http.NotFound(w, r)
	}
}
