package signin_test

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"hatchel/adapters/all"
	"hatchel/hcl"
	"hatchel/runtime"
	"hatchel/runtime/edge/auth/issuertest"
	"hatchel/runtime/edge/server"
	"hatchel/runtime/observe/logging"
)

// rig is a server with a sign_in block, and the provider in front of which it is.
type rig struct {
	t        testing.TB
	url      string
	provider *issuertest.Provider
	server   *server.Server
	host     *runtime.Host
	web      *httptest.Server
	dir      string
	log      lockedBuffer
	keys     string // arguments of the state block
}

// lockedBuffer is a buffer for concurrent use.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer // guarded by mu
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

const (
	clientSecret  = "the secret of hatchel at its provider"
	programSecret = "q83vEjRWeJq83vEjRWeJq83vEjRWeJ+/=="
)

// openRig starts a provider and a server. Block is what the sign_in block has besides its required arguments, and more
// are further blocks.
func openRig(t testing.TB, block, more string) *rig {
	t.Helper()
	return openRigWith(t, func(*runtime.Build) {}, block, more)
}

// openRigWith is openRig with a change of what configurations are built with.
func openRigWith(t testing.TB, change func(*runtime.Build), block, more string) *rig {
	t.Helper()
	r := &rig{t: t, dir: t.TempDir(), keys: "key = secret.state"}
	r.provider = issuertest.OpenProvider(t, issuertest.ProviderClient{ID: "hatchel", Secret: clientSecret})
	secrets := map[string]string{"PROVIDER": clientSecret, "STATE": "c2lnbi1pbiB0ZXN0cyBvZiBoYXRjaGVsIGFsb25l", "CLIENT": programSecret, "NEXT": "YW5vdGhlciBrZXkgb2YgdGhlIHN0YXRlIG9mIHRlc3Rz"}
	build := runtime.Build{
		Set: all.Set(), Dir: r.dir, Home: r.dir, AuditLogs: new(runtime.AuditLogs), Console: new(runtime.Console),
		SignIn: true, Log: slog.New(slog.NewTextHandler(&r.log, nil)),
	}
	change(&build)
	r.host = runtime.NewHost(t.Context(), runtime.HostOptions{
		Load: hcl.Options{Getenv: func(name string) (string, bool) { v, ok := secrets[name]; return v, ok }}, Build: build,
	})
	t.Cleanup(r.host.Close)
	r.server = server.New(server.Options{
		Host: r.host, Reloader: &server.Reloader{Host: r.host, Log: slog.New(slog.DiscardHandler)},
		Log: logging.New(&r.log, logging.Text, slog.LevelDebug),
	})
	r.web = httptest.NewServer(r.server)
	t.Cleanup(r.web.Close)
	r.url = r.web.URL
	r.provider.SetRedirect(r.url + "/oauth/callback")
	r.load(block, more)
	return r
}

func (r *rig) load(block, more string) {
	r.t.Helper()
	config := fmt.Sprintf(`
secret "provider" { env = "PROVIDER" }
secret "state" { env = "STATE" }
secret "client" { env = "CLIENT" }
secret "next" { env = "NEXT" }
state {
  sqlite = "state.db"
  %s
}
audit { file = "audit.jsonl" }
auth {
  sign_in {
    url           = %q
    provider      = %q
    client_id     = "hatchel"
    client_secret = secret.provider
    %s
  }
}
tool "who" {
  description = "Say who calls."
  text        = "$${caller.subject} of ${join(",", caller.groups)}"
}
%s`, r.keys, r.url, r.provider.URL, block, more)
	config = strings.ReplaceAll(config, "$${", "${")
	if diags := r.host.Load(r.t.Context(), fstest.MapFS{"a.hcl": {Data: []byte(config)}}); diags.HasErrors() {
		var text strings.Builder
		diags.Print(&text, map[string][]byte{"a.hcl": []byte(config)})
		r.t.Fatal(text.String())
	}
}

// logged returns the log, which the server writes after a while.
func (r *rig) logged() string {
	r.server.Log.Flush()
	return r.log.String()
}

// records returns the outcomes of the audit records of sign-ins, each with its subject and rule.
func (r *rig) records() (all []string) {
	r.t.Helper()
	text, err := os.ReadFile(filepath.Join(r.dir, "audit.jsonl"))
	if err != nil {
		r.t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var record struct {
			Event, Outcome, Rule, Name string
			Caller                     struct{ Subject string }
		}
		if err := json.Unmarshal([]byte(line), &record); err != nil {
			r.t.Fatal(err)
		}
		if record.Event == "sign_in" {
			all = append(all, strings.Join([]string{record.Outcome, record.Name, record.Caller.Subject, record.Rule}, " "))
		}
	}
	return all
}

// browser is a browser of a person, with its cookies. It follows nothing by itself.
type browser struct {
	t testing.TB
	http.Client
	header http.Header // of all requests
}

func newBrowser(t testing.TB) *browser {
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &browser{t: t, header: http.Header{}, Client: http.Client{
		Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// page is a response as a browser has it.
type page struct {
	status   int
	header   http.Header
	text     string
	location string // where a redirect or a refresh leads; empty for nowhere
}

func (b *browser) send(method, address string, form url.Values) *page {
	b.t.Helper()
	var body io.Reader
	if form != nil {
		body = strings.NewReader(form.Encode())
	}
	r, err := http.NewRequestWithContext(b.t.Context(), method, address, body)
	if err != nil {
		b.t.Fatal(err)
	}
	r.Header = b.header.Clone()
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	resp, err := b.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer resp.Body.Close()
	return readPage(b.t, resp)
}

// readPage returns a response as a browser has it.
func readPage(t testing.TB, resp *http.Response) *page {
	t.Helper()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	p := &page{resp.StatusCode, resp.Header, string(text), resp.Header.Get("Location")}
	if found := refresh.FindStringSubmatch(p.text); found != nil {
		p.location = html.UnescapeString(found[1])
	}
	return p
}

var (
	refresh   = regexp.MustCompile(`<meta http-equiv="refresh" content="0;url=([^"]*)">`)
	hidden    = regexp.MustCompile(`name="form" value="([^"]*)"`)
	paragraph = regexp.MustCompile(`(?s)<p id="(?:error|text)"[^>]*>(.*?)</p>`)
)

// says returns what a page of an error, or one that leads on, says.
func (p *page) says() string {
	if found := paragraph.FindStringSubmatch(p.text); found != nil {
		return html.UnescapeString(found[1])
	}
	return ""
}

// form returns the sealed field of a consent page.
func (p *page) form() string {
	if found := hidden.FindStringSubmatch(p.text); found != nil {
		return found[1]
	}
	return ""
}

// program is a client that a person uses.
type program struct {
	*rig
	id, redirect, verifier string
}

func (r *rig) program(id, redirect string) *program {
	return &program{r, id, redirect, rand.Text() + rand.Text()}
}

func challengeOf(verifier string) string {
	sum := sha256.Sum256([]byte(verifier))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// request returns the address of a request for authorization; pairs change its parameters, an empty value removes one.
func (p *program) request(pairs ...string) string {
	q := url.Values{
		"response_type": {"code"}, "client_id": {p.id}, "redirect_uri": {p.redirect}, "state": {"state of the client"},
		"code_challenge": {challengeOf(p.verifier)}, "code_challenge_method": {"S256"},
	}
	for i := 0; i < len(pairs); i += 2 {
		if q.Set(pairs[i], pairs[i+1]); pairs[i+1] == "" {
			q.Del(pairs[i])
		}
	}
	return p.url + "/oauth/authorize?" + q.Encode()
}

// allow presses the button of a consent page.
func (r *rig) allow(b *browser, consent *page) *page {
	b.t.Helper()
	return b.send("POST", r.url+"/oauth/consent", url.Values{"form": {consent.form()}, "decision": {"allow"}})
}

// authorize signs in with a browser, and returns the page that the provider has led to.
func (p *program) authorize(b *browser, pairs ...string) *page {
	b.t.Helper()
	consent := b.send("GET", p.request(pairs...), nil)
	if consent.form() == "" {
		b.t.Fatalf("no consent page: %d %s %s", consent.status, consent.says(), consent.location)
	}
	lead := p.allow(b, consent)
	if lead.location == "" {
		b.t.Fatalf("Allow leads nowhere: %d %s", lead.status, lead.says())
	}
	answer := b.send("GET", lead.location, nil)
	return b.send("GET", answer.location, nil)
}

// code signs in and returns the code.
func (p *program) code(pairs ...string) string {
	p.t.Helper()
	end := p.authorize(newBrowser(p.t), pairs...)
	at, err := url.Parse(end.location)
	if err != nil || !strings.HasPrefix(end.location, p.redirect) {
		p.t.Fatalf("the sign-in ends with %d at %q: %s", end.status, end.location, end.says())
	}
	q := at.Query()
	if q.Get("state") != "state of the client" || q.Get("iss") != p.url || q.Get("code") == "" {
		p.t.Fatalf("the client gets %v", q)
	}
	return q.Get("code")
}

// answer is a response of the token endpoint.
type answer struct {
	status  int
	header  http.Header
	Access  string `json:"access_token"`
	Refresh string `json:"refresh_token"`
	Type    string `json:"token_type"`
	Seconds int    `json:"expires_in"`
	Scope   string `json:"scope"`
	Error   string `json:"error"`
	Text    string `json:"error_description"`
}

// post sends a form to an endpoint of programs.
func (r *rig) post(path string, pairs ...string) *answer {
	r.t.Helper()
	form := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		form.Add(pairs[i], pairs[i+1])
	}
	resp, err := http.PostForm(r.url+path, form)
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	a := &answer{status: resp.StatusCode, header: resp.Header}
	if text, err := io.ReadAll(resp.Body); err != nil || len(text) > 0 && json.Unmarshal(text, a) != nil {
		r.t.Fatalf("%s answers %d %q (%v)", path, resp.StatusCode, text, err)
	}
	return a
}

// redeem redeems a code; pairs are further fields.
func (p *program) redeem(code string, pairs ...string) *answer {
	p.t.Helper()
	return p.post("/oauth/token", append([]string{
		"grant_type", "authorization_code", "code", code, "redirect_uri", p.redirect, "client_id", p.id,
		"code_verifier", p.verifier,
	}, pairs...)...)
}

// signIn signs in and returns the first tokens.
func (p *program) signIn(pairs ...string) *answer {
	p.t.Helper()
	a := p.redeem(p.code(pairs...))
	if a.status != http.StatusOK || a.Type != "Bearer" {
		p.t.Fatalf("the code gives %+v", a)
	}
	return a
}

// refresh sends a refresh token; pairs are further fields.
func (p *program) refresh(token string, pairs ...string) *answer {
	p.t.Helper()
	return p.post("/oauth/token",
		append([]string{"grant_type", "refresh_token", "refresh_token", token, "client_id", p.id}, pairs...)...)
}

// call calls the tool who at a path, and returns the status and the body.
func (r *rig) call(path, token string) (int, string) {
	r.t.Helper()
	return r.callAt(path, "who", token)
}

// callTool calls a tool, and returns the status and the body.
func (r *rig) callTool(name, token string) (int, string) {
	r.t.Helper()
	return r.callAt("/mcp", name, token)
}

// challenge calls a tool, and returns what the answer asks for; empty for nothing.
func (r *rig) challenge(name, token string) string {
	r.t.Helper()
	resp, _ := r.sendCall("/mcp", name, token)
	return resp.Header.Get("WWW-Authenticate")
}

func (r *rig) callAt(path, name, token string) (int, string) {
	r.t.Helper()
	resp, text := r.sendCall(path, name, token)
	return resp.StatusCode, text
}

func (r *rig) sendCall(path, name, token string) (*http.Response, string) {
	r.t.Helper()
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + name + `","_meta":{` +
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
	q, err := http.NewRequestWithContext(r.t.Context(), "POST", r.url+path, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	q.Header = http.Header{
		"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
		"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {"tools/call"}, "Mcp-Name": {name},
		"Authorization": {"Bearer " + token},
	}
	resp, err := http.DefaultClient.Do(q)
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return resp, string(text)
}

// mustCall calls the tool and expects a caller.
func (r *rig) mustCall(token, want string) {
	r.t.Helper()
	if status, text := r.call("/mcp", token); status != http.StatusOK || !strings.Contains(text, want) {
		r.t.Errorf("the call is answered with %d %s", status, text)
	}
}

// loopback returns the address of a program on this machine that is not there.
func loopback() string {
	return (&url.URL{Scheme: "http", Host: net.JoinHostPort("127.0.0.1", "49152"), Path: "/callback"}).String()
}

// raw returns what an address answers to the holder of a token.
func (r *rig) raw(path, token string) (int, string) {
	r.t.Helper()
	q, err := http.NewRequestWithContext(r.t.Context(), "GET", r.url+path, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	q.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(q)
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}
