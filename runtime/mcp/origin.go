package mcp

import (
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// checkSource refuses requests that a web page has a browser send: a page may send requests to any
// address, and may resolve a name of its own to this machine (DNS rebinding). It returns a
// sentence, or "".
func checkSource(r *http.Request) string {
	if reason := CheckHost(r); reason != "" {
		return reason
	}
	local := isLoopback(r)
	host, _ := hostname(r.Host)
	origins := r.Header["Origin"]
	if len(origins) == 0 {
		return ""
	}
	u, err := url.Parse(origins[0])
	if len(origins) == 1 && err == nil && (u.Scheme == "http" || u.Scheme == "https") {
		// An unknown name may be one that the page resolves to this machine; an address cannot be.
		own := strings.EqualFold(u.Host, r.Host) && (local || net.ParseIP(host) != nil)
		if own || local && isLocalName(u.Hostname()) {
			return ""
		}
	}
	return "The Origin header names an origin that may not use this server"
}

// CheckHost returns why a request is refused for its Host header, as a sentence, or "": a page may have resolved a name
// of its own to this machine.
func CheckHost(r *http.Request) string {
	host, ok := hostname(r.Host)
	if !ok {
		return "The Host header is not a host name or an address with an optional port"
	}
	if isLoopback(r) && !isLocalName(host) {
		return "The Host header names a host that this server does not serve"
	}
	return ""
}

// CheckSource returns why a request to another endpoint of the same HTTP server is refused, as a
// sentence, or "". It is refused like one to this endpoint, and if a page of another site has sent
// it.
func (s *Server) CheckSource(r *http.Request) string {
	if r.Header.Get("Sec-Fetch-Site") == "cross-site" {
		return "A page of another site has sent this request"
	}
	return checkSource(r)
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

// hostname returns the host of a Host header without port and brackets, and whether the header is
// valid.
func hostname(hostport string) (host string, ok bool) {
	host, port, err := net.SplitHostPort(hostport)
	if err != nil { // without a port
		host, port, err = net.SplitHostPort(hostport + ":0")
	}
	_, invalidPort := strconv.ParseUint(port, 10, 16)
	return host, err == nil && invalidPort == nil && host != ""
}

// IsLocalHost reports whether a Host header names this machine.
func IsLocalHost(hostport string) bool {
	host, ok := hostname(hostport)
	return ok && isLocalName(host)
}

func isLocalName(host string) bool {
	return strings.EqualFold(host, "localhost") || host == "127.0.0.1" || host == "::1"
}
