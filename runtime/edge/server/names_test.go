package server

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"

	"hatchel/adapters/all"
	"hatchel/runtime"
	"hatchel/runtime/observe/logging"
)

const (
	namedKey   = "key-of-ann-0123456789"
	namedTools = `
telemetry {
  metrics {}
}
events {}
console {}
files {}
tool "greet" {
  description = "Greet."
  text        = "Hello"
}
tool "grieve" {
  description = "Grieve."
  text        = "Alas"
}
`
)

// namedAuth lets ann in, with a key or with a token of an issuer that is not asked.
var namedAuth = fmt.Sprintf(`
auth {
  api_key "ann" {
    sha256 = "%x"
    groups = ["admin"]
  }
  jwt {
    issuer   = "https://id.example"
    audience = "tools"
    jwks     = "https://id.example/keys"
  }
}
`, sha256.Sum256([]byte(namedKey)))

// namedServer is a server whose requests arrive at an address.
type namedServer struct {
	t  *testing.T
	at net.Addr
	*Server
}

var (
	atLoopback = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8080}
	atNetwork  = &net.TCPAddr{IP: net.IPv4(192, 0, 2, 7), Port: 8080}
)

func serveNamed(t *testing.T, at net.Addr, config string) *namedServer {
	t.Helper()
	host := runtime.NewHost(t.Context(), runtime.HostOptions{
		Build: runtime.Build{
			Set: all.Set(), Dir: t.TempDir(), AuditLogs: new(runtime.AuditLogs), Console: new(runtime.Console), SignIn: true,
		},
	})
	t.Cleanup(host.Close)
	s := &namedServer{t, at, New(Options{
		Host: host, Reloader: &Reloader{Host: host, Log: slog.New(slog.DiscardHandler)},
		Log: logging.New(t.Output(), logging.Text, slog.LevelError),
	})}
	s.load(config)
	return s
}

func (s *namedServer) load(config string) {
	s.t.Helper()
	if diags := s.Host.Load(s.t.Context(), fstest.MapFS{"a.hcl": {Data: []byte(config)}}); diags.HasErrors() {
		var text strings.Builder
		diags.Print(&text, map[string][]byte{"a.hcl": []byte(config)})
		s.t.Fatal(text.String())
	}
}

// ask sends a request with headers, of which Host is one. Events end at once.
func (s *namedServer) ask(handler http.HandlerFunc, method, path string, headers ...string) *httptest.ResponseRecorder {
	s.t.Helper()
	ctx, cancel := context.WithCancel(context.WithValue(s.t.Context(), http.LocalAddrContextKey, s.at))
	if path == "/events" {
		cancel()
	}
	defer cancel()
	r := httptest.NewRequestWithContext(ctx, method, path, nil)
	r.Host, r.RemoteAddr = "localhost:8080", "127.0.0.1:4711"
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
			continue
		}
		r.Header.Add(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	handler(w, r)
	return w
}

// endpoints are all paths that a server serves, by method.
var endpoints = [][2]string{
	{"POST", "/mcp"}, {"GET", "/mcp"}, {"POST", "/mcp/"}, {"POST", "/mcp/none"}, {"OPTIONS", "/mcp"},
	{"GET", "/healthz"}, {"GET", "/readyz"}, {"GET", "/events"}, {"GET", "/metrics"}, {"POST", "/files"},
	{"GET", "/files/x?signature=y"}, {"GET", "/approvals"}, {"POST", "/admin/reload"}, {"GET", "/admin/log"},
	{"GET", "/admin/lock"}, {"GET", "/.well-known/oauth-protected-resource"}, {"GET", "/console"},
	{"GET", "/console/"}, {"GET", "/console/sign-in"}, {"POST", "/console/ticket"}, {"GET", "/"}, {"GET", "/none"},
}

// listeners are the handlers of all addresses that a server has.
func (s *namedServer) listeners() map[string]http.HandlerFunc {
	return map[string]http.HandlerFunc{"the server": s.ServeHTTP, "metrics": s.serveScrapes, "the console": s.serveConsoleListener}
}

func TestAHostThatIsNoneOfTheServerIsRefusedOnEveryEndpoint(t *testing.T) {
	const named = "server { hosts = [\"tools.example\", \"192.0.2.8\"] }\n"
	malformed := []string{"127.0.0.1:8080.evil.example", "localhost:8080:80", "", "[::1", "::1", "localhost:http", "me@localhost", "tools.example:"}
	foreign := []string{"evil.example", "evil.example:8080", "localhost.evil.example", "tools.example.evil.example", "sub.tools.example"}
	for _, c := range []struct {
		name, config string
		at           net.Addr
		hosts        []string
	}{
		{"on this machine", namedTools, atLoopback, append(foreign, "tools.example", "192.0.2.7", "0.0.0.0", "[::]:8080")},
		{"on this machine, with auth", namedAuth + namedTools, atLoopback, append(foreign, "tools.example")},
		{"on this machine, with names", named + namedTools, atLoopback, append(foreign, "192.0.2.7")},
		{"on the network, with names", named + namedAuth + namedTools, atNetwork, foreign},
		{"on the network", namedAuth + namedTools, atNetwork, nil},
	} {
		s := serveNamed(t, c.at, c.config)
		for listener, handler := range s.listeners() {
			for _, e := range endpoints {
				for i, host := range append(malformed, c.hosts...) {
					got := s.ask(handler, e[0], e[1], "Host", host, "Authorization", "Bearer "+namedKey)
					if got.Code != http.StatusForbidden || strings.Contains(got.Body.String(), "revision") {
						t.Errorf("%s, %s: %s for %q: %d %s", c.name, listener, e, host, got.Code, got.Body)
					}
					name, _, _ := strings.Cut(host, ":")
					fix := fmt.Sprintf("hosts = [%q]", name)
					if names := strings.Contains(strings.ReplaceAll(got.Body.String(), `\"`, `"`), fix); i >= len(malformed) && host != "[::]:8080" && !names {
						t.Errorf("%s, %s: the answer to %s for %q does not say how to allow it: %s", c.name, listener, e, host, got.Body)
					}
				}
			}
		}
	}
}

func TestAServerAnswersUnderItsNames(t *testing.T) {
	const named = "server { hosts = [\"tools.example\", \"host.docker.internal\", \"2001:db8::1\"] }\n"
	local := []string{"localhost", "LOCALHOST:8080", "127.0.0.1:1", "127.0.0.2", "[::1]:8080", "localhost."}
	own := []string{"tools.example", "Tools.Example:8443", "tools.example.", "host.docker.internal:8080", "[2001:DB8:0::1]"}
	addresses := []string{"192.0.2.7:8080", "[2001:db8::2]"}
	for _, c := range []struct {
		name, config string
		at           net.Addr
		hosts        [][]string
	}{
		{"on this machine", "", atLoopback, [][]string{local}},
		{"on this machine, with names", named, atLoopback, [][]string{local, own}},
		{"on the network", "", atNetwork, [][]string{local, own, addresses, {"any.example"}}},
		{"on the network, with names", named, atNetwork, [][]string{local, own, addresses}},
	} {
		s := serveNamed(t, c.at, c.config+namedAuth+namedTools)
		for _, hosts := range c.hosts {
			for _, host := range hosts {
				for _, e := range endpoints {
					if got := s.ask(s.ServeHTTP, e[0], e[1], "Host", host); got.Code == http.StatusForbidden && !strings.Contains(e[1], "signature") {
						t.Errorf("%s: %s for %q: %d %s", c.name, e, host, got.Code, got.Body)
					}
				}
			}
		}
	}
}

func TestAReloadChangesTheNamesOfTheServer(t *testing.T) {
	s := serveNamed(t, atLoopback, namedTools)
	for _, c := range []struct {
		config string
		want   int
	}{
		{namedTools, 403},
		{"server { hosts = [\"tools.example\"] }\n" + namedTools, 200},
		{"server { hosts = [\"other.example\"] }\n" + namedTools, 403},
	} {
		s.load(c.config)
		if got := s.ask(s.ServeHTTP, "GET", "/healthz", "Host", "tools.example"); got.Code != c.want {
			t.Errorf("%d %s, not %d", got.Code, got.Body, c.want)
		}
	}
}

// A name of the server does not make a request one of this machine.
func TestOperatorsWithoutAuthenticationUseTheNamesOfThisMachine(t *testing.T) {
	s := serveNamed(t, atLoopback, "server { hosts = [\"tools.example\"] }\n"+namedTools)
	for _, c := range []struct {
		headers []string
		want    int
	}{
		{[]string{"Host", "localhost:8080"}, 200},
		{[]string{"Host", "tools.example"}, 403},
		{[]string{"Host", "localhost:8080", "X-Forwarded-For", "127.0.0.1"}, 403},
		{[]string{"Host", "localhost:8080", "X-Forwarded-Host", "tools.example"}, 403},
		{[]string{"Host", "localhost:8080", "X-Forwarded-Proto", "https"}, 403},
	} {
		for _, path := range []string{"/admin/lock", "/metrics"} {
			if got := s.ask(s.ServeHTTP, "GET", path, c.headers...); path == "/admin/lock" && got.Code != c.want || got.Code == 200 && c.want == 403 {
				t.Errorf("%s with %q: %d %s", path, c.headers, got.Code, got.Body)
			}
		}
		if got := s.ask(s.ServeHTTP, "GET", "/readyz", c.headers...); strings.Contains(got.Body.String(), "revision") != (c.want == 200) {
			t.Errorf("/readyz with %q: %s", c.headers, got.Body)
		}
	}
}

func TestPagesUseTheServerFromItsNamesAndFromListedOrigins(t *testing.T) {
	const config = `server {
  hosts = ["tools.example"]
  cors { origins = ["https://inspector.example", "http://localhost:6274"] }
}
` + namedTools
	s := serveNamed(t, atLoopback, config)
	for _, c := range []struct {
		host, origin string
		mcp, events  bool   // allowed
		fix          string // that the refusal at /mcp has
	}{
		{"tools.example", "https://tools.example", true, true, ""},
		{"tools.example", "https://tools.example:8443", true, true, ""},
		{"localhost:8080", "https://tools.example", true, true, ""}, // the proxy has replaced Host
		{"localhost:8080", "http://localhost:8080", true, true, ""},
		{"localhost:8080", "http://127.0.0.1:3000", true, true, ""},
		{"localhost:8080", "https://inspector.example", true, false, ""},
		{"tools.example", "https://inspector.example", true, false, ""},
		{"tools.example", "http://localhost:6274", true, false, ""},
		{"tools.example", "http://localhost:3000", false, false, `cors { origins = ["http://localhost:3000"] }`},
		{"localhost:8080", "https://inspector.example:444", false, false, `cors { origins = ["https://inspector.example:444"] }`},
		{"localhost:8080", "https://evil.example", false, false, `hosts = ["evil.example"]`},
		{"localhost:8080", "http://inspector.example", false, false, `hosts = ["inspector.example"]`},
		{"localhost:8080", "https://inspector.example.evil.example", false, false, "hosts"},
		{"localhost:8080", "null", false, false, "none whose pages"},
		{"localhost:8080", "https://me@tools.example", false, false, "none whose pages"},
		{"localhost:8080", "https://tools.example:x", false, false, "none whose pages"},
		{"localhost:8080", "ftp://tools.example", false, false, "none whose pages"},
		{"localhost:8080", "https://\u202etools.example", false, false, "none whose pages"},
	} {
		for path, want := range map[string]bool{"/mcp": c.mcp, "/events": c.events} {
			method := map[string]string{"/mcp": "POST", "/events": "GET"}[path]
			got := s.ask(s.ServeHTTP, method, path, "Host", c.host, "Origin", c.origin, "X-Forwarded-Host", "evil.example")
			body := got.Body.String()
			if strings.Contains(body, "Origin") == want || path == "/mcp" && !strings.Contains(body, c.fix) {
				t.Errorf("%s for %s from %s: %d %s", path, c.host, c.origin, got.Code, body)
			}
		}
	}
}

func TestBrowsersAskBeforePagesOfOtherOriginsUseTheServer(t *testing.T) {
	const config = `server {
  hosts = ["tools.example"]
  cors { origins = ["https://inspector.example"] }
}
` + namedTools
	s := serveNamed(t, atLoopback, config+namedAuth)
	ask := func(path, origin, host string) *httptest.ResponseRecorder {
		return s.ask(s.ServeHTTP, "OPTIONS", path, "Host", host, "Origin", origin, "Access-Control-Request-Method", "POST",
			"Access-Control-Request-Headers", "authorization,content-type,mcp-protocol-version, MCP-Param-Order,mcp-x y,cookie")
	}
	for _, path := range []string{"/mcp", "/mcp/", "/mcp/any", "/.well-known/oauth-protected-resource/mcp"} {
		got := ask(path, "https://inspector.example", "tools.example")
		for name, want := range map[string]string{
			"Access-Control-Allow-Origin":      "https://inspector.example",
			"Access-Control-Allow-Methods":     "GET, POST, DELETE",
			"Access-Control-Allow-Headers":     "accept, authorization, content-type, last-event-id, x-api-key, mcp-protocol-version, mcp-param-order",
			"Access-Control-Expose-Headers":    "Mcp-Session-Id, WWW-Authenticate, Retry-After",
			"Access-Control-Max-Age":           "600",
			"Access-Control-Allow-Credentials": "",
			"Vary":                             "Origin",
		} {
			if value := got.Header().Get(name); value != want || got.Code != http.StatusNoContent {
				t.Errorf("%s: %d, %s is %q, not %q", path, got.Code, name, value, want)
			}
		}
	}
	for _, refused := range [][3]string{
		{"/mcp", "https://evil.example", "tools.example"}, {"/mcp", "null", "tools.example"},
		{"/mcp", "https://inspector.example", "evil.example"}, {"/events", "https://inspector.example", "tools.example"},
		{"/console/", "https://inspector.example", "tools.example"}, {"/files", "https://inspector.example", "tools.example"},
		{"/approvals", "https://inspector.example", "tools.example"}, {"/mcp", "https://tools.example", "tools.example"},
	} {
		got := ask(refused[0], refused[1], refused[2])
		if got.Code == http.StatusNoContent || got.Header().Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%q: %d %v", refused, got.Code, got.Header())
		}
	}
	// A page reads why it is refused, too.
	got := s.ask(s.ServeHTTP, "POST", "/mcp", "Origin", "https://inspector.example")
	if got.Code != http.StatusUnauthorized || got.Header().Get("Access-Control-Allow-Origin") != "https://inspector.example" ||
		got.Header().Get("WWW-Authenticate") == "" {
		t.Errorf("%d %v", got.Code, got.Header())
	}
	s.load(namedTools)
	if got := ask("/mcp", "https://inspector.example", "localhost"); got.Code == http.StatusNoContent || got.Header().Get("Vary") != "" {
		t.Errorf("without the block: %d %v", got.Code, got.Header())
	}
}

func TestMetadataNamesTheAddressThatTheClientHasUsed(t *testing.T) {
	s := serveNamed(t, atLoopback, "server { hosts = [\"tools.example\"] }\n"+namedAuth+namedTools)
	for want, headers := range map[string][]string{
		"http://localhost:8080/mcp":       nil,
		"http://tools.example/mcp":        {"Host", "tools.example"},
		"https://tools.example/mcp":       {"Host", "tools.example", "X-Forwarded-Proto", "https"},
		"https://tools.example:8443/mcp":  {"X-Forwarded-Host", "tools.example:8443", "X-Forwarded-Proto", "https, http"},
		"https://localhost:8080/mcp":      {"X-Forwarded-Host", "evil.example", "Forwarded", `for=192.0.2.1;host="evil.example";proto=https`},
		"https://tools.example:18443/mcp": {"Host", "tools.example:18443", "X-Forwarded-Host", "localhost", "X-Forwarded-Proto", "https"},
	} {
		got := s.ask(s.ServeHTTP, "GET", "/.well-known/oauth-protected-resource", headers...)
		if !strings.Contains(got.Body.String(), `"resource":"`+want+`"`) {
			t.Errorf("%q: %s", headers, got.Body)
		}
	}
}

// A compressed body would be stored as it is, under the Content-Type of its content.
func TestACompressedBodyIsRefusedWhereItIsNotDecompressed(t *testing.T) {
	s := serveNamed(t, atLoopback, namedTools)
	for _, path := range []string{"/files", "/files/uploads", "/files/uploads/file_x?signature=y", "/approvals/x/approve"} {
		for encoding, refused := range map[string]bool{"gzip": true, "br": true, "gzip, identity": true, "Identity": false, "": false} {
			w := s.ask(s.ServeHTTP, "POST", path, "Content-Type", "text/csv", "Content-Encoding", encoding)
			if got := w.Code == http.StatusUnsupportedMediaType && w.Header().Get("Accept-Encoding") == "identity"; got != refused {
				t.Errorf("POST %s with %q: got %d %v %s", path, encoding, w.Code, w.Header(), w.Body)
			}
		}
	}
}
