package console_test

import (
	"context"
	"fmt"
	"html"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"hatchel/adapters/all"
	"hatchel/hcl"
	"hatchel/runtime"
	"hatchel/runtime/durable/grant"
	"hatchel/runtime/durable/state"
	"hatchel/runtime/edge/auth/issuertest"
	"hatchel/runtime/edge/console"
	"hatchel/runtime/edge/server"
	"hatchel/runtime/observe/logging"
)

// providerSite is a server whose console people sign in to at a provider.
type providerSite struct {
	*site
	provider *issuertest.Provider
	server   *server.Server
}

const (
	secretOfClient = "the secret of hatchel at its provider"
	keyOfState     = "BjnOYi0Nl1Dq4S9vhsGtQwX7cMzEpK2R"
)

// newProviderSite serves a configuration with a sign_in block, which has a block in addition.
func newProviderSite(t *testing.T, block, config string) *providerSite {
	t.Helper()
	s := &providerSite{site: &site{t: t, local: true, dir: t.TempDir()}}
	s.provider = issuertest.OpenProvider(t, issuertest.ProviderClient{ID: "hatchel", Secret: secretOfClient})
	kept := server.NewState(t.Context(), "", s.dir)
	t.Cleanup(func() { kept.Close() })
	secrets := map[string]string{"PROVIDER": secretOfClient, "STATE": keyOfState}
	s.host = runtime.NewHost(t.Context(), runtime.HostOptions{
		Load: hcl.Options{Getenv: func(name string) (string, bool) { v, ok := secrets[name]; return v, ok }},
		Build: runtime.Build{
			Set: all.Set(), Dir: s.dir, Home: s.dir, AuditLogs: new(runtime.AuditLogs), Console: new(runtime.Console),
			SignIn: true, State: kept,
		},
	})
	t.Cleanup(s.host.Close)
	s.server = server.New(server.Options{
		Host: s.host, Reloader: &server.Reloader{Host: s.host, Log: slog.New(slog.DiscardHandler)},
		Log: logging.New(t.Output(), logging.Text, slog.LevelWarn),
	})
	s.web = httptest.NewServer(s.server)
	t.Cleanup(s.web.Close)
	s.provider.SetRedirect(s.web.URL + "/oauth/callback")
	s.serve(block, config)
	return s
}

// serve loads a configuration with a sign_in block, which has a block in addition.
func (s *providerSite) serve(block, config string) {
	s.t.Helper()
	s.load(fmt.Sprintf(`
secret "provider" { env = "PROVIDER" }
secret "state" { env = "STATE" }
state {
  sqlite = "state.db"
  key    = secret.state
}
auth {
  sign_in {
    url           = %q
    provider      = %q
    client_id     = "hatchel"
    client_secret = secret.provider
    %s
  }
}
%s`, s.web.URL, s.provider.URL, block, config) + audited + oneTool)
}

var leadsTo = regexp.MustCompile(`<meta http-equiv="refresh" content="0;url=([^"]*)"`)

// step opens an address and returns the response, and the address that it leads to; empty for none.
func (v *visitor) step(address string) (got *reply, next string) {
	v.t.Helper()
	at, err := url.Parse(address)
	if err != nil {
		v.t.Fatal(err)
	}
	elsewhere := *v.site
	elsewhere.web = &httptest.Server{URL: at.Scheme + "://" + at.Host}
	there := *v
	there.site = &elsewhere
	got = there.get(at.RequestURI())
	if next = got.header.Get("Location"); next == "" {
		if m := leadsTo.FindStringSubmatch(got.body); m != nil {
			next = html.UnescapeString(m[1])
		}
	}
	if to, err := at.Parse(next); next != "" && err == nil {
		next = to.String()
	}
	return got, next
}

// walk opens an address and where it leads to, until a page stays. It returns the addresses.
func (v *visitor) walk(address string) (got *reply, visited []string) {
	v.t.Helper()
	for address != "" {
		if visited = append(visited, address); len(visited) > 12 {
			v.t.Fatalf("no end: %q", visited)
		}
		got, address = v.step(address)
	}
	return got, visited
}

// begin posts the form that begins a sign-in, and returns the address at the provider.
func (v *visitor) begin(next string) string {
	v.t.Helper()
	got := v.post("/console/sign-in/provider", url.Values{"next": {next}})
	m := leadsTo.FindStringSubmatch(got.body)
	if got.status != http.StatusOK || m == nil {
		v.t.Fatalf("no way to the provider: %d %s", got.status, got.text())
	}
	return html.UnescapeString(m[1])
}

// answer returns the address that the provider leads to from its own.
func (v *visitor) answer(atProvider string) string {
	v.t.Helper()
	_, callback := v.step(atProvider)
	if !strings.Contains(callback, "/oauth/callback?") {
		v.t.Fatalf("the provider leads to %q", callback)
	}
	return callback
}

// enter signs a new browser in at the provider.
func (s *providerSite) enter() *visitor {
	s.t.Helper()
	v := s.visit()
	if got, visited := v.walk(v.begin("/console/")); got.status != http.StatusOK || !strings.Contains(textOf(got.find("who")), "ada") {
		s.t.Fatalf("signing in: %d %q %s", got.status, visited, got.text())
	}
	return v
}

const forEverybody = "console { allow = \"true\" }\n"

func (s *providerSite) grants() *grant.Store {
	s.t.Helper()
	grants, err := s.host.Operator().State.Grants(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	return grants
}

// signIns returns the sign-ins of everybody.
func (s *providerSite) signIns() []*grant.SignIn {
	s.t.Helper()
	list, _, err := s.grants().List(s.t.Context(), grant.Query{Limit: 100})
	if err != nil {
		s.t.Fatal(err)
	}
	return list
}

func TestAPersonSignsInToTheConsoleAtTheProvider(t *testing.T) {
	s := newProviderSite(t, `session = "2h"`, forEverybody)
	v := s.visit()
	page := v.get("/console/sign-in?next=%2Fconsole%2Ftools%3Fq%3Drefund")
	host := strings.TrimPrefix(s.provider.URL, "http://")
	if got := textOf(page.find("provider")); got != "Sign in at "+host {
		t.Errorf("the button: %q", got)
	}
	var next string
	for n := range page.find("provider-form").Descendants() {
		if attr(n, "name") == "next" {
			next = attr(n, "value")
		}
	}
	callback := v.answer(v.begin(next))
	got, to := v.step(callback)
	if got.status != http.StatusOK || got.header.Get("Location") != "" || to != s.web.URL+"/console/tools?q=refund" {
		t.Errorf("the callback leads by %d %q to %q", got.status, got.header.Get("Location"), to)
	}
	if got.header.Get("Cache-Control") != "no-store" || !strings.Contains(got.header.Get("Content-Security-Policy"), "frame-ancestors 'none'") {
		t.Errorf("headers of the callback: %v", got.header)
	}
	session := slices.IndexFunc(got.header["Set-Cookie"], func(c string) bool { return strings.HasPrefix(c, "hatchel-"+s.port()+"=") })
	if session < 0 || !strings.Contains(got.header["Set-Cookie"][session], "SameSite=Strict") || !strings.Contains(got.header["Set-Cookie"][session], "HttpOnly") {
		t.Errorf("cookies: %q", got.header["Set-Cookie"])
	}
	if got, _ = v.step(to); got.status != http.StatusOK || got.find("tools") == nil || textOf(got.find("who")) != "ada" {
		t.Errorf("the page: %d %s", got.status, got.text())
	}
	list := s.signIns()
	if len(list) != 1 || list[0].Subject != "ada" || list[0].Issuer != s.provider.URL || list[0].Client.Title() != "the console" ||
		time.Until(list[0].Ends) > 2*time.Hour {
		t.Errorf("sign-ins: %+v", list)
	}
	if got := v.get("/console/sign-ins"); !strings.Contains(got.text(), "this session") {
		t.Errorf("the page of sign-ins: %s", got.text())
	}
}

// A sign-in that ends in another browser than it began in would sign a victim in as the attacker, or the attacker as the
// victim.
func TestASignInToTheConsoleEndsInTheBrowserThatBeganIt(t *testing.T) {
	for _, at := range []string{"the address of the block", "an address of its own"} {
		t.Run(at, func(t *testing.T) {
			config := forEverybody
			if at == "an address of its own" {
				config = "console {\n allow = \"true\"\n listen = \"127.0.0.1:0\"\n}\n"
			}
			s := newProviderSite(t, "", config)
			main := s.web.URL
			if own := s.host.ConsoleAddr(); own != nil {
				s.web = &httptest.Server{URL: "http://" + own.String()}
			}
			attacker, victim := s.visit(), s.visit()
			begun := attacker.begin("/console/")
			refused := func(who string, v *visitor, address string) {
				t.Helper()
				got, visited := v.walk(address)
				if got.status != http.StatusForbidden {
					t.Errorf("%s: %d %q %s", who, got.status, visited, got.text())
				}
				if got := v.get("/console/"); got.status != http.StatusSeeOther {
					t.Errorf("%s has a session: %d", who, got.status)
				}
			}
			refused("the victim, with the attacker's way to the provider", victim, begun)
			callback := attacker.answer(attacker.begin("/console/"))
			refused("the victim, with the attacker's answer of the provider", victim, callback)
			ofVictim := victim.answer(victim.begin("/console/"))
			mixed := strings.Replace(callback, url.QueryEscape(stateOf(t, callback)), url.QueryEscape(stateOf(t, ofVictim)), 1)
			refused("a code of one sign-in with the state of another one", victim, mixed)
			callback = attacker.answer(attacker.begin("/console/")) // the provider has taken the code
			if got, visited := attacker.walk(callback); got.status != http.StatusOK {
				t.Errorf("the browser that has begun: %d %q %s", got.status, visited, got.text())
			}
			again := s.visit()
			refused("the answer again, in another browser", again, callback)
			if got, _ := attacker.walk(callback); got.status == http.StatusOK {
				t.Errorf("the answer again, in the same browser: %d %s", got.status, got.text())
			}
			if !strings.HasPrefix(callback, main+"/oauth/callback?") {
				t.Errorf("the provider leads to %q", callback)
			}
		})
	}
}

func stateOf(t *testing.T, address string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return u.Query().Get("state")
}

func TestTheNextPageOfASignInIsOneOfTheConsole(t *testing.T) {
	s := newProviderSite(t, "", forEverybody)
	for next, want := range map[string]string{
		"/console/sign-ins":                   "/console/sign-ins",
		"/console/approvals?status=used":      "/console/approvals?status=used",
		"https://evil.example/console/":       "/console/",
		"//evil.example/console/":             "/console/",
		"/console/../mcp":                     "/console/",
		"/console/sign-in/provider":           "/console/",
		"/console/sign-in":                    "/console/",
		"/console/\\evil":                     "/console/",
		"/oauth/authorize?client_id=x":        "/console/",
		"javascript:alert(1)":                 "/console/",
		"/console/tools\"><script>x</script>": "/console/tools\"><script>x</script>",
	} {
		v := s.visit()
		got, to := v.step(v.answer(v.begin(next)))
		at, err := url.Parse(to)
		if err != nil || at.Scheme+"://"+at.Host != s.web.URL || strings.Contains(got.body, "<script>x") {
			t.Errorf("%q leads to %q: %s", next, to, got.body)
			continue
		}
		if rest, _ := url.PathUnescape(strings.TrimPrefix(to, s.web.URL)); rest != want {
			t.Errorf("%q leads to %q, not %q", next, rest, want)
		}
	}
}

func TestASessionOfASignInEndsWithIt(t *testing.T) {
	s := newProviderSite(t, "", forEverybody)
	s.provider.SignIn(issuertest.Person{Subject: "ada", Groups: []string{"finance"}})
	revoked, narrowed, out := s.enter(), s.enter(), s.enter()
	other := grant.Grant{
		ID: grant.NewID(), Client: "https://claude.ai/x", ClientKind: grant.Document, Subject: "ada", Key: s.provider.URL,
		Began: time.Now(), Ends: time.Now().Add(time.Hour),
	}
	if err := s.grants().Start(t.Context(), &other); err != nil {
		t.Fatal(err)
	}
	path := regexp.MustCompile(`/console/sign-ins/([A-Z0-9]+)/revoke"[^>]*>End…</a><span class="sub">this session`)
	m := path.FindStringSubmatch(revoked.get("/console/sign-ins").body)
	if m == nil {
		t.Fatal("the list does not say which sign-in is this session")
	}
	if ended, err := s.grants().Revoke(t.Context(), m[1]); err != nil || !ended {
		t.Fatal(ended, err)
	}
	if got := revoked.get("/console/"); got.status != http.StatusSeeOther {
		t.Errorf("after the revocation: %d", got.status)
	}
	token := out.get("/console/").token("/console/sign-out")
	if got := out.post("/console/sign-out", url.Values{"token": {token}}); got.status != http.StatusSeeOther {
		t.Errorf("signing out: %d", got.status)
	}
	if got := narrowed.get("/console/"); got.status != http.StatusOK {
		t.Errorf("the session of another browser: %d", got.status)
	}
	if list := s.signIns(); len(list) != 2 { // of the third browser, and of the client
		t.Errorf("after signing out there are %d sign-ins", len(list))
	}
	s.serve(`allow = "'finance' in caller.groups"`, forEverybody)
	if got := narrowed.get("/console/"); got.status != http.StatusOK {
		t.Errorf("with a rule that admits: %d", got.status)
	}
	s.serve(`allow = "'board' in caller.groups"`, forEverybody)
	if got := narrowed.get("/console/"); got.status != http.StatusSeeOther {
		t.Errorf("with a rule that does not admit: %d", got.status)
	}
	refused := s.visit()
	if got, _ := refused.walk(refused.begin("/console/")); got.status != http.StatusForbidden || !strings.Contains(got.text(), "admits other groups") {
		t.Errorf("a person who is not admitted: %d %s", got.status, got.text())
	}
	s.serve(`groups_claim = "roles"`, forEverybody)
	if got := narrowed.get("/console/"); got.status != http.StatusSeeOther {
		t.Errorf("with other claims: %d", got.status)
	}
}

func TestAPersonWhomTheProviderRemovesIsSignedOutOfTheConsole(t *testing.T) {
	s := newProviderSite(t, `session = "24h"`+"\n"+`scopes = ["openid", "offline_access"]`, forEverybody)
	s.provider.SignIn(issuertest.Person{Subject: "ada", Groups: []string{"finance"}})
	v := s.enter()
	begun := s.grants()
	real, err := begun.Find(t.Context(), s.signIns()[0].ID)
	if err != nil || real == nil || real.Upstream == nil || real.Upstream.Refresh == "" {
		t.Fatalf("the sign-in has no refresh token of the provider: %+v, %v", real, err)
	}
	// age has a browser that has signed in, with a refresh token of the provider, which was asked some time ago, and whose
	// answer the session has for some time.
	age := func(refresh string, asked, renewed time.Duration) string {
		t.Helper()
		old, g := time.Now().Add(-renewed), *real
		g.ID, g.Began = grant.NewID(), old
		g.Upstream = &grant.Upstream{Refresh: refresh, Renewed: time.Now().Add(-asked)}
		if err := begun.Start(t.Context(), &g); err != nil {
			t.Fatal(err)
		}
		i, err := s.host.Authenticator().Own().IdentityOf(&g)
		if err != nil {
			t.Fatal(err)
		}
		cookie, err := console.SessionCookie(s.host, i, g.ID, old)
		if err != nil {
			t.Fatal(err)
		}
		v = s.visit()
		v.header.Set("Cookie", "hatchel-"+s.port()+"="+cookie)
		return g.ID
	}
	requests := len(s.provider.TokenRequests())
	s.provider.SetPerson(issuertest.Person{Subject: "ada", Groups: []string{"board"}})
	id := age(real.Upstream.Refresh, 2*time.Hour, 2*time.Hour)
	s.serve(`session = "24h"`+"\n"+`scopes = ["openid", "offline_access"]`+"\n"+`allow = "'finance' in caller.groups"`, forEverybody)
	if got := v.get("/console/"); got.status != http.StatusSeeOther {
		t.Errorf("with groups that the rule does not admit any more: %d", got.status)
	}
	if n := len(s.provider.TokenRequests()); n != requests+1 {
		t.Errorf("%d requests to the provider", n-requests)
	}
	if g, err := begun.Find(t.Context(), id); err != nil || g == nil || g.Groups[0] != "board" {
		t.Errorf("the sign-in: %+v, %v", g, err)
	}
	s.provider.Remove("ada")
	id = age("a token that the provider does not know", 2*time.Hour, 2*time.Hour)
	if got := v.get("/console/"); got.status != http.StatusSeeOther {
		t.Errorf("after the removal: %d", got.status)
	}
	if g, err := begun.Find(t.Context(), id); err != nil || g != nil {
		t.Errorf("the sign-in of a person who was removed: %+v, %v", g, err)
	}
	s.provider.SetFaults(issuertest.Faults{TokenStatus: http.StatusServiceUnavailable, TokenBody: "down"})
	age("a token", 65*time.Minute, 65*time.Minute)
	if got := v.get("/console/"); got.status != http.StatusOK {
		t.Errorf("while the provider is down: %d %s", got.status, got.text())
	}
	age("a token", 71*time.Minute, 71*time.Minute)
	if got := v.get("/console/"); got.status != http.StatusSeeOther {
		t.Errorf("while the provider is down for longer than a token of a client lasts: %d", got.status)
	}
	// Another use of the sign-in has had the provider asked between two times that the session is due.
	age("a token", 59*time.Minute, 60*time.Minute)
	got := v.get("/console/")
	_, cookie, _ := strings.Cut(got.header.Get("Set-Cookie"), "=")
	cookie, _, _ = strings.Cut(cookie, ";")
	renewed, err := console.RenewedAt(s.host, cookie)
	if got.status != http.StatusOK || err != nil || time.Since(renewed) < 59*time.Minute {
		t.Errorf("%d: the session takes the answer of %v ago for one of now, %v", got.status, time.Since(renewed), err)
	}
	if life := console.StreamLife(50 * time.Minute); life != 10*time.Minute {
		t.Errorf("a stream goes on for %v after the provider must be asked", life)
	}
}

// What hatchel sign-ins revoke does to the state is known to a server within a second, which records it.
func TestASignInThatACommandEndsIsRefusedAndRecordedOnce(t *testing.T) {
	s := newProviderSite(t, "", forEverybody)
	v := s.enter()
	store, err := state.Open(context.WithoutCancel(t.Context()), filepath.Join(s.dir, "state.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	command, err := grant.OpenWithoutKeys(t.Context(), store, grant.Options{Key: []byte(keyOfState)})
	if err != nil {
		t.Fatal(err)
	}
	list, _, err := command.List(t.Context(), grant.Query{Limit: 10})
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	id := list[0].ID
	for range 2 {
		if _, err := command.RevokeUnrecorded(t.Context(), id, "os:ann"); err != nil {
			t.Fatal(err)
		}
	}
	for !s.grants().Revoked(id) { // which each process looks for every second
		time.Sleep(10 * time.Millisecond)
	}
	if got := v.get("/console/"); got.status != http.StatusSeeOther {
		t.Errorf("the session goes on: %d", got.status)
	}
	recorded := func() int {
		text, err := os.ReadFile(filepath.Join(s.dir, "audit.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(string(text), `"caller":{"subject":"os:ann"},"outcome":"revoked","message":"The sign-in `+id+` of ada"`)
	}
	for recorded() == 0 {
		if t.Context().Err() != nil {
			t.Fatal("the end is not recorded")
		}
	}
	s.host.Operator().State.RecordRevocations()
	left, err := command.RecordUnrecorded(t.Context(), func(r grant.Revocation) error {
		t.Errorf("it was not recorded: %+v", r)
		return nil
	})
	if err != nil || recorded() != 1 {
		t.Errorf("%d records, left %t, %v", recorded(), left, err)
	}
}

func TestThePageOffersTheProviderBesideKeys(t *testing.T) {
	s := newProviderSite(t, "", forEverybody)
	page := s.visit().get("/console/sign-in")
	if page.find("provider-form") == nil || page.find("key-form") != nil {
		t.Errorf("without keys: %s", page.text())
	}
	beside := newSite(t, signInConfig("ada:admin")+"console {}\n"+oneTool)
	page = beside.visit().get("/console/sign-in")
	if page.find("provider-form") == nil || page.find("key-form") == nil {
		t.Errorf("with keys: %s", page.text())
	}
	plain := s.visit()
	plain.header.Set("Origin", "http://console.example")
	plain.header.Set("Host", "console.example")
	if got := plain.post("/console/sign-in/provider", url.Values{}); got.status != http.StatusForbidden {
		t.Errorf("over plain http: %d %s", got.status, got.text())
	}
	foreign := s.visit()
	foreign.header.Set("Sec-Fetch-Site", "cross-site")
	if got := foreign.post("/console/sign-in/provider", url.Values{}); got.status != http.StatusForbidden {
		t.Errorf("from another site: %d %s", got.status, got.text())
	}
}

// The same person through the console and through a client is one person, who cannot approve their own calls.
func TestAPersonIsOneCallerInTheConsoleAndInClients(t *testing.T) {
	s := newProviderSite(t, "", forEverybody+"approvals { allow = \"true\" }\n")
	v := s.enter()
	own := s.host.Authenticator().Own()
	g := &grant.Grant{
		ID: grant.NewID(), Client: "inspector", Subject: "ada", Key: s.provider.URL, Groups: []string{"finance"},
		Began: time.Now(), Ends: time.Now().Add(time.Hour),
	}
	if err := s.grants().Start(t.Context(), g); err != nil {
		t.Fatal(err)
	}
	token, _, err := own.Issue(g)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.web.URL+"/mcp", strings.NewReader(
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"refund","arguments":{"order":101},
		"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"Authorization": "Bearer " + token, "Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "refund",
	} {
		request.Header.Set(name, value)
	}
	answered := make(chan string, 1)
	go func() {
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			answered <- err.Error()
			return
		}
		defer response.Body.Close()
		answered <- response.Status
	}()
	link := regexp.MustCompile(`href="(/console/approvals/[^"?]+)"`)
	var found []string
	for found == nil {
		if t.Context().Err() != nil {
			t.Fatal("no approval")
		}
		select {
		case status := <-answered:
			t.Fatalf("the call was answered: %s", status)
		default:
			found = link.FindStringSubmatch(v.get("/console/approvals").body)
		}
	}
	page := v.get(found[1])
	if page.status != http.StatusOK || page.find("approve") != nil || !strings.Contains(page.text(), "ada") {
		t.Errorf("ada can decide her own call: %d %s", page.status, page.text())
	}
	form := url.Values{"token": {page.token(found[1] + "/decide")}, "decision": {"approve"}}
	if got := v.post(found[1]+"/decide", form); got.status != http.StatusForbidden {
		t.Errorf("deciding it anyway: %d %s", got.status, got.text())
	}
}

func TestTheStreamsOfASignInEndWithIt(t *testing.T) {
	s := newProviderSite(t, "", forEverybody+"events {}\n")
	v := s.enter()
	open := func(path, header, value string) *http.Response {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.web.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Accept", "text/event-stream")
		if header != "" {
			r.Header.Set(header, value)
		}
		response, err := v.client.Do(r)
		if err != nil || response.StatusCode != http.StatusOK {
			t.Fatalf("%s: %v %v", path, response, err)
		}
		t.Cleanup(func() { response.Body.Close() })
		return response
	}
	id := s.signIns()[0].ID
	g, err := s.grants().Find(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	token, _, err := s.host.Authenticator().Own().Issue(g)
	if err != nil {
		t.Fatal(err)
	}
	streams := []*http.Response{
		open("/console/events", "", ""), open("/events?follow=true&own=true", "Authorization", "Bearer "+token),
	}
	if ended, err := s.grants().Revoke(t.Context(), id); err != nil || !ended {
		t.Fatal(ended, err)
	}
	for _, stream := range streams { // each ends
		if _, err := io.Copy(io.Discard, stream.Body); err != nil {
			t.Error(err)
		}
	}
}

func TestClaimsThatAreTooLargeForACookieBeginNoSession(t *testing.T) {
	s := newProviderSite(t, `claims = ["notes"]`, forEverybody)
	s.provider.SignIn(issuertest.Person{Subject: "ada", Claims: map[string]any{"notes": strings.Repeat("x", 3000)}})
	v := s.visit()
	got, _ := v.walk(v.begin("/console/"))
	if got.status != http.StatusBadRequest || !strings.Contains(got.text(), "too large") {
		t.Errorf("%d %s", got.status, got.text())
	}
	if list := s.signIns(); len(list) != 0 {
		t.Errorf("a sign-in is left: %+v", list[0])
	}
}

func TestTheStateHasTheProviderAndTheKeysOfTokens(t *testing.T) {
	s := newProviderSite(t, "", forEverybody)
	host := strings.TrimPrefix(s.provider.URL, "http://")
	v := s.enter()
	if got := textOf(v.get("/console/state").find("sign-in")); !strings.Contains(got, "provider "+host) || !strings.Contains(got, "1 key published") ||
		strings.Contains(got, "down") {
		t.Errorf("the state: %s", got)
	}
	config := strings.Replace(signInConfig("ada:admin"), "https://provider.example", "http://127.0.0.1:1", 1)
	alone := newSite(t, config+"console {}\n"+oneTool)
	if got := textOf(alone.signedIn("ada").get("/console/state").find("sign-in")); !strings.Contains(got, "refused") {
		t.Errorf("the state without the provider: %s", got)
	}
}
