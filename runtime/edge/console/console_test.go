package console_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/net/html"

	"hatchel/adapters/all"
	"hatchel/hcl"
	"hatchel/runtime"
	"hatchel/runtime/durable/store"
	"hatchel/runtime/edge/console"
	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/edge/mcp/legacy"
	"hatchel/runtime/observe/metrics"
)

// site is a console that is served for a configuration, and the client of a browser.
type site struct {
	t         testing.TB
	host      *runtime.Host
	mcp       *mcp.Server
	web       *httptest.Server
	console   *console.Console
	refused   []string      // reasons of the requests that were not authorized
	refusedOf *mcp.Identity // who has sent the last one
	local     bool
	reload    func(context.Context) error
	dir       string
	endpoint  *console.Endpoint // how clients reach every tool
}

// newSite serves the console of a configuration.
func newSite(t testing.TB, config string) *site {
	t.Helper()
	return newSiteWith(t, config, nil)
}

// newSiteWith is newSite with a state, which belongs to the caller; nil for one that ends with the process.
func newSiteWith(t testing.TB, config string, state *store.State) *site {
	t.Helper()
	return newSiteOf(t, config, state, new(runtime.Console))
}

// newSiteOf is newSiteWith for a process that serves the console like this.
func newSiteOf(t testing.TB, config string, state *store.State, at *runtime.Console) *site {
	t.Helper()
	s := &site{t: t, local: true, dir: t.TempDir()}
	s.endpoint = &console.Endpoint{URL: "https://tools.example/mcp", Entry: "{}", Credential: console.Key}
	s.host = runtime.NewHost(t.Context(), runtime.HostOptions{
		Build: runtime.Build{
			Set: all.Set(), Dir: s.dir, Console: at, Metrics: new(metrics.Exporter),
			AuditLogs: new(runtime.AuditLogs), SignIn: true, State: state,
		},
	})
	t.Cleanup(s.host.Close)
	s.load(config)
	s.mcp = mcp.New(s.host, mcp.Options{Legacy: legacy.New(legacy.Options{})})
	s.console = console.New(console.Options{
		Host: s.host, Server: s.mcp, Log: slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn})),
		Remote:   func(r *http.Request) string { return r.RemoteAddr },
		IsLocal:  func(*http.Request) bool { return s.local },
		Reload:   func(ctx context.Context) error { return s.reload(ctx) },
		Endpoint: func(*http.Request, *hcl.Tool) *console.Endpoint { return s.endpoint },
		Refused: func(r *http.Request, _ int, reason string) {
			s.refused = append(s.refused, reason)
			s.refusedOf = mcp.IdentityOf(r.Context())
		},
	})
	s.web = httptest.NewServer(s.console)
	t.Cleanup(s.web.Close)
	return s
}

func (s *site) port() string { return s.web.URL[strings.LastIndexByte(s.web.URL, ':')+1:] }

func (s *site) load(config string) {
	s.t.Helper()
	if diags := s.host.Load(s.t.Context(), fstest.MapFS{"a.hcl": {Data: []byte(config)}}); diags.HasErrors() {
		var text strings.Builder
		diags.Print(&text, map[string][]byte{"a.hcl": []byte(config)})
		s.t.Fatal(text.String())
	}
}

// visitor is a browser.
type visitor struct {
	*site
	client *http.Client
	header http.Header
}

func (s *site) visit() *visitor {
	jar, err := cookiejar.New(nil)
	if err != nil {
		s.t.Fatal(err)
	}
	return &visitor{site: s, header: http.Header{}, client: &http.Client{
		Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// signedIn returns a browser that has signed in with the key of a name.
func (s *site) signedIn(name string) *visitor {
	s.t.Helper()
	v := s.visit()
	if got := v.post("/console/sign-in", url.Values{"key": {keyOf(name)}}); got.status != http.StatusSeeOther {
		s.t.Fatalf("signing in as %s: %d: %s", name, got.status, got.text())
	}
	return v
}

// withTicket returns a browser that has signed in with a ticket of this machine.
func (s *site) withTicket() *visitor {
	s.t.Helper()
	v := s.visit()
	if got := v.get(s.ticket("")); got.status != http.StatusSeeOther {
		s.t.Fatalf("signing in with a ticket: %d: %s", got.status, got.text())
	}
	return v
}

var ticketPath = regexp.MustCompile(`"path":"([^"]+)"`)

// ticket returns the address of a new ticket.
func (s *site) ticket(key string) string {
	s.t.Helper()
	v := s.visit()
	if key != "" {
		v.header.Set("Authorization", "Bearer "+key)
	}
	found := ticketPath.FindStringSubmatch(v.post("/console/ticket", nil).body)
	if found == nil {
		s.t.Fatal("no ticket")
	}
	return found[1]
}

// reply is a response that was read.
type reply struct {
	status int
	header http.Header
	body   string
	page   *html.Node
}

func (v *visitor) get(path string) *reply { return v.do(http.MethodGet, path, nil) }

func (v *visitor) post(path string, form url.Values) *reply { return v.do(http.MethodPost, path, form) }

func (v *visitor) do(method, path string, form url.Values) *reply {
	v.t.Helper()
	mediaType := ""
	if form != nil {
		mediaType = "application/x-www-form-urlencoded"
	}
	return v.send(method, path, mediaType, strings.NewReader(form.Encode()))
}

func (v *visitor) send(method, path, mediaType string, body io.Reader) *reply {
	v.t.Helper()
	r, err := http.NewRequestWithContext(v.t.Context(), method, v.web.URL+path, body)
	if err != nil {
		v.t.Fatal(err)
	}
	r.Header = v.header.Clone()
	if mediaType != "" {
		r.Header.Set("Content-Type", mediaType)
	}
	if host := r.Header.Get("Host"); host != "" {
		r.Host = host
	}
	res, err := v.client.Do(r)
	if err != nil {
		v.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		v.t.Fatal(err)
	}
	out := &reply{status: res.StatusCode, header: res.Header, body: string(text)}
	if strings.HasPrefix(res.Header.Get("Content-Type"), "text/html") {
		if out.page, err = html.Parse(strings.NewReader(out.body)); err != nil {
			v.t.Fatal(err)
		}
	}
	return out
}

// find returns the element with an id.
func (r *reply) find(id string) *html.Node {
	if r.page == nil {
		return nil
	}
	for n := range r.page.Descendants() {
		if attr(n, "id") == id {
			return n
		}
	}
	return nil
}

func attr(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func textOf(n *html.Node) string {
	if n == nil {
		return ""
	}
	var out strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			out.WriteString(d.Data)
		}
	}
	return out.String()
}

func (r *reply) text() string {
	if r.page == nil {
		return r.body
	}
	return textOf(r.page)
}

// token returns the token of the form that posts to a path.
func (r *reply) token(path string) string {
	for n := range r.page.Descendants() {
		if action, _, _ := strings.Cut(attr(n, "action"), "#"); n.Data != "form" || action != path {
			continue
		}
		for in := range n.Descendants() {
			if attr(in, "name") == "token" {
				return attr(in, "value")
			}
		}
	}
	return ""
}

func keyOf(name string) string { return "key-of-" + name }

// keysOf returns an auth block with a key for each name, whose groups follow a colon.
func keysOf(names ...string) string {
	var out strings.Builder
	out.WriteString("auth {\n")
	for _, n := range names {
		name, group, _ := strings.Cut(n, ":")
		sum := sha256.Sum256([]byte(keyOf(name)))
		fmt.Fprintf(&out, "api_key %q {\n sha256 = %q\n groups = [%q]\n}\n", name, hex.EncodeToString(sum[:]), group)
	}
	return out.String() + "}\n"
}

const oneTool = `
tool "refund" {
  title       = "Refund an order"
  description = "Pays an amount back."
  input "order" {
    type        = integer
    min         = 1
    description = "The number of the order."
  }
  limit { rate = "10/m" }
  allow = "caller.subject != 'mallory'"
  approval { when = "input.order > 100" }
  result = "{order: input.order}"
}
`

const people = "console { allow = \"'ops' in caller.groups\" }\n"

func TestAConsoleIsNotThereWithoutItsBlock(t *testing.T) {
	s := newSite(t, oneTool)
	for _, path := range []string{"/console", "/console/", "/console/tools", "/console/sign-in", "/console/assets/x/console.css"} {
		if got := s.visit().get(path); got.status != http.StatusNotFound {
			t.Errorf("%s: %d", path, got.status)
		}
	}
	if got := s.visit().post("/console/ticket", nil); got.status != http.StatusNotFound || !strings.Contains(got.body, "no console") {
		t.Errorf("a ticket: %d %s", got.status, got.body)
	}
}

func TestEachRouteAnswersEachIdentity(t *testing.T) {
	s := newSite(t, keysOf("vera:ops", "ada:admin", "bob:approvers")+people+oneTool)
	withoutRule := newSite(t, keysOf("vera:ops", "ada:admin", "bob:approvers")+"console {}\n"+oneTool)
	paths := []string{"/console/", "/console/tools", "/console/tools/refund", "/console/approvals", "/console/calls", "/console/audit", "/console/reload", "/console/policies", "/console/state"}
	for _, path := range paths {
		if got := s.visit().get(path); got.status != http.StatusSeeOther ||
			got.header.Get("Location") != "/console/sign-in?next="+url.QueryEscape(path) {
			t.Errorf("%s without a session: %d %s", path, got.status, got.header.Get("Location"))
		}
		wrong := s.visit()
		wrong.header.Set("Cookie", "hatchel-"+s.port()+"=AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")
		if got := wrong.get(path); got.status != http.StatusSeeOther {
			t.Errorf("%s with a forged session: %d", path, got.status)
		}
		for name, want := range map[string]int{"vera": 200, "ada": 403, "bob": 403} {
			if got := s.signedIn(name).get(path); got.status != want {
				t.Errorf("%s as %s: %d, not %d: %s", path, name, got.status, want, got.text())
			}
		}
		for name, want := range map[string]int{"vera": 403, "ada": 200, "bob": 403} {
			if got := withoutRule.signedIn(name).get(path); got.status != want {
				t.Errorf("%s without a rule as %s: %d, not %d: %s", path, name, got.status, want, got.text())
			}
		}
	}
	if s.refusedOf == nil || s.refusedOf.Subject == "vera" {
		t.Errorf("a request is refused of %v", s.refusedOf)
	}
	if got := s.signedIn("vera").get("/console/tools/none"); got.status != http.StatusNotFound {
		t.Errorf("a tool that is not there: %d", got.status)
	}
}

func TestASessionEndsWithItsKeyItsFormAndItsReload(t *testing.T) {
	s := newSite(t, keysOf("vera:ops")+people+oneTool)
	v, copied := s.signedIn("vera"), s.visit()
	overview := v.get("/console/")
	at, _ := url.Parse(s.web.URL)
	copied.client.Jar.SetCookies(at, v.client.Jar.Cookies(at))
	if got := copied.get("/console/"); got.status != http.StatusOK {
		t.Errorf("a copy of the cookie: %d", got.status)
	}
	if got := v.post("/console/sign-out", url.Values{"token": {overview.token("/console/sign-out")}}); got.status != http.StatusSeeOther {
		t.Errorf("signing out: %d: %s", got.status, got.text())
	}
	if got := v.get("/console/"); got.status != http.StatusSeeOther {
		t.Errorf("after signing out: %d", got.status)
	}
	if got := copied.get("/console/"); got.status != http.StatusSeeOther {
		t.Errorf("a copy of the cookie after signing out: %d", got.status)
	}
	v = s.signedIn("vera")
	s.load(keysOf("vera:other") + people + oneTool)
	if got := v.get("/console/"); got.status != http.StatusSeeOther {
		t.Errorf("after the groups of the key have changed: %d", got.status)
	}
}

func TestServersOnOneHostKeepTheirSessionsApart(t *testing.T) {
	s, other := newSite(t, keysOf("vera:ops")+people+oneTool), newSite(t, keysOf("vera:ops")+people+oneTool)
	v := s.signedIn("vera")
	there := &visitor{site: other, header: http.Header{}, client: v.client}
	if got := there.post("/console/sign-in", url.Values{"key": {keyOf("vera")}}); got.status != http.StatusSeeOther {
		t.Fatalf("%d: %s", got.status, got.text())
	}
	for _, v := range []*visitor{v, there} {
		if got := v.get("/console/"); got.status != http.StatusOK {
			t.Errorf("%s: %d", v.web.URL, got.status)
		}
	}
}

func TestAPostNeedsTheTokenOfItsSessionAndPath(t *testing.T) {
	s := newSite(t, keysOf("vera:ops", "bob:ops")+people+oneTool)
	v, other := s.signedIn("vera"), s.signedIn("bob")
	right, foreign := v.get("/console/").token("/console/sign-out"), other.get("/console/").token("/console/sign-out")
	for _, token := range []string{"", "x", foreign, right + "x"} {
		if got := v.post("/console/sign-out", url.Values{"token": {token}}); got.status != http.StatusForbidden {
			t.Errorf("the token %q: %d", token, got.status)
		}
	}
	if right == foreign || right == "" {
		t.Error("sessions share a token")
	}
}

func TestRequestsOfOtherSitesAreRefused(t *testing.T) {
	s := newSite(t, keysOf("vera:ops")+people+oneTool)
	for _, c := range []struct {
		method, header, value string
		want                  int
	}{
		{"GET", "Host", "evil.example", 403},
		{"GET", "Host", "localhost", 303},
		{"POST", "Host", "evil.example:80", 403},
		{"POST", "Origin", "https://evil.example", 403},
		{"POST", "Origin", "null", 403},
		{"POST", "Origin", s.web.URL, 303},
		{"POST", "Sec-Fetch-Site", "cross-site", 403},
		{"POST", "Sec-Fetch-Site", "same-site", 403},
		{"POST", "Sec-Fetch-Site", "same-origin", 303},
		{"POST", "Sec-Fetch-Site", "none", 303},
	} {
		v := s.visit()
		v.header.Set(c.header, c.value)
		path, form := "/console/", url.Values(nil)
		if c.method == "POST" {
			path, form = "/console/sign-in", url.Values{"key": {keyOf("vera")}}
		}
		if got := v.do(c.method, path, form); got.status != c.want {
			t.Errorf("%s with %s %s: %d, not %d: %s", c.method, c.header, c.value, got.status, c.want, got.text())
		}
	}
	replaced := s.visit()
	replaced.header.Set("Origin", "http://tools.example")
	if got := replaced.post("/console/sign-in", url.Values{"key": {keyOf("vera")}}); got.status != 403 ||
		!strings.Contains(got.body, `"tools.example"`) || !strings.Contains(got.body, "must pass the Host header on") {
		t.Errorf("a proxy that replaces Host: %d %s", got.status, got.body)
	}
	linked := s.signedIn("vera")
	linked.client.Jar = nil
	linked.header.Set("Sec-Fetch-Site", "cross-site")
	if got := linked.get("/console/tools?q=a"); got.status != 200 || attr(got.find("continue"), "href") != "/console/tools?q=a" {
		t.Errorf("a link on another site: %d %s", got.status, got.body)
	}
}

func TestAPageLeadsOnlyToPagesOfTheConsole(t *testing.T) {
	s := newSite(t, keysOf("vera:ops")+people+oneTool)
	for next, want := range map[string]string{
		"/console/tools?q=a":         "/console/tools?q=a",
		"/console/tools/refund":      "/console/tools/refund",
		"":                           "/console/",
		"https://evil.example/":      "/console/",
		"//evil.example/console/":    "/console/",
		"/\\evil.example":            "/console/",
		"/console/../mcp":            "/console/",
		"/console/..%2fmcp":          "/console/",
		"/console//evil.example":     "/console/",
		"/mcp":                       "/console/",
		"/consoles":                  "/console/",
		"javascript:alert(1)":        "/console/",
		"/console/sign-in":           "/console/",
		"/console/ticket?ticket=abc": "/console/",
	} {
		got := s.visit().post("/console/sign-in", url.Values{"key": {keyOf("vera")}, "next": {next}})
		if location := got.header.Get("Location"); location != want {
			t.Errorf("%q leads to %q, not %q", next, location, want)
		}
	}
}

// tryKeys posts keys from an address, and returns how many were tried, which is written of each that was wrong.
func (s *site) tryKeys(address string, keys ...string) (tried int, last int) {
	s.t.Helper()
	before := len(s.refused)
	for _, key := range keys {
		r := httptest.NewRequestWithContext(s.t.Context(), http.MethodPost, "/console/sign-in", strings.NewReader(url.Values{"key": {key}}.Encode()))
		r.Host, r.RemoteAddr = "127.0.0.1:8080", address+":4711"
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		w := httptest.NewRecorder()
		s.console.ServeHTTP(w, r)
		last = w.Code
	}
	return len(s.refused) - before, last
}

func TestTenWrongKeysOfAnAddressDoNotLockOutARightOne(t *testing.T) {
	s := newSite(t, keysOf("vera:ops")+people+oneTool)
	if tried, _ := s.tryKeys("192.0.2.1", slices.Repeat([]string{"wrong"}, 10)...); tried != 10 {
		t.Errorf("%d keys were tried", tried)
	}
	for range 100 {
		if _, status := s.tryKeys("192.0.2.1", keyOf("vera")); status != http.StatusSeeOther {
			t.Fatalf("the right key: %d", status)
		}
	}
	if !strings.Contains(s.ticket(keyOf("vera")), "ticket=") {
		t.Error("no ticket")
	}
}

func TestGuessingOfKeysIsBounded(t *testing.T) {
	for _, c := range []struct{ addresses, keys, want int }{
		{1, 200, 55}, {10, 40, 100}, {100, 12, 550},
	} {
		s := newSite(t, keysOf("vera:ops")+people+oneTool)
		tried := 0
		for i := range c.addresses {
			n, status := s.tryKeys(fmt.Sprintf("10.%d.%d.1", i/250, i%250), slices.Repeat([]string{"wrong"}, c.keys)...)
			if tried += n; c.addresses == 1 && status != http.StatusTooManyRequests {
				t.Errorf("the last key of an address: %d", status)
			}
		}
		if tried != c.want {
			t.Errorf("%d keys of each of %d addresses: %d were tried, not %d", c.keys, c.addresses, tried, c.want)
		}
		if _, status := s.tryKeys("192.0.2.200", keyOf("vera")); status != http.StatusSeeOther {
			t.Errorf("the right key of another address: %d", status)
		}
	}
	if tried := console.CountAttempts(20_000, 20); tried > 50_050 {
		t.Errorf("20,000 addresses have tried %d keys in a minute", tried)
	}
}

func TestKeysAreRefusedFromPagesWithoutTLS(t *testing.T) {
	s := newSite(t, keysOf("vera:ops")+people+oneTool)
	for _, c := range []struct {
		headers []string
		want    int
		cookie  string
	}{
		{[]string{"Origin", s.web.URL}, 303, "hatchel-" + s.port()},
		{[]string{"Origin", s.web.URL, "X-Forwarded-Proto", "https"}, 303, "__Host-hatchel-" + s.port()},
		{[]string{"Origin", "http://tools.example", "Sec-Fetch-Site", "same-origin"}, 403, ""}, // a proxy has replaced Host
		{[]string{"Origin", "https://tools.example", "Sec-Fetch-Site", "same-origin"}, 303, "hatchel-" + s.port()},
	} {
		v := s.visit()
		for i := 0; i < len(c.headers); i += 2 {
			v.header.Set(c.headers[i], c.headers[i+1])
		}
		got := v.post("/console/sign-in", url.Values{"key": {keyOf("vera")}})
		name, _, _ := strings.Cut(got.header.Get("Set-Cookie"), "=")
		secure := strings.Contains(got.header.Get("Set-Cookie"), "; Secure")
		if got.status != c.want || name != c.cookie || secure != strings.HasPrefix(name, "__Host-") {
			t.Errorf("%q: %d, the cookie is %s", c.headers, got.status, got.header.Get("Set-Cookie"))
		}
	}
}

func TestATicketSignsInOnce(t *testing.T) {
	s := newSite(t, keysOf("vera:ops")+people+oneTool)
	ticket := s.ticket(keyOf("vera"))
	first := s.visit()
	if got := first.get(ticket); got.status != http.StatusSeeOther {
		t.Errorf("%d", got.status)
	}
	if got := first.get("/console/"); textOf(got.find("who")) != "vera" {
		t.Errorf("%d: signed in as %q", got.status, textOf(got.find("who")))
	}
	if got := s.visit().get(ticket); got.status != http.StatusForbidden {
		t.Errorf("the second time: %d", got.status)
	}
	if got := s.visit().get("/console/ticket?ticket=x"); got.status != http.StatusForbidden {
		t.Errorf("a forged ticket: %d", got.status)
	}
	if got := s.visit().post("/console/ticket", nil); got.status != http.StatusUnauthorized {
		t.Errorf("a ticket without a key: %d", got.status)
	}
}

func TestWithoutAuthenticationTheConsoleIsForThisMachine(t *testing.T) {
	s := newSite(t, "console {}\n"+oneTool)
	v := s.withTicket()
	if got := v.get("/console/tools/refund"); got.status != http.StatusOK {
		t.Errorf("%d: %s", got.status, got.text())
	}
	browser := s.visit()
	browser.header.Set("Sec-Fetch-Site", "same-origin")
	if got := browser.post("/console/ticket", nil); got.status != http.StatusForbidden {
		t.Errorf("a page asks for a ticket: %d", got.status)
	}
	if got := s.visit().post("/console/sign-in", url.Values{"key": {"x"}}); got.status != http.StatusForbidden {
		t.Errorf("a key: %d", got.status)
	}
	s.local = false
	if got := v.get("/console/"); got.status != http.StatusForbidden {
		t.Errorf("another machine: %d", got.status)
	}
	s.local = true
	s.load(keysOf("vera:ops") + people + oneTool)
	if got := v.get("/console/"); got.status != http.StatusSeeOther {
		t.Errorf("after auth was declared: %d", got.status)
	}
}

func TestPagesHaveTheHeadersThatKeepThemApart(t *testing.T) {
	s := newSite(t, keysOf("vera:ops")+people+oneTool)
	got := s.signedIn("vera").get("/console/")
	for name, want := range map[string]string{
		"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
			"connect-src 'self'; form-action 'self'; frame-src 'self'; base-uri 'none'; frame-ancestors 'none'; " +
			"require-trusted-types-for 'script'; trusted-types 'none'",
		"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store",
		"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
	} {
		if got.header.Get(name) != want {
			t.Errorf("%s: %q", name, got.header.Get(name))
		}
	}
	for n := range got.page.Descendants() {
		for _, a := range n.Attr {
			if a.Key == "style" || strings.HasPrefix(a.Key, "on") {
				t.Errorf("<%s %s=%q> is refused by the policy", n.Data, a.Key, a.Val)
			}
		}
		if n.Data != "link" || attr(n, "rel") != "stylesheet" {
			continue
		}
		sheet := s.visit().get(attr(n, "href"))
		if sheet.status != http.StatusOK || !strings.Contains(sheet.header.Get("Cache-Control"), "immutable") {
			t.Errorf("%s: %d %s", attr(n, "href"), sheet.status, sheet.header.Get("Cache-Control"))
		}
	}
	if got := s.visit().get("/console/assets/0000000000000000/console.css"); got.status != http.StatusNotFound {
		t.Errorf("an asset of another program: %d", got.status)
	}
}

func TestTheAssetsAreSmall(t *testing.T) {
	s := newSite(t, "console {}\n"+oneTool)
	total := 0
	base := regexp.MustCompile(`/console/assets/[0-9a-f]+/`).FindString(s.visit().get("/console/sign-in").body)
	for _, name := range console.AssetNames() {
		v := s.visit()
		v.header.Set("Accept-Encoding", "gzip")
		total += len(v.get(base + name).body)
	}
	if total == 0 || total > 15<<10 {
		t.Errorf("%d bytes over the wire", total)
	}
}
