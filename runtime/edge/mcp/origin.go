package mcp

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"hatchel/internal/hostname"
)

// Names say under which names a server is served, and which pages may use it. They decide about every endpoint of
// the HTTP server. The zero value has only the names of this machine.
type Names struct {
	Hosts   []string // besides those of this machine, in the form of hostname.Parse
	Origins []string // of pages of other sites that may use the endpoints of the protocol, as browsers send them
}

// CheckHost returns why a request is refused for its Host header, as a sentence, or "": a page may have resolved a name
// of its own to this machine (DNS rebinding). Clients that send no Host, in HTTP/1.0, are no browsers.
//
// At an address that other machines can reach, names are unknown unless Hosts has them, and addresses of this machine
// may be those of a router in front of it.
func (n Names) CheckHost(r *http.Request) string {
	if r.Host == "" && !r.ProtoAtLeast(1, 1) {
		return ""
	}
	host, _, ok := hostname.Split(r.Host)
	switch {
	case !ok:
		return "The Host header is not a host name or an address with an optional port"
	case n.has(host):
		return ""
	case !isLoopback(r) && (len(n.Hosts) == 0 || hostname.IsAddress(host)):
		return ""
	}
	return fmt.Sprintf("The Host header names %[1]q, which is no name of this server. If it is served there, add to "+
		"the server block hosts = [%[1]q]", host)
}

// has reports whether a host is this machine, or a name of the server.
func (n Names) has(host string) bool { return hostname.IsLocal(host) || slices.Contains(n.Hosts, host) }

// checkOrigin returns why a request is refused for its Origin header, as a sentence, or "": a page may send requests to
// any address. Shared says that pages of other sites may use the endpoint.
func (n Names) checkOrigin(r *http.Request, shared bool) string {
	origins := r.Header["Origin"]
	if len(origins) == 0 {
		return ""
	}
	u, err := url.Parse(origins[0])
	isOrigin := err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.User == nil && u.Path == ""
	var host, port string
	if isOrigin {
		host, port, isOrigin = hostname.Split(u.Host)
	}
	if len(origins) != 1 || !isOrigin {
		return "The Origin header names none whose pages may use this server"
	}
	served, _, _ := hostname.Split(r.Host)
	local, origin := isLoopback(r), hostname.Origin(u.Scheme, host, port)
	// An unknown name may be one that the page resolves to this machine; an address cannot be.
	own := strings.EqualFold(u.Host, r.Host) && (local || hostname.IsAddress(host))
	switch {
	case own, slices.Contains(n.Hosts, host), shared && slices.Contains(n.Origins, origin):
		return ""
	case local && hostname.IsLocal(host) && hostname.IsLocal(served): // a page of this machine
		return ""
	}
	refused := fmt.Sprintf("The Origin header names %q, whose pages may not use this server", origin)
	isPage := shared && (u.Scheme == "https" || hostname.IsLocal(host))
	hosts, cors := fmt.Sprintf("hosts = [%q]", host), fmt.Sprintf("cors { origins = [%q] }", origin)
	switch {
	case hostname.IsLocal(host) && !isPage:
		return refused
	case hostname.IsLocal(host):
		return refused + ". To allow them, add to the server block " + cors
	case strings.EqualFold(u.Host, r.Host) || !isPage:
		return refused + ". If this is the name of the server, add to the server block " + hosts
	}
	return refused + ". If this is the name of the server, add to the server block " + hosts +
		"; if other pages there are clients of it, " + cors
}

// CheckHost returns why a request to another endpoint of the same HTTP server is refused for its Host header, as a
// sentence, or "".
func (s *Server) CheckHost(r *http.Request) string { return s.options.Names().CheckHost(r) }

// CheckSource returns why a request to another endpoint of the same HTTP server is refused, as a
// sentence, or "". It is refused like one to this endpoint, and if a page of another site has sent
// it.
func (s *Server) CheckSource(r *http.Request) string {
	names := s.options.Names()
	if reason := names.CheckHost(r); reason != "" {
		return reason
	}
	if r.Header.Get("Sec-Fetch-Site") == "cross-site" {
		return "A page of another site has sent this request"
	}
	return names.checkOrigin(r, false)
}

// isLoopback reports whether the request arrived at an address that only this machine can reach.
func isLoopback(r *http.Request) bool {
	switch a := r.Context().Value(http.LocalAddrContextKey).(type) {
	case *net.TCPAddr:
		return a.IP.IsLoopback()
	case *net.UnixAddr:
		return true
	}
	return false
}

// IsLocalHost reports whether a Host header names this machine.
func IsLocalHost(hostport string) bool {
	host, _, ok := hostname.Split(hostport)
	return ok && hostname.IsLocal(host)
}

// IsSecure reports whether a client has sent a request over TLS, to this server or to a proxy in front of it. Anybody
// can send the headers of a proxy, so the report is for what becomes stricter by it, and for addresses that the client
// itself reads.
func IsSecure(r *http.Request) bool {
	if r.TLS != nil {
		return true
	}
	first, _, _ := strings.Cut(r.Header.Get("X-Forwarded-Proto"), ",")
	return strings.EqualFold(strings.TrimSpace(first), "https") ||
		strings.Contains(strings.ToLower(r.Header.Get("Forwarded")), "proto=https")
}

// URL returns the address of the server, without a path, at which a client has sent a request. A proxy may have
// replaced the Host header; what it says of the former one counts if it is a name of the server.
func (n Names) URL(r *http.Request) *url.URL {
	u := &url.URL{Scheme: "http", Host: r.Host}
	if IsSecure(r) {
		u.Scheme = "https"
	}
	first, _, _ := strings.Cut(r.Header.Get("X-Forwarded-Host"), ",")
	forwarded := strings.TrimSpace(first)
	named, _, _ := hostname.Split(r.Host)
	if host, _, _ := hostname.Split(forwarded); slices.Contains(n.Hosts, host) && !slices.Contains(n.Hosts, named) {
		u.Host = strings.ToLower(forwarded)
	}
	return u
}

// corsHeaders are the headers that pages of other sites may send, besides those of the protocol, which begin with mcp-.
var corsHeaders = []string{"accept", "authorization", "content-type", "last-event-id", "x-api-key"}

const (
	corsMethods = "GET, POST, DELETE"
	corsExposed = "Mcp-Session-Id, WWW-Authenticate, Retry-After"
	corsMaxAge  = 10 * 60 // seconds for which browsers need not ask again
)

// ShareWithPages lets pages of n.Origins read the response of an endpoint of the protocol, and answers the request by
// which a browser asks before (CORS preflight). It reports whether the request was answered.
func (n Names) ShareWithPages(w http.ResponseWriter, r *http.Request) (answered bool) {
	if len(n.Origins) == 0 {
		return false
	}
	h := w.Header()
	h.Add("Vary", "Origin")
	origin := r.Header.Get("Origin")
	if !slices.Contains(n.Origins, origin) || n.CheckHost(r) != "" {
		return false
	}
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Access-Control-Expose-Headers", corsExposed)
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		return false
	}
	allowed := slices.Clone(corsHeaders)
	for name := range strings.SplitSeq(r.Header.Get("Access-Control-Request-Headers"), ",") {
		name = strings.ToLower(strings.TrimSpace(name))
		if strings.HasPrefix(name, "mcp-") && strings.Trim(name, headerLetters) == "" && len(allowed) < maxCORSHeaders {
			allowed = append(allowed, name)
		}
	}
	h.Set("Access-Control-Allow-Methods", corsMethods)
	h.Set("Access-Control-Allow-Headers", strings.Join(allowed, ", "))
	h.Set("Access-Control-Max-Age", strconv.Itoa(corsMaxAge))
	w.WriteHeader(http.StatusNoContent)
	return true
}

const (
	maxCORSHeaders = 64
	headerLetters  = "abcdefghijklmnopqrstuvwxyz0123456789-_"
)
