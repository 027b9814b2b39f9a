package server

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"hatchel/runtime"
	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/observe/logging"
	"hatchel/runtime/observe/probe"
)

// adminGroup is the group of the callers that operate a server with an auth block.
const adminGroup = "admin"

// serveReadiness answers 200 while a configuration is served, calls are accepted, and records that
// must be written can be. An operator also gets the details: failed reloads, connections, state and
// webhooks. The callers that the health block allows get the most important ones.
func (s *Server) serveReadiness(w http.ResponseWriter, r *http.Request) {
	stopping := s.stopping.Load()
	ready := !stopping && !s.Host.Status().Loaded.IsZero() && !s.Host.Operator().AuditUnavailable(r.Context())
	status := http.StatusOK
	if !ready {
		status = http.StatusServiceUnavailable
	}
	operates := s.whyNotOperator(r) == ""
	if !operates && (s.mcp.CheckSource(r) != "" || !s.Host.Operator().MaySeeHealth(r.Context(), s.callerOf(r))) {
		w.WriteHeader(status)
		return
	}
	details, _ := s.Host.Readiness(r.Context())
	if details.Ready = ready; !operates {
		writeJSON(w, status, health{ready, stopping, details.Revision, details.Commit, details.Stale,
			details.Connections, details.Upstreams})
		return
	}
	writeJSON(w, status, struct {
		runtime.Readiness
		Stopping bool `json:"stopping,omitempty"`
	}{details, stopping})
}

// health is what the callers that the health block allows see of a server.
type health struct {
	Ready       bool                     `json:"ready"`
	Stopping    bool                     `json:"stopping,omitempty"`
	Revision    string                   `json:"revision"`
	Commit      string                   `json:"commit,omitempty"`
	Stale       bool                     `json:"stale"`
	Connections []probe.ConnectionHealth `json:"connections"`
	Upstreams   []probe.UpstreamHealth   `json:"upstreams,omitempty"`
}

// serveReload reloads the configuration directory. A configuration with errors is answered with 422
// and its diagnostics, one that waits for its lock with 409. The differences are those to the
// configuration before, or to the revision ?since=.
func (s *Server) serveReload(w http.ResponseWriter, r *http.Request) {
	if !s.admitOperator(w, r, http.MethodPost) {
		return
	}
	// The load continues when the client goes away.
	report, err := s.Reloader.Reload(context.WithoutCancel(r.Context()), "POST /admin/reload")
	since, known := r.URL.Query().Get("since"), true
	if since != "" && err == nil {
		report.Change, known = s.Host.ChangeSince(since)
		report.Differences = nil // which are those of the last load
	}
	switch {
	case err != nil:
		if p := new(fs.PathError); errors.As(err, &p) {
			err = p.Err
		}
		http.Error(w, "The configuration directory cannot be read: "+err.Error(), http.StatusInternalServerError)
	case report.Hold != nil:
		writeJSON(w, http.StatusConflict, report)
	case !report.OK:
		writeJSON(w, http.StatusUnprocessableEntity, report)
	case !known:
		http.Error(w, "The configuration was loaded, its revision is "+report.Revision+". This process has not "+
			"served the revision "+strconv.Quote(since)+" lately, so it cannot report what changed since.",
			http.StatusNotFound)
	default:
		writeJSON(w, http.StatusOK, report)
	}
}

// serveLogLevel answers with the level of the log. POST changes it first, until the process ends.
func (s *Server) serveLogLevel(w http.ResponseWriter, r *http.Request) {
	if !s.admitOperator(w, r, http.MethodGet, http.MethodPost) {
		return
	}
	if r.Method == http.MethodPost {
		name := r.URL.Query().Get("level")
		level, ok := logging.ParseLevel(name)
		if !ok {
			http.Error(w, "?level= is one of "+strings.Join(logging.Levels, ", ")+", and is "+strconv.Quote(name),
				http.StatusBadRequest)
			return
		}
		s.Log.SetLevel(level, "POST /admin/log")
	}
	writeJSON(w, http.StatusOK, map[string]string{"level": logging.LevelName(s.Log.Level())})
}

// serveLock answers with the lock of what is served, as hatchel lock writes it.
func (s *Server) serveLock(w http.ResponseWriter, r *http.Request) {
	if !s.admitOperator(w, r, http.MethodGet) {
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write(s.Host.Surface().Lock())
}

// admitOperator reports whether a request is one of an operator with an accepted method. It answers any other
// one.
func (s *Server) admitOperator(w http.ResponseWriter, r *http.Request, methods ...string) bool {
	reason := s.whyNotOperator(r)
	if reason == "" {
		reason = s.mcp.CheckSource(r) // a browser sends an operator's client certificate for any page
	}
	if reason != "" {
		s.refuse(w, r, forbidden(reason))
		return false
	}
	err := checkMethod(w, r, methods...)
	if err != nil {
		http.Error(w, err.Error(), http.StatusMethodNotAllowed)
	}
	return err == nil
}

// whyNotOperator returns the reason why the caller of a request is no operator, or an empty string.
func (s *Server) whyNotOperator(r *http.Request) string {
	identity := mcp.IdentityOf(r.Context())
	switch {
	case s.Host.Authenticator() == nil && !isLocal(r):
		return "Only programs on this machine may use this endpoint"
	case s.Host.Authenticator() != nil && (identity == nil || !slices.Contains(identity.Groups, adminGroup)):
		return "Only callers in the group " + adminGroup + " may use this endpoint"
	}
	return ""
}

// isLocal reports whether a program on this machine made the request itself, neither a browser for
// a page nor a proxy.
func isLocal(r *http.Request) bool {
	return !hasHeader(r, "Origin", "Sec-Fetch-Site") && isLocalConnection(r)
}

// isLocalConnection reports whether a request was made on this machine, and neither through a proxy nor for a name that
// a page resolves to this machine.
func isLocalConnection(r *http.Request) bool {
	if hasHeader(r, "Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-Ip", "Via") {
		return false
	}
	return IsLoopback(r.RemoteAddr) && mcp.IsLocalHost(r.Host)
}

func hasHeader(r *http.Request, names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return r.Header.Get(name) != "" })
}

// IsLoopback reports whether an address, with or without a port, is a loopback IP address.
func IsLoopback(address string) bool {
	ip := net.ParseIP(hostname(address))
	return ip != nil && ip.IsLoopback()
}

func hostname(address string) string {
	if host, _, err := net.SplitHostPort(address); err == nil {
		return host
	}
	return address
}
