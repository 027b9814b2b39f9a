package server

import (
	"net"
	"net/http"
	"net/url"
	"slices"

	"hatchel/hcl"
	"hatchel/runtime/edge/console"
	"hatchel/runtime/edge/mcp"
)

// reach is how clients reach the MCP endpoint over HTTP.
type reach struct {
	url        string // of the endpoint
	credential console.Credential
	provider   string // the host where people sign in; empty for nowhere
}

// reachAt returns how clients reach the server, for one that has reached it at a URL.
func (s *Server) reachAt(base *url.URL) reach {
	current := s.Host.Current()
	out, auth := reach{url: base.JoinPath("mcp").String()}, current.Config.Auth
	switch {
	case current.SignIn != nil: // tokens are for this address
		decl := current.SignIn.Decl
		return reach{decl.Resource(""), console.SignedIn, hostOf(decl.Provider)}
	case auth != nil && len(auth.Keys) > 0:
		out.credential = console.Key
	case auth != nil && len(auth.Issuers)+len(auth.Introspections) > 0:
		out.credential = console.Token
	case current.Config.TLS != nil && current.Config.TLS.ClientCA != "":
		out.credential = console.Certificate
	}
	return out
}

// hostOf returns the host of an address.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	return u.Host
}

// consoleBase returns the URL of the console, without its path, for a client that has reached the server at a URL.
// Without auth it is one that the machine of the server has.
func (s *Server) consoleBase(r *http.Request, base *url.URL) *url.URL {
	at := s.Host.ConsoleAddr()
	local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if at == nil && s.Host.Authenticator() == nil && !mcp.IsLocalHost(base.Host) {
		at = local
	}
	if at == nil {
		return base
	}
	return s.listenerURL(at, base)
}

// listenerURL returns the URL of a listener of the server, for a client that has reached another one at a URL.
func (s *Server) listenerURL(at net.Addr, base *url.URL) *url.URL {
	host, port, err := net.SplitHostPort(at.String())
	if err != nil {
		return base
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = base.Hostname()
	}
	out := &url.URL{Scheme: "http", Host: net.JoinHostPort(host, port)}
	if s.Host.Certificates() != nil {
		out.Scheme = "https"
	}
	return out
}

// endpointOf says how clients reach a tool, for a person in the console.
func (s *Server) endpointOf(r *http.Request, t *hcl.Tool) *console.Endpoint {
	current := s.Host.Current()
	only := slices.IndexFunc(current.Config.Toolsets, func(set *hcl.Toolset) bool { return set.Name == s.Toolset })
	if !t.Listed || only >= 0 && !current.Config.Toolsets[only].HasTool(t.Name) {
		return nil
	}
	base, isOwn := current.ServerNames().URL(r), s.Host.ConsoleAddr() != nil
	at, isServed := s.address.Load().(net.Addr)
	name := clientName(&current.Config.Server)
	if isOwn && !isServed {
		return s.stdioEndpoint(name)
	}
	if isOwn {
		base = s.listenerURL(at, base)
	}
	found := s.reachAt(base)
	entry := map[string]any{"type": "http", "url": found.url}
	if found.credential == console.Key {
		entry["headers"] = map[string]string{"Authorization": "Bearer ${HATCHEL_KEY}"}
	}
	return &console.Endpoint{URL: found.url, Credential: found.credential, Entry: clientEntry(name, entry)}
}

// stdioEndpoint says how a client starts the server, which then serves it over standard input and output.
func (s *Server) stdioEndpoint(name string) *console.Endpoint {
	out := &console.Endpoint{Dir: s.Host.Current().Env.Dir}
	from := out.Dir
	if s.Reloader.Repository != nil {
		out.Dir, from = "", s.Reloader.Repository.String() // the directory of a revision goes with the next one
	}
	args := []string{"serve", "--stdio", from}
	if s.Toolset != "" {
		args = append(args, "--toolset", s.Toolset)
	}
	out.Entry = clientEntry(name, map[string]any{"command": "hatchel", "args": args})
	return out
}

// clientEntry returns a server in the form of the file .mcp.json, which most clients read.
func clientEntry(name string, entry map[string]any) string {
	return indented(map[string]any{"mcpServers": map[string]any{name: entry}})
}
