package main

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"

	"hatchel/runtime"
	"hatchel/runtime/auth"
	"hatchel/runtime/mcp"
)

// endpoints are what serve answers over HTTP.
type endpoints struct {
	mcp      *mcp.Server
	toolset  string // the only one that is served; empty for all of the server, with each of its toolsets beside it
	host     *runtime.Host
	reloader *reloader
	reached  bool            // by other machines, where nobody may come in unasked
	stopping <-chan struct{} // closed when the server is told to stop
}

func (e *endpoints) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/healthz" {
		io.WriteString(w, "ok\n")
		return
	}
	if signedFile(r) {
		e.files(w, r, true)
		return
	}
	if r = e.identified(w, r); r == nil {
		return
	}
	if isAbout(r, "/files") {
		e.files(w, r, false)
		return
	}
	if isAbout(r, "/approvals") {
		e.approvals(w, r)
		return
	}
	switch r.URL.Path {
	case "/mcp":
		e.mcp.For(e.toolset).ServeHTTP(w, r)
	case "/readyz":
		e.ready(w, r)
	case "/admin/reload":
		e.reload(w, r)
	default:
		toolset, ok := strings.CutPrefix(r.URL.Path, "/mcp/")
		if !ok || toolset == "" || e.toolset != "" && e.toolset != toolset {
			http.Error(w, "There is nothing here. The server's endpoint is /mcp", http.StatusNotFound)
			return
		}
		e.mcp.For(toolset).ServeHTTP(w, r)
	}
}

// ready answers 200 as long as a configuration is served and calls are taken and can be written down where they must be, and shows an operator what is wrong with a later one and with connections. Anybody
// else is told the status alone.
func (e *endpoints) ready(w http.ResponseWriter, r *http.Request) {
	ready, stopping := !e.host.Status().Loaded.IsZero() && !e.host.AuditUnavailable(r.Context()), false
	select {
	case <-e.stopping:
		ready, stopping = false, true
	default:
	}
	status := http.StatusOK
	if !ready {
		status = http.StatusServiceUnavailable
	}
	if e.operator(r) != "" {
		w.WriteHeader(status)
		return
	}
	state := e.host.Readiness(r.Context())
	state.Ready = ready
	answer(w, status, struct {
		runtime.Readiness
		Stopping bool `json:"stopping,omitempty"`
	}{state, stopping})
}

// reload loads the folder. A configuration that does not load is answered with 422 and what is wrong with it.
func (e *endpoints) reload(w http.ResponseWriter, r *http.Request) {
	why := e.operator(r)
	if why == "" {
		why = e.mcp.Source(r) // a browser that holds the certificate of an operator sends it whatever page asks
	}
	switch {
	case why != "":
		e.refuse(w, r, &auth.Refusal{Status: http.StatusForbidden, Why: why})
		return
	case r.Method != http.MethodPost:
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "Use POST", http.StatusMethodNotAllowed)
		return
	}
	// A load goes on when the one who asked for it does not wait.
	report, err := e.reloader.again(context.WithoutCancel(r.Context()), "POST /admin/reload")
	switch {
	case err != nil:
		http.Error(w, "The folder cannot be read: "+reason(err), http.StatusInternalServerError)
	case !report.OK:
		answer(w, http.StatusUnprocessableEntity, report)
	default:
		answer(w, http.StatusOK, report)
	}
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	out.Encode(v)
}

// operators is the group of those who may look after the server, where it is asked who they are.
const operators = "admin"

// operator says why who asks does not look after the server, or nothing where they do: in the group of those who may, or where nobody is asked who they are, a
// program on this machine.
func (e *endpoints) operator(r *http.Request) string {
	switch i := mcp.IdentityOf(r.Context()); {
	case e.host.Authenticator() == nil && !local(r):
		return "This is for programs on this machine only"
	case e.host.Authenticator() != nil && (i == nil || !slices.Contains(i.Groups, operators)):
		return "This is for callers in the group " + operators + " only"
	}
	return ""
}

// local reports whether a program on this machine asks, itself: neither a browser on behalf of a page, nor a proxy on behalf of somebody.
func local(r *http.Request) bool {
	for _, header := range []string{"Origin", "Sec-Fetch-Site", "Forwarded", "X-Forwarded-For", "X-Real-Ip", "Via"} {
		if r.Header.Get(header) != "" {
			return false
		}
	}
	return isLoopback(r.RemoteAddr) && (isLoopback(r.Host) || hostname(r.Host) == "localhost")
}

func isLoopback(address string) bool {
	ip := net.ParseIP(hostname(address))
	return ip != nil && ip.IsLoopback()
}

func hostname(address string) string {
	if host, _, err := net.SplitHostPort(address); err == nil {
		return host
	}
	return address
}
