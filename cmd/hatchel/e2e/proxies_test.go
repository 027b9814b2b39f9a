package e2e_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"hatchel/internal/programtest"
	"hatchel/runtime/edge/auth/issuertest"
)

// proxiedConfig is served under the name tools.example. $PROXY is the address of the proxy.
const proxiedConfig = `
server {
  hosts = ["tools.example"]
  trusted_proxies {
    addresses = ["$PROXY"]
    header    = "x-forwarded-for"
  }
}
auth {
  api_key "ops" {
    sha256 = "$OPS"
    groups = ["admin"]
  }
}
audit { file = "audit.jsonl" }
telemetry {
  metrics {}
}
events {}
console { try = "call" }
tool "plain" {
  description = "Answer."
  text        = "plain"
}
`

// otherAddress returns an address of this machine that others can reach, or at least another one.
func otherAddress(t *testing.T) string {
	t.Helper()
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addresses {
		if ip, _, err := net.ParseCIDR(a.String()); err == nil && ip.To4() != nil && ip.IsGlobalUnicast() {
			return ip.String()
		}
	}
	return "127.0.0.2"
}

// A server with a name is used through nginx and Caddy as docs/running.md configures them, and through a proxy that
// sends what Traefik sends.
func TestEverythingWorksBehindAProxy(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	authority := issuertest.NewAuthority(t, "ours")
	authority.Issue(dir, "server", &x509.Certificate{DNSNames: []string{"tools.example"}})
	cert, key := filepath.Join(dir, "server.pem"), filepath.Join(dir, "server.key")
	listen := []string{"listen 8080;", "listen 8080 ssl;\n  ssl_certificate " + cert + ";\n  ssl_certificate_key " + key + ";"}
	block := []string{"lb_policy round_robin", "lb_policy round_robin"}
	site := []string{"\treverse_proxy", "\ttls " + cert + " " + key + "\n\treverse_proxy"}
	proxies := map[string]func(*testing.T, *replica) string{
		"nginx": func(t *testing.T, r *replica) string { return startNginx(t, []*replica{r, r, r}, listen...) },
		"Caddy": func(t *testing.T, r *replica) string {
			return startCaddy(t, []*replica{r, r, r}, append(site, block...)...)
		},
		"as Traefik": func(t *testing.T, r *replica) string { return startForwarder(t, r, cert, key, true) },
		"nginx, Host replaced": func(t *testing.T, r *replica) string {
			return startNginx(t, []*replica{r, r, r}, append(listen, "Host $http_host;", "Host "+r.address()+";")...)
		},
		"Caddy, Host replaced": func(t *testing.T, r *replica) string {
			change := []string{"lb_policy round_robin", "lb_policy round_robin\n\t\theader_up Host " + r.address()}
			return startCaddy(t, []*replica{r, r, r}, append(site, change...)...)
		},
		"as Traefik, Host replaced": func(t *testing.T, r *replica) string { return startForwarder(t, r, cert, key, false) },
	}
	roots := x509.NewCertPool()
	roots.AddCert(authority.Certificate)
	for where, at := range map[string]string{"this machine": "127.0.0.1", "another address": otherAddress(t)} {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			r, folder := startConfig(t, strings.ReplaceAll(proxiedConfig, "$PROXY", at), "--listen", at+":0")
			for name, start := range proxies {
				t.Run(name, func(t *testing.T) {
					p := newProxied(t, start(t, r), roots, 3)
					p.checkMCP(folder)
					p.checkConsole()
					p.checkPages(strings.Contains(name, "replaced") && strings.HasPrefix(name, "nginx"))
					p.checkRefusals(!strings.Contains(name, "replaced") && !strings.HasPrefix(name, "Caddy"))
				})
			}
			checkLockout(t, startForwarder(t, r, cert, key, true), roots)
			log, err := os.ReadFile(filepath.Join(folder, "audit.jsonl"))
			if err != nil || !strings.Contains(string(log), `"remote":"127.0.0.3"`) ||
				strings.Contains(string(log), `"remote":"192.0.2.66"`) {
				t.Errorf("%v: the audit log does not have the address of the client:\n%s", err, log)
			}
		})
	}
}

// startForwarder starts a reverse proxy that sets the headers of Traefik and keeps or replaces Host.
func startForwarder(t *testing.T, r *replica, cert, key string, keepsHost bool) string {
	t.Helper()
	target, err := url.Parse(r.url)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httptest.NewUnstartedServer(&httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) {
		p.SetURL(target)
		if keepsHost {
			p.Out.Host = p.In.Host
		}
		p.SetXForwarded()
		client, _, _ := net.SplitHostPort(p.In.RemoteAddr)
		_, port, _ := net.SplitHostPort(p.In.Host)
		p.Out.Header.Set("X-Real-Ip", client)
		p.Out.Header.Set("X-Forwarded-Port", port)
		p.Out.Header.Set("X-Forwarded-Server", "edge")
	}})
	proxy.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
	proxy.StartTLS()
	t.Cleanup(func() {
		proxy.CloseClientConnections()
		proxy.Close()
	})
	return proxy.URL
}

// checkLockout guesses keys from one address until no more are tried. Another one behind the same proxy signs in.
func checkLockout(t *testing.T, at string, roots *x509.CertPool) {
	t.Helper()
	signIn := func(p *proxied, key string) int {
		res, _ := p.do("POST", "/console/sign-in", url.Values{"key": {key}}.Encode(), p.form()...)
		return res.StatusCode
	}
	guesser, person := newProxied(t, at, roots, 4), newProxied(t, at, roots, 5)
	tries := 0
	for signIn(guesser, "wrong") == http.StatusUnauthorized {
		if tries++; tries > 100 {
			t.Fatal("guessing is not bounded")
		}
	}
	if tries < 10 {
		t.Errorf("only %d keys were tried", tries)
	}
	if status := signIn(person, apiKeyOf("ops")); status != http.StatusSeeOther {
		t.Errorf("the key of another address: %d", status)
	}
}

// proxied is a client on 127.0.0.0/8 of tools.example, which is a proxy.
type proxied struct {
	t      *testing.T
	url    string
	client *http.Client
}

func newProxied(t *testing.T, at string, roots *x509.CertPool, from byte) *proxied {
	t.Helper()
	_, address, _ := strings.Cut(at, "://")
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, from)}}
	transport := &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: "tools.example"},
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, "tcp", address)
		},
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &proxied{t: t, url: "https://tools.example:" + port, client: &http.Client{
		Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// open sends a request, whose response is read by the caller. The headers are pairs.
func (p *proxied) open(method, path, body string, headers ...string) *http.Response {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), programtest.Timeout)
	p.t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, method, p.url+path, strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	r.Header.Set("X-Forwarded-For", "192.0.2.66") // which nobody believes
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	if host := r.Header.Get("Host"); host != "" {
		r.Host = host
	}
	res, err := p.client.Do(r)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { res.Body.Close() })
	return res
}

func (p *proxied) do(method, path, body string, headers ...string) (*http.Response, string) {
	p.t.Helper()
	res := p.open(method, path, body, headers...)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return res, string(text)
}

// follow returns what waits for a line with a text in an event stream, which has begun.
func (p *proxied) follow(path string, headers ...string) (awaitLine func(text string)) {
	p.t.Helper()
	res := p.open(http.MethodGet, path, "", append(headers, "Accept", "text/event-stream")...)
	if res.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(res.Body)
		p.t.Fatalf("%s: %s %s", path, res.Status, text)
	}
	lines := bufio.NewScanner(res.Body)
	return func(text string) {
		p.t.Helper()
		for lines.Scan() {
			if strings.Contains(lines.Text(), text) {
				return
			}
		}
		p.t.Fatalf("the stream %s has no %q: %v", path, text, lines.Err())
	}
}

// form are the headers of a form of the console.
func (p *proxied) form() []string {
	return []string{"Content-Type", "application/x-www-form-urlencoded", "Origin", p.url, "Sec-Fetch-Site", "same-origin"}
}

func (p *proxied) bearer() []string { return []string{"Authorization", "Bearer " + apiKeyOf("ops")} }

// post sends a message of MCP.
func (p *proxied) post(method, params string, headers ...string) (*http.Response, string) {
	p.t.Helper()
	id := `"id":1,`
	if strings.HasPrefix(method, "notifications/") {
		id = ""
	}
	headers = append(append(p.bearer(), "Content-Type", "application/json", "Accept", "application/json, text/event-stream"), headers...)
	return p.do(http.MethodPost, "/mcp/", fmt.Sprintf(`{"jsonrpc":"2.0",%s"method":%q,"params":%s}`, id, method, params), headers...)
}

// call calls the tool.
func (p *proxied) call() {
	p.t.Helper()
	const params = `{"name":"plain","arguments":{},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
		`"io.modelcontextprotocol/clientCapabilities":{}}}`
	res, text := p.post("tools/call", params, "MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "plain")
	if !strings.Contains(text, `"text":"plain"`) {
		p.t.Fatalf("%s %s", res.Status, text)
	}
}

// checkMCP begins a session, whose stream has what changes while it is open.
func (p *proxied) checkMCP(folder string) {
	p.t.Helper()
	p.call()
	res, text := p.post("initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}`)
	session := []string{"Mcp-Session-Id", res.Header.Get("Mcp-Session-Id"), "MCP-Protocol-Version", "2025-11-25"}
	if session[1] == "" {
		p.t.Fatalf("%s %s", res.Status, text)
	}
	if res, text := p.post("notifications/initialized", `{}`, session...); res.StatusCode != http.StatusAccepted {
		p.t.Fatalf("%s %s", res.Status, text)
	}
	awaitLine := p.follow("/mcp", append(session, p.bearer()...)...)
	name := filepath.Join(folder, "more.hcl")
	if err := os.WriteFile(name, []byte("tool \"more\" {\n  description = \"More.\"\n  text = \"more\"\n}\n"), 0o644); err != nil {
		p.t.Fatal(err)
	}
	awaitLine("notifications/tools/list_changed")
	if err := os.Remove(name); err != nil {
		p.t.Fatal(err)
	}
	awaitLine("notifications/tools/list_changed")
	if res, _ := p.do(http.MethodDelete, "/mcp", "", append(session, p.bearer()...)...); res.StatusCode != http.StatusNoContent {
		p.t.Errorf("the end of the session: %s", res.Status)
	}
}

var formToken = regexp.MustCompile(`action="([^"]+)"[^>]*>\s*<input type="hidden" name="token" value="([^"]+)"`)

// checkConsole signs in, follows calls, and signs out.
func (p *proxied) checkConsole() {
	p.t.Helper()
	form := p.form()
	if res, text := p.do("GET", "/console", ""); res.StatusCode != http.StatusSeeOther || res.Header.Get("Location") != "/console/" {
		p.t.Fatalf("%s %s", res.Status, text)
	}
	if res, text := p.do("POST", "/console/sign-in", "key=wrong", form...); res.StatusCode != http.StatusUnauthorized {
		p.t.Fatalf("a wrong key: %s %s", res.Status, text)
	}
	res, text := p.do("POST", "/console/sign-in", url.Values{"key": {apiKeyOf("ops")}}.Encode(), form...)
	cookies := res.Cookies()
	if res.StatusCode != http.StatusSeeOther || len(cookies) != 1 {
		p.t.Fatalf("signing in: %s %s", res.Status, text)
	}
	if c := cookies[0]; !c.Secure || !c.HttpOnly || !strings.HasPrefix(c.Name, "__Host-") || c.Domain != "" || c.Path != "/" {
		p.t.Errorf("the cookie is %s", res.Header.Get("Set-Cookie"))
	}
	signedIn := []string{"Cookie", cookies[0].Name + "=" + cookies[0].Value}
	awaitLine := p.follow("/console/events", signedIn...)
	p.call()
	awaitLine(`"plain"`)
	res, text = p.do("GET", "/console/tools/plain", "", signedIn...)
	if res.StatusCode != http.StatusOK {
		p.t.Fatalf("a page: %s %s", res.Status, text)
	}
	tokens := map[string]string{}
	for _, m := range formToken.FindAllStringSubmatch(text, -1) {
		tokens[m[1]] = m[2]
	}
	out := url.Values{"token": {tokens["/console/sign-out"]}}.Encode()
	for _, foreign := range [][]string{{"Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site"}, {"Origin", "https://evil.example", "Sec-Fetch-Site", ""}} {
		headers := append(append([]string{}, form[:2]...), append(foreign, signedIn...)...)
		if res, _ := p.do("POST", "/console/sign-out", out, headers...); res.StatusCode != http.StatusForbidden {
			p.t.Errorf("a form of another site: %s", res.Status)
		}
	}
	if res, text = p.do("POST", "/console/sign-out", out, append(form, signedIn...)...); res.StatusCode != http.StatusSeeOther {
		p.t.Errorf("signing out: %s %s", res.Status, text)
	}
}

// checkPages reads the events, the metrics and the page at /. A proxy that says nothing of the name that clients use
// has a page with another one.
func (p *proxied) checkPages(nameless bool) {
	p.t.Helper()
	awaitLine := p.follow("/events", p.bearer()...)
	p.call()
	awaitLine(`"tool":"plain"`)
	if res, text := p.do("GET", "/metrics", "", p.bearer()...); res.StatusCode != http.StatusOK || !strings.Contains(text, "hatchel_calls_total") {
		p.t.Errorf("the metrics: %s %s", res.Status, text)
	}
	res, text := p.do("GET", "/", "", "Accept", "text/html")
	if res.StatusCode != http.StatusOK || !nameless && !strings.Contains(text, ">"+p.url+"/mcp<") {
		p.t.Errorf("the first page: %s %s", res.Status, text)
	}
}

// checkRefusals sends what a page could send. A proxy that passes all names on leaves it to the server to refuse them.
func (p *proxied) checkRefusals(passesNames bool) {
	p.t.Helper()
	for path, want := range map[string]int{"/mcp": 401, "/events": 401, "/metrics": 401, "/approvals": 401} {
		if res, _ := p.do("GET", path, ""); res.StatusCode != want {
			p.t.Errorf("%s without a key: %s", path, res.Status)
		}
	}
	headers := append(p.bearer(), "Content-Type", "application/json", "Origin", "https://evil.example")
	if res, text := p.do("POST", "/mcp", "{}", headers...); res.StatusCode != 403 || !strings.Contains(text, `hosts = ["evil.example"]`) {
		p.t.Errorf("a foreign page: %s %s", res.Status, text)
	}
	if !passesNames {
		return
	}
	for _, path := range []string{"/", "/mcp", "/console/", "/events", "/metrics"} {
		res, text := p.do("GET", path, "", append(p.bearer(), "Host", "evil.example")...)
		if res.StatusCode != 403 || !strings.Contains(strings.ReplaceAll(text, `\"`, `"`), `hosts = ["evil.example"]`) {
			p.t.Errorf("%s under a foreign name: %s %s", path, res.Status, text)
		}
	}
}
