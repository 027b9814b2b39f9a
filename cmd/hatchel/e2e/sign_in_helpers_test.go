package e2e_test

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	mathrand "math/rand/v2"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"hatchel/internal/programtest"
	"hatchel/runtime/edge/auth/issuertest"
)

// signInConfig is the configuration of processes at which people sign in. $URL, $PROVIDER and $MORE are replaced.
const signInConfig = `
secret "state" { env = "STATE" }
secret "state_key" { env = "STATE_KEY" }
secret "provider" { env = "PROVIDER" }
state {
  postgres = secret.state
  key      = secret.state_key
  $MORE
}
auth {
  sign_in {
    url           = "$URL"
    provider      = "$PROVIDER"
    client_id     = "hatchel"
    client_secret = secret.provider
    scopes        = ["openid", "offline_access"]
    register { redirects = ["loopback"] }
  }
}
tool "who" {
  description = "Say who calls."
  text        = "${caller.subject} of ${join(",", caller.groups)}"
}
`

const (
	providerSecret  = "the secret of hatchel at its provider"
	programRedirect = "http://127.0.0.1:49152/callback" // nobody listens there
)

// signInServer is a server of several processes, at which people sign in.
type signInServer struct {
	t         testing.TB
	url       string // its public origin, which is that of no process
	provider  *issuertest.Provider
	dir       string
	environ   []string
	client    string            // the id of a program that has registered
	elsewhere http.RoundTripper // sends the requests of browsers to the provider

	mu       sync.Mutex
	replicas []*replica // guarded by mu; nil for one that does not run
	turn     int        // guarded by mu
}

// startSignInServer starts n processes with their state in a database. More are arguments of the state block, and
// blocks are further blocks.
func startSignInServer(t testing.TB, n int, database, blocks string) *signInServer {
	t.Helper()
	s := newSignInServer(t, n)
	s.provider = issuertest.OpenProvider(t, issuertest.ProviderClient{ID: "hatchel", Secret: providerSecret, Redirect: s.url + "/oauth/callback"})
	s.environ = []string{"STATE=" + database, "STATE_KEY=" + keyOfState("first"), "PROVIDER=" + providerSecret}
	s.writeConfig(s.dir, "", blocks)
	for i := range n {
		s.start(i, s.dir)
	}
	s.client = s.register()
	return s
}

// newSignInServer returns a server of n processes that do not run.
func newSignInServer(t testing.TB, n int) *signInServer {
	return &signInServer{
		t: t, url: "http://" + reserveAddress(t), dir: t.TempDir(), replicas: make([]*replica, n),
		elsewhere: http.DefaultTransport,
	}
}

// keyOfState returns a key of a state block.
func keyOfState(name string) string {
	sum := sha256.Sum256([]byte(name))
	return base64.StdEncoding.EncodeToString(sum[:])
}

func (s *signInServer) writeConfig(dir, more, blocks string) {
	s.t.Helper()
	text := strings.NewReplacer("$URL", s.url, "$PROVIDER", s.provider.URL, "$MORE", more).Replace(signInConfig) + blocks
	if err := os.WriteFile(filepath.Join(dir, "tools.hcl"), []byte(text), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

// start starts a process with a configuration, and more variables in its environment.
func (s *signInServer) start(i int, dir string, environ ...string) {
	s.t.Helper()
	r := startReplicaIn(s.t, dir, append(append([]string(nil), s.environ...), environ...))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.replicas[i] = r
}

// take removes a process from the turn and returns it.
func (s *signInServer) take(i int) *replica {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.replicas[i]
	s.replicas[i] = nil
	return r
}

// order returns the processes that run, beginning with the next one.
func (s *signInServer) order() (running []*replica) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turn++
	for i := range s.replicas {
		if r := s.replicas[(s.turn+i)%len(s.replicas)]; r != nil {
			running = append(running, r)
		}
	}
	return running
}

// RoundTrip sends a request for the server to its next process, or to the one after that if it does not listen, and all
// others where they belong. It comes from another address each time, since the requests of a network are bounded.
func (s *signInServer) RoundTrip(r *http.Request) (*http.Response, error) {
	if "http://"+r.URL.Host != s.url {
		return s.elsewhere.RoundTrip(r)
	}
	err := errors.New("no process runs")
	var body []byte
	if r.Body != nil {
		body, _ = io.ReadAll(r.Body)
	}
	for _, process := range s.order() {
		var res *http.Response
		if res, err = s.sendTo(process, r, string(body)); err == nil {
			return res, nil
		}
		if failed := new(net.OpError); !errors.As(err, &failed) || failed.Op != "dial" {
			return nil, err
		}
	}
	return nil, err
}

// sendTo sends a request to one process.
func (s *signInServer) sendTo(process *replica, r *http.Request, body string) (*http.Response, error) {
	from := &net.TCPAddr{IP: net.IPv4(127, byte(1+mathrand.IntN(250)), byte(mathrand.IntN(250)), 1)}
	transport := &http.Transport{
		DialContext: (&net.Dialer{LocalAddr: from}).DialContext, DisableKeepAlives: true,
	}
	out := r.Clone(r.Context())
	out.Host, out.URL.Host, out.Body = r.URL.Host, process.address(), io.NopCloser(strings.NewReader(body))
	return transport.RoundTrip(out)
}

// newBrowser returns a browser, which follows nothing by itself.
func (s *signInServer) newBrowser() *http.Client {
	jar, err := cookiejar.New(nil)
	if err != nil {
		s.t.Fatal(err)
	}
	return &http.Client{Jar: jar, Transport: s, Timeout: programtest.Timeout, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
}

// send makes a request, and returns the response with its body.
func send(ctx context.Context, c *http.Client, method, address string, form url.Values) (*http.Response, string, error) {
	r, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, "", err
	}
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	res, err := c.Do(r)
	if err != nil {
		return nil, "", err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return res, string(body), err
}

func (s *signInServer) register() string {
	s.t.Helper()
	body := fmt.Sprintf(`{"client_name": "A program", "redirect_uris": [%q], "token_endpoint_auth_method": "none"}`, programRedirect)
	res, err := s.newBrowser().Post(s.url+"/oauth/register", "application/json", strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	var registered struct {
		ID string `json:"client_id"`
	}
	if err := json.NewDecoder(res.Body).Decode(&registered); err != nil || registered.ID == "" {
		s.t.Fatalf("the registration is answered with %s, %v", res.Status, err)
	}
	return registered.ID
}

var (
	consentForm = regexp.MustCompile(`name="form" value="([^"]*)"`)
	leadOn      = regexp.MustCompile(`<meta http-equiv="refresh" content="0;url=([^"]*)">`)
)

// authorization is a code, and what its program needs to redeem it.
type authorization struct{ code, verifier string }

// authorize signs a person in with a new browser. The error names the step that failed.
func (s *signInServer) authorize(ctx context.Context) (a authorization, err error) {
	b := s.newBrowser()
	a.verifier = rand.Text() + rand.Text()
	challenge := sha256.Sum256([]byte(a.verifier))
	_, page, err := send(ctx, b, "GET", s.url+"/oauth/authorize?"+url.Values{
		"response_type": {"code"}, "client_id": {s.client}, "redirect_uri": {programRedirect}, "state": {"of the program"},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(challenge[:])}, "code_challenge_method": {"S256"},
	}.Encode(), nil)
	form := consentForm.FindStringSubmatch(page)
	if err != nil || form == nil {
		return a, fmt.Errorf("no consent page: %w %s", err, page)
	}
	_, page, err = send(ctx, b, "POST", s.url+"/oauth/consent", url.Values{"form": {form[1]}, "decision": {"allow"}})
	on := leadOn.FindStringSubmatch(page)
	if err != nil || on == nil {
		return a, fmt.Errorf("consent: %w %s", err, page)
	}
	at, err := url.Parse(html.UnescapeString(on[1]))
	if err != nil {
		return a, err
	}
	var res *http.Response
	for step := "provider"; !strings.HasPrefix(at.String(), programRedirect); {
		if strings.HasPrefix(at.String(), s.url) {
			step = "callback"
		}
		if res, page, err = send(ctx, b, "GET", at.String(), nil); err != nil {
			return a, fmt.Errorf("%s: %w", step, err)
		}
		if at, err = res.Location(); err != nil {
			return a, fmt.Errorf("%s: %s %s", step, res.Status, page)
		}
	}
	if a.code = at.Query().Get("code"); a.code == "" || at.Query().Get("iss") != s.url {
		return a, fmt.Errorf("callback: %s %s", res.Status, at)
	}
	return a, nil
}

// tokens is a response of the token endpoint.
type tokens struct {
	Access  string `json:"access_token"`
	Refresh string `json:"refresh_token"`
	Error   string `json:"error"`
	Text    string `json:"error_description"`

	status     int
	retryAfter string
}

func (s *signInServer) post(ctx context.Context, path string, form url.Values) (t tokens, err error) {
	res, body, err := send(ctx, s.newBrowser(), "POST", s.url+path, form)
	if err != nil {
		return t, err
	}
	t.status, t.retryAfter = res.StatusCode, res.Header.Get("Retry-After")
	if body != "" {
		err = json.Unmarshal([]byte(body), &t)
	}
	return t, err
}

func (s *signInServer) redeem(ctx context.Context, a authorization) (tokens, error) {
	return s.post(ctx, "/oauth/token", url.Values{
		"grant_type": {"authorization_code"}, "code": {a.code}, "code_verifier": {a.verifier}, "client_id": {s.client},
		"redirect_uri": {programRedirect},
	})
}

func (s *signInServer) refresh(ctx context.Context, token string) (tokens, error) {
	return s.post(ctx, "/oauth/token", url.Values{
		"grant_type": {"refresh_token"}, "refresh_token": {token}, "client_id": {s.client},
	})
}

// signIn signs a person in, and returns the first tokens.
func (s *signInServer) signIn(ctx context.Context) (t tokens, err error) {
	a, err := s.authorize(ctx)
	if err != nil {
		return t, err
	}
	if t, err = s.redeem(ctx, a); err == nil && t.status != http.StatusOK {
		err = fmt.Errorf("the code gives %+v", t)
	}
	return t, err
}

func (s *signInServer) mustSignIn() tokens {
	s.t.Helper()
	t, err := s.signIn(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	return t
}

func (s *signInServer) mustRefresh(token string) tokens {
	s.t.Helper()
	t, err := s.refresh(s.t.Context(), token)
	if err != nil || t.status != http.StatusOK {
		s.t.Fatalf("the refresh gives %+v, %v", t, err)
	}
	return t
}

// newCall returns a call of a tool with a token.
func (s *signInServer) newCall(ctx context.Context, tool, token string) *http.Request {
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool + `","_meta":{` +
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
	r, err := http.NewRequestWithContext(ctx, "POST", s.url+"/mcp", strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header = http.Header{
		"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
		"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {"tools/call"}, "Mcp-Name": {tool},
		"Authorization": {"Bearer " + token},
	}
	return r
}

// call calls the tool who at the next process.
func (s *signInServer) call(ctx context.Context, token string) (status int, body string, err error) {
	res, err := s.RoundTrip(s.newCall(ctx, "who", token))
	return readCall(res, err)
}

// callAt calls the tool who at one process.
func (s *signInServer) callAt(i int, token string) (status int, body string, err error) {
	r := s.newCall(s.t.Context(), "who", token)
	sent, _ := io.ReadAll(r.Body)
	res, err := s.sendTo(s.replicas[i], r, string(sent))
	return readCall(res, err)
}

func readCall(res *http.Response, err error) (int, string, error) {
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return res.StatusCode, string(body), err
}

// checkRefusedEverywhere waits until every process refuses a token, and returns how long that took.
func (s *signInServer) checkRefusedEverywhere(token string) time.Duration {
	s.t.Helper()
	began := time.Now()
	for i := range s.replicas {
		for {
			status, body, err := s.callAt(i, token)
			if err != nil {
				s.t.Fatal(err)
			}
			if status == http.StatusUnauthorized {
				break
			}
			if time.Since(began) > programtest.Timeout {
				s.t.Fatalf("process %d still answers %d %s", i, status, body)
			}
		}
	}
	return time.Since(began)
}
