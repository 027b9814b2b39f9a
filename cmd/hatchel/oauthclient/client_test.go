package oauthclient

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

type object = map[string]any

// remote is a server with a sign-in: a protected resource, and an authorization server for it. Its members change what
// it says.
type remote struct {
	*httptest.Server
	t *testing.T

	resource, issuer func(object)     // change the metadata
	answer           func(url.Values) // changes the authorization response
	token            func(http.ResponseWriter, *http.Request) bool
	pages            map[string]http.HandlerFunc // by path, in place of others
	needs            string                      // scope of the resource
	grants           string                      // scopes that are granted
	life             time.Duration               // of access tokens

	mu        sync.Mutex
	codes     map[string]url.Values // guarded by mu
	valid     map[string]string     // access tokens, with their scopes; guarded by mu
	refreshes map[string]string     // guarded by mu
	asked     map[string]int        // requests by path; guarded by mu
	asks      []url.Values          // authorization requests; guarded by mu
}

func startRemote(t *testing.T) *remote {
	s := &remote{
		t: t, resource: func(object) {}, issuer: func(object) {}, answer: func(url.Values) {}, life: time.Hour,
		codes: map[string]url.Values{}, valid: map[string]string{}, refreshes: map[string]string{}, asked: map[string]int{},
	}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *remote) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.asked[r.URL.Path]++
	s.mu.Unlock()
	if page := s.pages[r.URL.Path]; page != nil {
		page(w, r)
		return
	}
	switch r.URL.Path {
	case "/mcp":
		s.serve(w, r)
	case "/.well-known/oauth-protected-resource/mcp":
		document := object{"resource": s.URL + "/mcp", "authorization_servers": []string{s.URL}}
		s.resource(document)
		json.NewEncoder(w).Encode(document)
	case "/.well-known/oauth-authorization-server":
		document := object{
			"issuer": s.URL, "authorization_endpoint": s.URL + "/authorize", "token_endpoint": s.URL + "/token",
			"registration_endpoint": s.URL + "/register", "revocation_endpoint": s.URL + "/revoke",
			"code_challenge_methods_supported": []string{"S256"}, "authorization_response_iss_parameter_supported": true,
		}
		s.issuer(document)
		json.NewEncoder(w).Encode(document)
	case "/register":
		var asked object
		json.NewDecoder(r.Body).Decode(&asked)
		w.WriteHeader(http.StatusCreated)
		json.NewEncoder(w).Encode(object{"client_id": "registered", "redirect_uris": asked["redirect_uris"]})
	case "/authorize":
		s.authorize(w, r)
	case "/token":
		if r.ParseForm(); s.token == nil || !s.token(w, r) {
			s.issue(w, r)
		}
	case "/revoke":
		r.ParseForm()
		s.mu.Lock()
		delete(s.refreshes, r.Form.Get("token"))
		clear(s.valid)
		s.mu.Unlock()
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

func (s *remote) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	scopes, ok := s.valid[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]
	s.mu.Unlock()
	metadata := `resource_metadata="` + s.URL + `/.well-known/oauth-protected-resource/mcp"`
	switch {
	case !ok:
		w.Header().Set("WWW-Authenticate", "Bearer "+metadata)
		w.WriteHeader(http.StatusUnauthorized)
	case s.needs != "" && !slices.Contains(strings.Fields(scopes), s.needs):
		w.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope", scope="`+s.needs+`", `+metadata)
		w.WriteHeader(http.StatusForbidden)
	default:
		io.WriteString(w, "served")
	}
}

func (s *remote) authorize(w http.ResponseWriter, r *http.Request) {
	q, code := r.URL.Query(), rand.Text()
	s.mu.Lock()
	s.codes[code] = q
	s.asks = append(s.asks, q)
	s.mu.Unlock()
	answer := url.Values{"code": {code}, "state": {q.Get("state")}, "iss": {s.URL}}
	s.answer(answer)
	http.Redirect(w, r, q.Get("redirect_uri")+"?"+answer.Encode(), http.StatusFound)
}

func (s *remote) issue(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	scopes, ok := "", false
	switch r.Form.Get("grant_type") {
	case "authorization_code":
		var asked url.Values
		asked, ok = s.codes[r.Form.Get("code")]
		delete(s.codes, r.Form.Get("code"))
		digest := sha256.Sum256([]byte(r.Form.Get("code_verifier")))
		ok = ok && asked.Get("code_challenge") == base64.RawURLEncoding.EncodeToString(digest[:]) &&
			asked.Get("redirect_uri") == r.Form.Get("redirect_uri") && asked.Get("client_id") == r.Form.Get("client_id") &&
			asked.Get("resource") == r.Form.Get("resource")
		if scopes = asked.Get("scope"); s.grants != "" {
			scopes = s.grants
		}
	case "refresh_token":
		scopes, ok = s.refreshes[r.Form.Get("refresh_token")]
		delete(s.refreshes, r.Form.Get("refresh_token"))
	}
	if !ok {
		w.WriteHeader(http.StatusBadRequest)
		json.NewEncoder(w).Encode(object{"error": "invalid_grant"})
		return
	}
	access, refresh := "access-"+rand.Text(), "refresh-"+rand.Text()
	s.valid[access], s.refreshes[refresh] = scopes, scopes
	json.NewEncoder(w).Encode(object{
		"access_token": access, "token_type": "Bearer", "expires_in": s.life.Seconds(), "refresh_token": refresh, "scope": scopes,
	})
}

// count returns how many requests a path had.
func (s *remote) count(path string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked[path]
}

// user is a person with a browser on this machine.
type user struct {
	t     *testing.T
	dir   string
	notes strings.Builder
	pages chan string // at the end of sign-ins
	opens atomic.Int32
}

func newUser(t *testing.T) *user {
	t.Setenv("PATH", t.TempDir()) // without a keyring
	return &user{t: t, dir: filepath.Join(t.TempDir(), "sign-ins"), pages: make(chan string, 100)}
}

func (u *user) open(_ context.Context, address string) {
	u.opens.Add(1)
	go func() {
		res, err := http.Get(address)
		if err != nil {
			return
		}
		defer res.Body.Close()
		text, _ := io.ReadAll(res.Body)
		u.pages <- string(text)
	}()
}

func (u *user) client(s *remote, change func(*Options)) *Client {
	u.t.Helper()
	o := Options{Endpoint: s.URL + "/mcp", Agent: "test", Dir: u.dir, Notes: &u.notes, Interactive: true, Open: u.open}
	if change != nil {
		change(&o)
	}
	c, err := New(o)
	if err != nil {
		u.t.Fatal(err)
	}
	u.t.Cleanup(c.Close)
	return c
}

// get makes a request, and returns what was served.
func get(t *testing.T, c *Client) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	res, err := c.Do(ctx, func(token string) (*http.Response, error) {
		r, _ := http.NewRequestWithContext(ctx, http.MethodPost, c.options.Endpoint, nil)
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		return http.DefaultClient.Do(r)
	})
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	text, _ := io.ReadAll(res.Body)
	return fmt.Sprintf("%d %s", res.StatusCode, text), nil
}

func (u *user) mustGet(c *Client) {
	u.t.Helper()
	if got, err := get(u.t, c); got != "200 served" {
		u.t.Fatalf("%q, %v\n%s", got, err, &u.notes)
	}
}

// kept returns what is kept of the sign-in.
func (u *user) kept(c *Client) *record {
	u.t.Helper()
	r, err := c.store.Read(u.t.Context())
	if err != nil {
		u.t.Fatal(err)
	}
	return r
}

func TestAPersonSignsInOnceAndTheTokenIsRefreshed(t *testing.T) {
	s, u := startRemote(t), newUser(t)
	c := u.client(s, nil)
	u.mustGet(c)
	ask := s.asks[0]
	if ask.Get("resource") != s.URL+"/mcp" || ask.Get("client_id") != "registered" || ask.Get("code_challenge_method") != "S256" {
		t.Errorf("asked with %v", ask)
	}
	if !strings.Contains(u.notes.String(), s.URL+"/authorize?") || !strings.Contains(u.notes.String(), "kept in "+c.store.path(".json")+" (only you can read it)") {
		t.Errorf("notes:\n%s", &u.notes)
	}
	if info, err := os.Stat(c.store.path(".json")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if info, err := os.Stat(u.dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info, err)
	}
	first, page := u.kept(c), <-u.pages
	if !strings.Contains(page, "You are signed in") || !strings.Contains(page, "You can close this page") {
		t.Error(page)
	}
	for _, secret := range []string{first.Access, first.Refresh} {
		if strings.Contains(u.notes.String(), secret) || strings.Contains(page, secret) {
			t.Error("a token is shown")
		}
	}
	u.mustGet(u.client(s, nil))
	first.Ends = time.Now()
	c.store.Write(t.Context(), first)
	u.mustGet(u.client(s, nil))
	if second := u.kept(c); second.Access == first.Access || second.Refresh == first.Refresh || u.opens.Load() != 1 || s.count("/token") != 2 {
		t.Errorf("%+v after %+v, %d sign-ins", second, first, u.opens.Load())
	}
	// A token that the server does not know any more is refreshed, too.
	s.mu.Lock()
	clear(s.valid)
	s.mu.Unlock()
	u.mustGet(u.client(s, nil))
	if u.opens.Load() != 1 || s.count("/token") != 3 {
		t.Errorf("%d sign-ins, %d requests for tokens", u.opens.Load(), s.count("/token"))
	}
	// When the refresh token has ended, the person signs in again.
	s.mu.Lock()
	clear(s.valid)
	clear(s.refreshes)
	s.mu.Unlock()
	u.mustGet(u.client(s, nil))
	if u.opens.Load() != 2 {
		t.Errorf("%d sign-ins", u.opens.Load())
	}
}

func TestSigningOutRevokesAndForgets(t *testing.T) {
	s, u := startRemote(t), newUser(t)
	u.mustGet(u.client(s, nil))
	if found, err := u.client(s, nil).SignOut(t.Context()); !found || err != nil || s.count("/revoke") != 1 || len(s.refreshes) != 0 {
		t.Errorf("%t, %v, %v", found, err, s.refreshes)
	}
	if found, err := u.client(s, nil).SignOut(t.Context()); found || err != nil {
		t.Errorf("%t, %v", found, err)
	}
	u.mustGet(u.client(s, nil))
	s.issuer = func(d object) { delete(d, "revocation_endpoint") }
	u.client(s, nil).SignOut(t.Context())
	u.mustGet(u.client(s, nil))
	if found, err := u.client(s, nil).SignOut(t.Context()); !found || err == nil || u.opens.Load() != 3 || !strings.Contains(err.Error(), "forgotten here, and not revoked") {
		t.Errorf("%t, %v, %d sign-ins", found, err, u.opens.Load())
	}
}

// What a server says about a sign-in that the program must not follow, and what it says then.
func TestAHostileServerGetsNothing(t *testing.T) {
	other := startRemote(t)
	set := func(name string, value any) func(object) { return func(d object) { d[name] = value } }
	for name, c := range map[string]struct {
		resource, issuer func(object)
		answer           func(url.Values)
		want             string
		opens            bool
	}{
		"another issuer":         {issuer: set("issuer", other.URL), want: "is that of another authorization server"},
		"a script":               {issuer: set("authorization_endpoint", "javascript:alert(1)//https://x"), want: "no address for a sign-in"},
		"a file":                 {issuer: set("authorization_endpoint", "file:///etc/passwd"), want: "no address for a sign-in"},
		"data":                   {issuer: set("authorization_endpoint", "data:text/html,x"), want: "no address for a sign-in"},
		"a flag":                 {issuer: set("authorization_endpoint", "--help"), want: "no address for a sign-in"},
		"nothing":                {issuer: set("authorization_endpoint", ""), want: "no address for a sign-in"},
		"a password":             {issuer: set("authorization_endpoint", "https://u:p@x.example/"), want: "no address for a sign-in"},
		"a plain token endpoint": {issuer: set("token_endpoint", "http://tools.example/token"), want: "it is not encrypted"},
		"a plain registration":   {issuer: set("registration_endpoint", "http://tools.example/register"), want: "it is not encrypted"},
		"no PKCE":                {issuer: set("code_challenge_methods_supported", []string{"plain"}), want: "PKCE"},
		"silence on PKCE":        {issuer: func(d object) { delete(d, "code_challenge_methods_supported") }, want: "PKCE"},
		"a foreign resource":     {resource: set("resource", other.URL+"/mcp"), want: "says that its own address is"},
		"a sibling resource":     {resource: set("resource", "RESOURCE/mc"), want: "says that its own address is"},
		"a plain issuer":         {resource: set("authorization_servers", []string{"http://login.example"}), want: "it is not encrypted"},
		"a script as issuer":     {resource: set("authorization_servers", []string{"javascript:x"}), want: "no address for a sign-in"},
		"mix-up":                 {answer: func(q url.Values) { q.Set("iss", other.URL) }, want: "nothing was sent", opens: true},
		"mix-up without iss":     {answer: func(q url.Values) { q.Del("iss") }, want: "nothing was sent", opens: true},
		"an error of another":    {answer: func(q url.Values) { q.Set("iss", other.URL); q.Set("error", "x") }, want: "nothing was sent", opens: true},
		"a refusal": {answer: func(q url.Values) {
			q.Del("code")
			q.Set("error", "access_denied")
			q.Set("error_description", "No\x1b[2J")
		}, want: "refused: access_denied (No [2J)", opens: true},
		"no code": {answer: func(q url.Values) { q.Del("code") }, want: "without a code", opens: true},
	} {
		s, u := startRemote(t), newUser(t)
		if c.resource != nil {
			s.resource = func(d object) {
				c.resource(d)
				d["resource"] = strings.Replace(d["resource"].(string), "RESOURCE", s.URL, 1)
			}
		}
		if c.issuer != nil {
			s.issuer = c.issuer
		}
		if c.answer != nil {
			s.answer = c.answer
		}
		client := u.client(s, nil)
		if got, err := get(t, client); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		if c.opens { // who has refused is not asked again by the same command
			if _, err := get(t, client); err == nil || !strings.Contains(err.Error(), c.want) || u.opens.Load() != 1 {
				t.Errorf("%s: %v, %d sign-ins", name, err, u.opens.Load())
			}
		}
		if c.opens && !strings.Contains(<-u.pages, "You are not signed in") {
			t.Errorf("%s: the page says nothing", name)
		}
		if s.count("/token") > 0 || (u.opens.Load() > 0) != c.opens || !c.opens && s.count("/register") > 0 || u.kept(client) != nil {
			t.Errorf("%s: requests %v, %d sign-ins", name, s.asked, u.opens.Load())
		}
	}
	if len(other.asked) > 0 {
		t.Errorf("another server was asked: %v", other.asked)
	}
}

func TestAServerElsewhereNamesNoAddressOfThisMachine(t *testing.T) {
	c, err := New(Options{Endpoint: "https://tools.example/mcp"})
	if err != nil {
		t.Fatal(err)
	}
	for address, want := range map[string]string{
		"https://login.example/authorize": "", "https://login.example:8443/a?tenant=1": "",
		"http://127.0.0.1:8080/authorize": "it is on this machine", "https://localhost/authorize": "it is on this machine",
		"https://0.0.0.0/": "it is on this machine", "https://[::]/": "it is on this machine", "https://a.localhost/": "it is on this machine",
		"http://[::1]/": "it is on this machine", "http://LOCALHOST./": "it is on this machine", "https://127.0.0.2:1/": "it is on this machine",
		"http://login.example/authorize": "it is not encrypted",
	} {
		if _, err := c.checkAddress("authorization_endpoint", address); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", address, err)
		}
	}
	if _, err := New(Options{Endpoint: "http://tools.example/mcp"}); err == nil {
		t.Error("tokens would be sent unencrypted")
	}
}

func TestAnAnswerOfAnotherSignInChangesNothing(t *testing.T) {
	s, u := startRemote(t), newUser(t)
	c := u.client(s, func(o *Options) {
		o.Open = func(ctx context.Context, address string) {
			asked, _ := url.Parse(address)
			back := asked.Query().Get("redirect_uri")
			for _, forged := range []string{"?code=x&state=y", "?code=x", "?error=access_denied", "/other?code=x"} {
				res, err := http.Get(back + forged)
				if err != nil || res.StatusCode < 400 {
					t.Errorf("%s: %v, %v", forged, res, err)
				}
				res.Body.Close()
			}
			r, _ := http.NewRequest(http.MethodGet, back+"?code=x&state="+asked.Query().Get("state"), nil)
			r.Host = "evil.example"
			if res, err := http.DefaultClient.Do(r); err != nil || res.StatusCode != http.StatusNotFound {
				t.Errorf("%v, %v", res, err)
			}
			u.open(ctx, address)
		}
	})
	u.mustGet(c)
}

func TestATokenEndpointThatRedirectsGetsNoFollower(t *testing.T) {
	other := startRemote(t)
	s, u := startRemote(t), newUser(t)
	s.token = func(w http.ResponseWriter, r *http.Request) bool {
		http.Redirect(w, r, other.URL+"/token", http.StatusTemporaryRedirect)
		return true
	}
	if got, err := get(t, u.client(s, nil)); err == nil || len(other.asked) > 0 {
		t.Errorf("%q, %v, %v", got, err, other.asked)
	}
	for answer, want := range map[string]string{
		`{"access_token":"a","token_type":"DPoP"}`:            `of the type "DPoP"`,
		`{"access_token":"a\nb","token_type":"Bearer"}`:       "has none",
		`{"token_type":"Bearer"}`:                             "has none",
		`{"error":"server_error"}`:                            "has none",
		`not JSON`:                                            "has none",
		`{"access_token":"a b","token_type":"Bearer"}`:        "has none",
		`{"access_token":"\u00e9","token_type":"Bearer"}`:     "has none",
		`{"access_token":["a"],"token_type":"Bearer"}`:        "has none",
		`{"access_token":"a","token_type":"","expires_in":1}`: `of the type ""`,
	} {
		s.token = func(w http.ResponseWriter, _ *http.Request) bool { io.WriteString(w, answer); return true }
		if got, err := get(t, u.client(s, nil)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %q, %v", answer, got, err)
		}
	}
}

// What a refusal or a silence of the authorization server means for the user, and for the kept tokens.
func TestARefusalIsSaidOnceAndShortly(t *testing.T) {
	for name, c := range map[string]struct {
		status        int
		body, want    string
		kept, passing bool
	}{
		"a refusal": {400, `{"error":"invalid_grant","error_description":"it\u001b[2J\nhas ended"}`,
			"URL issues no token: invalid_grant (it [2J has ended)", false, false},
		"a long refusal": {400, `{"error":"` + strings.Repeat("é", 100_000) + `"}`, "éé…", false, false},
		"a proxy":        {403, "<html>", "URL issues no token: it answers with status 403", true, false},
		"a redirect":     {307, "", "URL issues no token: it answers with status 307", true, false},
		"an outage":      {502, "<html>", "URL issues no token now: it answers with status 502. Try again in a moment", true, true},
		"a flood":        {429, `{"error":"slow_down"}`, "URL issues no token now: slow_down. Try again in a moment", true, true},
	} {
		s, u := startRemote(t), newUser(t)
		client := u.client(s, nil)
		u.mustGet(client)
		r := u.kept(client)
		r.Ends = time.Now()
		client.store.Write(t.Context(), r)
		s.token = func(w http.ResponseWriter, _ *http.Request) bool {
			w.WriteHeader(c.status)
			io.WriteString(w, c.body)
			return true
		}
		_, err := get(t, u.client(s, nil))
		said, ok := errors.AsType[*Error](err)
		if !ok || !strings.Contains(said.Error(), strings.ReplaceAll(c.want, "URL", s.URL)) || len(said.Error()) > 700 || said.Unavailable() != c.passing {
			t.Errorf("%s: %v", name, err)
		}
		// The person is asked only when the sign-in has ended.
		if kept := u.kept(client) != nil; kept != c.kept || (u.opens.Load() == 1) != c.kept {
			t.Errorf("%s: %t, %d sign-ins", name, kept, u.opens.Load())
		}
	}
}

// Servers that others have written say the same in other ways.
func TestServersOfOthersAreUnderstood(t *testing.T) {
	type pages = map[string]http.HandlerFunc
	const wellKnown = "/.well-known/"
	page := func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<!doctype html>") }
	set := func(name string, value any) func(object) { return func(d object) { d[name] = value } }
	document := func(s *remote, path string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			r.URL.Path = path
			s.ServeHTTP(w, r)
		}
	}
	silent := func(s *remote) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			s.serve(unchallenged{w}, r)
		}
	}
	for name, change := range map[string]func(s *remote){
		"a page for every path": func(s *remote) {
			s.pages = pages{
				"/mcp": silent(s), wellKnown + "oauth-protected-resource/mcp": page,
				wellKnown + "oauth-protected-resource": func(w http.ResponseWriter, _ *http.Request) {
					json.NewEncoder(w).Encode(object{"resource": s.URL + "/", "authorization_servers": []string{s.URL + "/one"}})
				},
				wellKnown + "oauth-authorization-server/one": page, wellKnown + "openid-configuration/one": page,
				"/one/.well-known/openid-configuration": document(s, wellKnown+"oauth-authorization-server"),
			}
			s.issuer = set("issuer", s.URL+"/one")
			s.answer = func(q url.Values) { q.Set("iss", s.URL+"/one") }
		},
		"its own authorization server, of 2025-03-26": func(s *remote) {
			s.pages = pages{"/mcp": silent(s), wellKnown + "oauth-protected-resource/mcp": http.NotFound}
		},
		"a slash after the issuer of the resource": func(s *remote) { s.resource = set("authorization_servers", []string{s.URL + "/"}) },
		"a slash after the issuer": func(s *remote) {
			s.issuer = set("issuer", s.URL+"/")
			s.answer = func(q url.Values) { q.Set("iss", s.URL+"/") }
		},
		"no public clients": func(s *remote) {
			s.issuer = set("token_endpoint_auth_methods_supported", []string{"client_secret_post", "private_key_jwt"})
			s.pages = pages{"/register": func(w http.ResponseWriter, r *http.Request) {
				var asked object
				if json.NewDecoder(r.Body).Decode(&asked); asked["token_endpoint_auth_method"] != "client_secret_post" {
					w.WriteHeader(http.StatusBadRequest)
					return
				}
				json.NewEncoder(w).Encode(object{"client_id": "registered", "client_secret": "secret"})
			}}
			s.token = func(w http.ResponseWriter, r *http.Request) bool {
				if r.Form.Get("client_secret") == "secret" {
					return false
				}
				w.WriteHeader(http.StatusUnauthorized)
				return true
			}
		},
		"seconds as a string, and 201": func(s *remote) {
			s.token = func(w http.ResponseWriter, _ *http.Request) bool {
				s.valid["a"] = ""
				w.WriteHeader(http.StatusCreated)
				io.WriteString(w, `{"access_token":"a","token_type":"bearer","expires_in":"3600"}`)
				return true
			}
		},
	} {
		s, u := startRemote(t), newUser(t)
		change(s)
		c := u.client(s, nil)
		if got, err := get(t, c); got != "200 served" {
			t.Errorf("%s: %q, %v", name, got, err)
			continue
		}
		if r := u.kept(c); r == nil || time.Until(r.Ends) < 50*time.Minute {
			t.Errorf("%s: kept %+v", name, r)
		}
		if ask := s.asks[0]; ask.Has("resource") == strings.HasPrefix(name, "its own") {
			t.Errorf("%s: asked with %v", name, ask)
		}
	}
	// One without a sign-in is not asked for one.
	s, u := startRemote(t), newUser(t)
	s.pages = pages{
		"/mcp": silent(s), wellKnown + "oauth-protected-resource/mcp": page, wellKnown + "oauth-protected-resource": page,
		wellKnown + "oauth-authorization-server": page, wellKnown + "openid-configuration": page,
	}
	if got, err := get(t, u.client(s, nil)); err != nil || !strings.HasPrefix(got, "401") {
		t.Errorf("%q, %v", got, err)
	}
	// One that names its metadata has to have it.
	s.pages["/mcp"] = nil
	if got, err := get(t, u.client(s, nil)); err == nil || !strings.Contains(err.Error(), "says that its metadata is at "+s.URL) {
		t.Errorf("%q, %v", got, err)
	}
}

// unchallenged is a response that does not say where people sign in.
type unchallenged struct{ http.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (w unchallenged) WriteHeader(status int) {
	w.Header().Del("WWW-Authenticate")
	w.ResponseWriter.WriteHeader(status)
}

func TestManyProcessesRefreshOnce(t *testing.T) {
	s, u := startRemote(t), newUser(t)
	c := u.client(s, nil)
	u.mustGet(c)
	r := u.kept(c)
	r.Ends = time.Now()
	if _, err := c.store.Write(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	var clients []*Client
	for range 16 {
		clients = append(clients, u.client(s, func(o *Options) { o.Notes = io.Discard }))
	}
	var all sync.WaitGroup
	for _, c := range clients {
		all.Go(func() {
			if got, err := get(t, c); got != "200 served" {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
	all.Wait()
	if s.count("/token") != 2 || u.opens.Load() != 1 {
		t.Errorf("%d requests for tokens, %d sign-ins", s.count("/token"), u.opens.Load())
	}
}

func TestAMissingScopeIsAskedFor(t *testing.T) {
	s, u := startRemote(t), newUser(t)
	s.resource = func(d object) { d["scopes_supported"] = []string{"read"} }
	s.issuer = func(d object) { d["scopes_supported"] = []string{"read", "pay", "offline_access"} }
	u.mustGet(u.client(s, nil))
	s.needs = "pay"
	u.mustGet(u.client(s, nil))
	var asked []string
	for _, q := range s.asks {
		asked = append(asked, q.Get("scope")+" "+q.Get("prompt"))
	}
	if want := []string{"read offline_access consent", "read offline_access pay consent"}; !slices.Equal(asked, want) {
		t.Errorf("asked for %q", asked)
	}
	s.needs, s.grants = "admin", "read"
	if got, err := get(t, u.client(s, nil)); err == nil || !strings.Contains(err.Error(), "needs the scope admin, and the sign-in did not give it") || u.opens.Load() != 3 {
		t.Errorf("%q, %v, %d sign-ins", got, err, u.opens.Load())
	}
}

func TestTheClientIsTheNamedOneTheOwnOneOrARegisteredOne(t *testing.T) {
	own := func(d object) { d["hatchel_client_id"] = "hatchel" }
	none := func(d object) { delete(d, "registration_endpoint") }
	for name, c := range map[string]struct {
		issuer func(object)
		id     string
		want   string
	}{
		"named": {own, "by-hand", "by-hand"}, "own": {own, "", "hatchel"}, "registered": {func(object) {}, "", "registered"},
		"named, without registration": {none, "by-hand", "by-hand"}, "none": {none, "", ""},
	} {
		s, u := startRemote(t), newUser(t)
		s.issuer = c.issuer
		_, err := get(t, u.client(s, func(o *Options) { o.ClientID = c.id }))
		if c.want == "" {
			if err == nil || !strings.Contains(err.Error(), "requires a key: set HATCHEL_KEY") || !strings.Contains(err.Error(), "--client-id") {
				t.Errorf("%s: %v", name, err)
			}
		} else if err != nil || s.asks[0].Get("client_id") != c.want {
			t.Errorf("%s: %v, %v", name, s.asks, err)
		}
	}
}

func TestWithoutAPersonNobodySignsIn(t *testing.T) {
	s, u := startRemote(t), newUser(t)
	c := u.client(s, func(o *Options) { o.Interactive = false })
	if got, err := get(t, c); err == nil || !strings.Contains(err.Error(), "set HATCHEL_KEY") || s.count("/register") > 0 {
		t.Errorf("%q, %v", got, err)
	}
	// Without a sign-in, the response is that of the server.
	s.resource = func(d object) { delete(d, "authorization_servers") }
	if got, err := get(t, u.client(s, nil)); err != nil || !strings.HasPrefix(got, "401") {
		t.Errorf("%q, %v", got, err)
	}
	// A user who ends the program ends the sign-in.
	s.resource = func(object) {}
	ctx, cancel := context.WithCancel(t.Context())
	c = u.client(s, func(o *Options) { o.Open = func(context.Context, string) { cancel() } })
	if _, err := c.Do(ctx, func(string) (*http.Response, error) { return http.Get(s.URL + "/mcp") }); err != context.Canceled {
		t.Error(err)
	}
}

func TestTheLastAddressCanBePasted(t *testing.T) {
	s, u := startRemote(t), newUser(t)
	terminal, keyboard := io.Pipe()
	u.mustGet(u.client(s, func(o *Options) {
		o.Pasted = terminal
		o.Open = func(_ context.Context, address string) {
			go func() {
				elsewhere := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
				res, err := elsewhere.Get(address)
				if err != nil {
					t.Error(err)
					return
				}
				io.WriteString(keyboard, "\nhttp://127.0.0.1:1/callback?code=x&state=wrong\n"+res.Header.Get("Location")+"\n")
			}()
		}
	}))
	text := u.notes.String()
	if !strings.Contains(text, "Open this address, if no browser does:") || !strings.Contains(text, "paste the address of that page here") ||
		strings.Count(text, "This is not the address of the last page of this sign-in, which begins with http://127.0.0.1:") != 1 {
		t.Errorf("notes:\n%s", text)
	}
}

// A program secret-tool that keeps values in a file.
const secretTool = `#!/bin/sh
case $1 in
lookup) exec /bin/cat "$KEPT" ;;
store) exec /bin/cat >"$KEPT" ;;
esac
exit 1
`

func TestTheFileIsEncryptedWhereTheSystemKeepsKeys(t *testing.T) {
	s, u := startRemote(t), newUser(t)
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "secret-tool"), []byte(secretTool), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin)
	t.Setenv("KEPT", filepath.Join(bin, "kept"))
	c := u.client(s, nil)
	u.mustGet(c)
	text, err := os.ReadFile(c.store.path(".json"))
	if r := u.kept(c); err != nil || r == nil || strings.Contains(string(text), r.Access) || strings.Contains(string(text), s.URL) {
		t.Errorf("%s, %v", text, err)
	}
	if !strings.Contains(u.notes.String(), ", encrypted with a key in the Secret Service of this desktop;") {
		t.Errorf("notes:\n%s", &u.notes)
	}
	u.mustGet(u.client(s, nil))
	// The file of one server does not open as that of another one.
	elsewhere := startRemote(t)
	d := u.client(elsewhere, nil)
	os.WriteFile(d.store.path(".json"), text, 0o600)
	if r := u.kept(d); r != nil {
		t.Errorf("%+v", r)
	}
	// Without the key, or with another one, the person signs in again.
	if err := os.WriteFile(filepath.Join(bin, "kept"), []byte(strings.Repeat("0", 64)), 0o600); err != nil {
		t.Fatal(err)
	}
	u.mustGet(u.client(s, nil))
	t.Setenv("PATH", t.TempDir())
	u.mustGet(u.client(s, nil))
	if u.opens.Load() != 3 || !strings.Contains(u.notes.String(), "only you can read it") {
		t.Errorf("%d sign-ins\n%s", u.opens.Load(), &u.notes)
	}
}

func TestAnotherFileThanThatOfASignInIsIgnored(t *testing.T) {
	s, u := startRemote(t), newUser(t)
	c := u.client(s, nil)
	u.mustGet(c)
	good, _ := os.ReadFile(c.store.path(".json"))
	for _, text := range []string{"", "{}", "null", "[]", `{"sign_in":null}`, `{"sealed":"AAAA"}`, `{"sign_in":{"access_token":"x"}}`, strings.ReplaceAll(string(good), s.URL, "https://x.example")} {
		os.WriteFile(c.store.path(".json"), []byte(text), 0o600)
		if r := u.kept(c); r != nil {
			t.Errorf("%s: %+v", text, r)
		}
	}
}

// A server that asks for no sign-in is used without a place for tokens.
func TestWithoutAPlaceForTokensNobodySignsIn(t *testing.T) {
	s, u := startRemote(t), newUser(t)
	open := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "served") }))
	defer open.Close()
	if got, err := get(t, u.client(s, func(o *Options) { o.Dir, o.Endpoint = "", open.URL+"/mcp" })); got != "200 served" {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := get(t, u.client(s, func(o *Options) { o.Dir = "" })); err == nil || !strings.Contains(err.Error(), "HOME is not set") || u.opens.Load() > 0 {
		t.Errorf("%q, %v", got, err)
	}
}

func TestEndpointsAreNamedInOneWay(t *testing.T) {
	for address, want := range map[string]string{
		"https://Tools.Example:443/mcp/": "https://tools.example/mcp", "https://tools.example./mcp": "https://tools.example/mcp",
		"http://127.0.0.1:80/mcp": "http://127.0.0.1/mcp", "http://[::1]:8080/mcp/a%2Fb": "http://[::1]:8080/mcp/a%2Fb",
	} {
		u, err := url.Parse(address)
		if err != nil || canonical(u) != want {
			t.Errorf("%s: %s, %v", address, canonical(u), err)
		}
	}
}
