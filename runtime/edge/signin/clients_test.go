package signin_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/golang-jwt/jwt/v5"

	"hatchel/runtime"
	"hatchel/runtime/edge/signin/client"
)

// documentSite serves the documents of example.com.
type documentSite struct {
	documents *client.Documents
	texts     map[string]string // by path
	requests  atomic.Int32
	passed    atomic.Int64 // nanoseconds by which its clock is ahead
}

func openDocuments(t *testing.T) *documentSite {
	t.Helper()
	s := &documentSite{texts: map[string]string{}}
	web := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.requests.Add(1)
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, s.texts[r.URL.Path])
	}))
	t.Cleanup(web.Close)
	roots := x509.NewCertPool()
	roots.AddCert(web.Certificate())
	s.documents = client.NewDocuments(client.DocumentsOptions{
		Log: slog.New(slog.DiscardHandler), Roots: roots,
		Now: func() time.Time { return time.Now().Add(time.Duration(s.passed.Load())) },
		Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, web.Listener.Addr().String())
		},
	})
	return s
}

// use builds configurations with the documents.
func (s *documentSite) use(b *runtime.Build) { b.Documents = s.documents }

// describe sets the document at a path, with members in addition, and returns its address.
func (s *documentSite) describe(path, redirect, more string) string {
	id := "https://example.com" + path
	s.texts[path] = fmt.Sprintf(`{"client_id":%q,"client_name":"Example <b>","redirect_uris":[%q],
		"grant_types":["authorization_code","refresh_token"]%s}`, id, redirect, more)
	return id
}

// TestAProgramWithADocumentSignsIn goes the whole way, while its document changes, and ends with its host.
func TestAProgramWithADocumentSignsIn(t *testing.T) {
	site := openDocuments(t)
	id := site.describe("/client", "http://127.0.0.1/callback", "")
	r := openRigWith(t, site.use, `documents = ["example.com"]`, "")
	p := r.program(id, loopback())
	consent := newBrowser(t).send("GET", p.request(), nil)
	for _, want := range []string{
		`<strong id="client">example.com</strong>`, `<q id="name">Example &lt;b&gt;</q>`, "a program on this computer",
	} {
		if !strings.Contains(consent.text, want) {
			t.Errorf("the page has no %s", want)
		}
	}
	first := p.signIn()
	r.mustCall(first.Access, "ada of finance")
	if n := site.requests.Load(); n != 1 {
		t.Errorf("%d requests", n)
	}
	// The document gets another address. Who signs in is asked again; who has signed in goes on.
	code := p.code()
	site.describe("/client", "https://evil.example/callback", "")
	site.passed.Store(int64(time.Hour))
	evil := r.program(id, "https://evil.example/callback")
	if a := evil.post("/oauth/token", "grant_type", "authorization_code", "code", code, "client_id", id,
		"redirect_uri", evil.redirect, "code_verifier", p.verifier); a.Error != "invalid_grant" {
		t.Errorf("the code is redeemed for another address: %+v", a)
	}
	if a := p.redeem(code); a.status != http.StatusOK {
		t.Errorf("the code is not redeemed after the document has changed: %+v", a)
	}
	next := p.refresh(first.Refresh)
	if next.status != http.StatusOK {
		t.Errorf("the refresh gives %+v", next)
	}
	if refused := newBrowser(t).send("GET", p.request(), nil); refused.form() != "" || refused.location != "" {
		t.Errorf("an address that the document has no more: %d %s", refused.status, refused.location)
	}
	r.load(`documents = ["other.example"]`, "")
	if a := p.refresh(next.Refresh); a.Error != "invalid_client" || a.status != http.StatusUnauthorized {
		t.Errorf("the refresh of a host that is admitted no more gives %+v", a)
	}
	before := site.requests.Load()
	if refused := newBrowser(t).send("GET", p.request(), nil); refused.status != http.StatusBadRequest ||
		!strings.Contains(refused.says(), "does not admit programs of example.com") || site.requests.Load() != before {
		t.Errorf("%d %s", refused.status, refused.says())
	}
}

// clientKey signs assertions.
type clientKey struct{ *ecdsa.PrivateKey }

func newClientKey() clientKey {
	key, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	return clientKey{key}
}

func (k clientKey) set() string {
	text, _ := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: k.Public(), KeyID: "1"}}})
	return string(text)
}

// assertion returns the fields that authenticate a client.
func (k clientKey) assertion(id, audience string) []string {
	token := jwt.NewWithClaims(jwt.SigningMethodES256, jwt.MapClaims{
		"iss": id, "sub": id, "aud": audience, "jti": rand.Text(), "exp": time.Now().Add(time.Minute).Unix(),
	})
	text, _ := token.SignedString(k.PrivateKey)
	return []string{"client_assertion", text, "client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"}
}

// TestAProgramWithKeysProvesWhoItIs uses a document with keys, which change between consent and token.
func TestAProgramWithKeysProvesWhoItIs(t *testing.T) {
	site := openDocuments(t)
	own, other := newClientKey(), newClientKey()
	const method = `,"token_endpoint_auth_method":"private_key_jwt","token_endpoint_auth_methods_supported":["none","private_key_jwt"],`
	id := site.describe("/client", "https://example.com/cb", method+`"jwks_uri":"https://example.com/keys"`)
	site.texts["/keys"] = own.set()
	r := openRigWith(t, site.use, `documents = ["example.com"]`, "")
	p := r.program(id, "https://example.com/cb")
	code := p.code()
	site.texts["/keys"] = other.set()
	site.passed.Store(int64(time.Hour))
	newBrowser(t).send("GET", p.request(), nil) // the new keys are known now
	tokenURL := r.url + "/oauth/token"
	for name, fields := range map[string][]string{
		"no assertion":         nil,
		"the keys of now":      other.assertion(id, tokenURL),
		"another audience":     own.assertion(id, "https://evil.example/oauth/token"),
		"a secret in addition": append(own.assertion(id, tokenURL), "client_secret", "x"),
	} {
		if a := p.redeem(code, fields...); a.Access != "" || a.Error != "invalid_client" && a.Error != "invalid_request" {
			t.Errorf("%s: %+v", name, a)
		}
	}
	used := own.assertion(id, tokenURL)
	first := p.redeem(code, used...)
	if first.status != http.StatusOK {
		t.Fatalf("%+v", first)
	}
	if a := p.refresh(first.Refresh, used...); a.Error != "invalid_client" {
		t.Errorf("an assertion that was used before: %+v", a)
	}
	if a := p.refresh(first.Refresh); a.Error != "invalid_client" {
		t.Errorf("a stolen refresh token: %+v", a)
	}
	next := p.refresh(first.Refresh, own.assertion(id, r.url)...)
	if next.status != http.StatusOK {
		t.Fatalf("%+v", next)
	}
	if a := r.post("/oauth/revoke", "token", next.Refresh, "client_id", id); a.Error != "invalid_client" {
		t.Errorf("somebody else ends the sign-in: %+v", a)
	}
	r.mustCall(next.Access, "ada of finance")
}

// TestAProgramThatHasRegisteredItselfSignsIn also reloads without its address, and without registration.
func TestAProgramThatHasRegisteredItselfSignsIn(t *testing.T) {
	const all = `register { redirects = ["loopback", "cursor://anysphere.cursor-mcp"] }`
	r := openRig(t, all, "")
	known := r.register(`{"client_name":"Claude\u202e","redirect_uris":["http://127.0.0.1:1/callback",
		"cursor://anysphere.cursor-mcp/cb","https://www.cursor.com/cb"],"token_endpoint_auth_method":"client_secret_post"}`)
	if known.status != http.StatusCreated || known.Secret != "" {
		t.Fatalf("%+v", known)
	}
	p := r.program(known.ID, loopback())
	consent := newBrowser(t).send("GET", p.request(), nil)
	for _, want := range []string{
		`<strong id="client">a program on this computer</strong>`, `<q id="name">Claude&lt;U+202E&gt;</q>`,
		"Nobody has checked this name",
	} {
		if !strings.Contains(strings.ReplaceAll(consent.text, "&#43;", "+"), want) {
			t.Errorf("the page has no %s", want)
		}
	}
	first := p.signIn()
	r.mustCall(first.Access, "ada of finance")
	r.program(known.ID, "cursor://anysphere.cursor-mcp/cb").signIn()
	if refused := newBrowser(t).send("GET", r.program(known.ID, "https://www.cursor.com/cb").request(), nil); refused.location != "" {
		t.Error("a dropped address is used")
	}
	if evil := r.register(`{"redirect_uris":["https://evil.example/cb"]}`); evil.status != 400 || evil.Error != "invalid_redirect_uri" {
		t.Errorf("%+v", evil)
	}
	r.load(`register { redirects = ["cursor://anysphere.cursor-mcp"] }`, "")
	if a := p.refresh(first.Refresh); a.Error != "invalid_client" {
		t.Errorf("an address that is admitted no more: %+v", a)
	}
	r.load("", "")
	if refused := newBrowser(t).send("GET", p.request(), nil); refused.location != "" || refused.form() != "" ||
		!strings.Contains(refused.says(), "add it again") {
		t.Errorf("without registration: %d %s", refused.status, refused.says())
	}
}

// TestASecretMayBeSentWithBasic also sends it as clients do that do not encode it as in a form.
func TestASecretMayBeSentWithBasic(t *testing.T) {
	r := openRig(t, `client "ci" {
		redirects = ["https://ci.example/cb"]
		secret    = secret.client
	}`, "")
	p := r.program("ci", "https://ci.example/cb")
	first := p.redeem(p.code(), "client_secret", programSecret)
	if first.status != http.StatusOK {
		t.Fatalf("%+v", first)
	}
	for name, credential := range map[string]string{
		"encoded": "ci:" + url.QueryEscape(programSecret), "not encoded": "ci:" + programSecret, "wrong": "ci:x",
	} {
		q, _ := http.NewRequestWithContext(t.Context(), "POST", r.url+"/oauth/token", strings.NewReader(url.Values{
			"grant_type": {"refresh_token"}, "refresh_token": {first.Refresh},
		}.Encode()))
		q.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		q.Header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(credential)))
		resp, err := http.DefaultClient.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		isRefused := resp.StatusCode == http.StatusUnauthorized && resp.Header.Get("WWW-Authenticate") != ""
		if isRefused != (name == "wrong") {
			t.Errorf("%s: %d", name, resp.StatusCode)
		}
	}
}

// TestADeclaredClientEndsWithItsBlock removes blocks of clients whose ids and addresses other clients could have.
func TestADeclaredClientEndsWithItsBlock(t *testing.T) {
	const id, all = "https://example.com/client", `documents = ["example.com"]
		register { redirects = ["loopback", "https://ci.example"] }`
	keys := newClientKey()
	r := openRig(t, all+fmt.Sprintf(`
		client "ci" {
			redirects = ["https://ci.example/cb"]
			secret    = secret.client
		}
		client "tool" { redirects = ["http://127.0.0.1/callback"] }
		client %q {
			redirects = ["https://example.com/cb"]
			keys      = %q
		}`, id, keys.set()), "")
	secret, word, document := r.program("ci", "https://ci.example/cb"), r.program("tool", loopback()), r.program(id, "https://example.com/cb")
	tokens := map[*program]*answer{
		secret: secret.redeem(secret.code(), "client_secret", programSecret), word: word.signIn(),
		document: document.redeem(document.code(), keys.assertion(id, r.url)...),
	}
	r.load(all, "")
	for p, first := range tokens {
		if first.status != http.StatusOK {
			t.Fatalf("%s: %+v", p.id, first)
		}
		if a := p.refresh(first.Refresh); a.Error != "invalid_client" || a.status != http.StatusUnauthorized {
			t.Errorf("%s, without its block and its credential: %+v", p.id, a)
		}
	}
}

// TestAPersonIsWarnedOfAProgramWithoutAName shows a document that has no name, for an address that every program has.
func TestAPersonIsWarnedOfAProgramWithoutAName(t *testing.T) {
	site := openDocuments(t)
	id := site.describe("/client", loopback(), "")
	site.texts["/client"] = strings.Replace(site.texts["/client"], `"client_name":"Example <b>",`, "", 1)
	r := openRigWith(t, site.use, `documents = ["example.com"]`, "")
	consent := newBrowser(t).send("GET", r.program(id, loopback()).request(), nil)
	if !strings.Contains(consent.text, "Every program on this computer can say that it is this one.") ||
		strings.Contains(consent.text, "calls itself") {
		t.Error(consent.text)
	}
}

// TestTooManyDocumentsAreNoFaultOfTheClient uses assertions with clients whose documents may not be requested any more.
func TestTooManyDocumentsAreNoFaultOfTheClient(t *testing.T) {
	site := openDocuments(t)
	r := openRigWith(t, site.use, `documents = ["example.com"]
		assertions { clients = ["https://example.com/client"] }`, "")
	for n := range 12 {
		id := fmt.Sprint("https://example.com/", n)
		a := r.exchange(r.assertion(map[string]any{"client_id": id}), "client_id", id)
		isLimited := a.status == http.StatusTooManyRequests && a.Error == "temporarily_unavailable" && a.header.Get("Retry-After") != ""
		if n < 10 && a.Error != "invalid_client" || n >= 10 && !isLimited {
			t.Errorf("client %d gives %+v", n, a)
		}
	}
}

// TestTheLogSaysWhatAProgramHasSent refuses requests of programs, from which an operator sees what to declare.
func TestTheLogSaysWhatAProgramHasSent(t *testing.T) {
	r := openRig(t, `register { redirects = ["loopback"] }`, "")
	r.register(`{"redirect_uris":["https://www.cursor.com/cb"]}`)
	p := r.program("hatchel", "https://tool.example/cb")
	newBrowser(t).send("GET", p.request(), nil)
	newBrowser(t).send("GET", r.program("hatchel", loopback()).request("code_challenge_method", "plain"), nil)
	newBrowser(t).send("GET", r.program("https://documents.example/client", loopback()).request(), nil)
	r.post("/oauth/token", "grant_type", "refresh_token", "refresh_token", "not-a-token", "client_id", programSecret)
	for _, want := range []string{
		"https://www.cursor.com/cb", "redirect=https://tool.example/cb", "code_challenge_method must be S256",
		"client=https://documents.example/client", "invalid_grant: the refresh token is not valid",
	} {
		if text := r.logged(); !strings.Contains(text, "sign-in request refused") || !strings.Contains(text, want) {
			t.Errorf("the log has no %s:\n%s", want, text)
		}
	}
	for n := range 200 { // networks
		r.from(n, "GET", "/oauth/authorize?client_id=flood", "", "")
	}
	if n := strings.Count(r.logged(), "sign-in request refused"); n != 60 {
		t.Errorf("the log has %d lines of a flood", n)
	}
	if text := r.logged(); strings.Contains(text, programSecret) || strings.Contains(text, "not-a-token") {
		t.Errorf("the log has a credential:\n%s", text)
	}
}
