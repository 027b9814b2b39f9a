package mcp

import (
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// checkSource keeps web pages away from a server that listens for programs: a page may make a browser send requests anywhere, and
// may point a name of its own at this machine. It returns a sentence when the request is to be refused.
func (o *Options) checkSource(r *http.Request) string {
	local := isLoopback(r)
	host := hostname(r.Host)
	named := slices.ContainsFunc(o.Hosts, func(h string) bool { return strings.EqualFold(h, host) }) || local && isLocalName(host)
	if !named && (local || len(o.Hosts) > 0) {
		return "The Host header names a host that this server does not answer for"
	}
	origins := r.Header["Origin"]
	if len(origins) == 0 {
		return ""
	}
	origin := origins[0]
	if len(origins) == 1 {
		if slices.Contains(o.Origins, origin) {
			return ""
		}
		if u, err := url.Parse(origin); err == nil && (u.Scheme == "http" || u.Scheme == "https") {
			// A name that nobody has vouched for may have been pointed here by the page; an address cannot.
			own := strings.EqualFold(u.Host, r.Host) && (named || net.ParseIP(host) != nil)
			if own || local && isLocalName(u.Hostname()) {
				return ""
			}
		}
	}
	return "The Origin header names an origin that may not use this server"
}

// isLoopback reports whether the request came in on an address that only this machine can reach.
func isLoopback(r *http.Request) bool {
	switch a := r.Context().Value(http.LocalAddrContextKey).(type) {
	case *net.TCPAddr:
		return a.IP.IsLoopback()
	case *net.UnixAddr:
		return true
	}
	return false
}

// hostname returns the host without its port and brackets.
func hostname(hostport string) string {
	if strings.HasPrefix(hostport, "[") {
		if end := strings.IndexByte(hostport, ']'); end > 0 {
			return hostport[1:end]
		}
	}
	if colon := strings.IndexByte(hostport, ':'); colon >= 0 {
		return hostport[:colon]
	}
	return hostport
}

func isLocalName(host string) bool {
	return strings.EqualFold(host, "localhost") || host == "127.0.0.1" || host == "::1"
}

// Source is why a request to another endpoint of the same server is refused, as one to this endpoint is, or nothing: a web page has a browser send it.
func (s *Server) Source(r *http.Request) string {
	if r.Header.Get("Sec-Fetch-Site") == "cross-site" {
		return "A page of another site has sent this request"
	}
	return s.options.checkSource(r)
}
