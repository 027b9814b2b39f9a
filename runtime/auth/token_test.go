package auth_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"hatchel/hcl"
	"hatchel/runtime/auth"
	"hatchel/runtime/auth/issuertest"
	"hatchel/runtime/mcp"
)

const audience = "https://tools.example/mcp"

// clock is a clock that stands where it is put.
type clock struct{ ahead atomic.Int64 }

func (c *clock) now() time.Time           { return time.Now().Add(time.Duration(c.ahead.Load())) }
func (c *clock) advance(by time.Duration) { c.ahead.Add(int64(by)) }
func digest(key string) [sha256.Size]byte { return sha256.Sum256([]byte(key)) }
func trusting(i *issuertest.Issuer) hcl.JWT {
	return hcl.JWT{Issuer: i.URL, Audience: audience, GroupsClaim: "groups", ClockSkew: time.Minute, Algorithms: []string{"RS256", "ES256", "EdDSA"}}
}

// knowing makes what a configuration knows, and the clock by which it does.
func knowing(t *testing.T, a *hcl.Auth) (*auth.Callers, *clock) {
	t.Helper()
	c := new(clock)
	return auth.New(a, options(t, c)), c
}

func options(t *testing.T, c *clock) auth.Options {
	return auth.Options{Issuers: new(auth.Issuers), Log: slog.New(slog.DiscardHandler), Now: c.now, Defer: func(f func() error) { t.Cleanup(func() { f() }) }}
}

// request is one with headers: name, value, …
func request(headers ...string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "http://tools.example/mcp", nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	return r
}

// asked is what came of a request: who it is, or the status and the challenge.
func asked(c *auth.Callers, r *http.Request) (*mcp.Identity, string) {
	i, refused := c.Identify(r)
	if refused == nil {
		return i, ""
	}
	h := http.Header{}
	c.Challenge(h, r, refused)
	return nil, fmt.Sprint(refused.Status, " ", h.Get("WWW-Authenticate"), h.Get("Retry-After"))
}

func bearer(text string) *http.Request { return request("Authorization", "Bearer "+text) }

func TestATokenSaysWhoItIs(t *testing.T) {
	i := issuertest.Open(t)
	source := trusting(i)
	source.GroupsClaim = "realm_access.roles"
	c, _ := knowing(t, &hcl.Auth{Issuers: []*hcl.JWT{&source}, Headers: []string{"x-tenant"}})
	r := bearer(i.Token(audience, map[string]any{"aud": []string{"other", audience}, "scope": "a b", "scp": []string{"c"}, "tenant": "t1", "realm_access": map[string]any{"roles": []any{"finance", 1}}}))
	r.Header["X-Tenant"] = []string{"one", "two"}
	r.Header["Cookie"] = []string{"secret"}
	got, refused := asked(c, r)
	if refused != "" {
		t.Fatal(refused)
	}
	var claims map[string]any
	if err := json.Unmarshal(got.Claims, &claims); err != nil || claims["tenant"] != "t1" {
		t.Errorf("the claims are %s", got.Claims)
	}
	if got.Subject != "ada" || got.Key != i.URL || fmt.Sprint(got.Groups, got.Scopes, got.Headers) != "[finance] [a b c] map[x-tenant:one, two]" ||
		got.Metadata != "https://tools.example/.well-known/oauth-protected-resource/mcp" || !c.Stands(got) {
		t.Errorf("%+v", got)
	}
}

func TestNoBadTokenIsTaken(t *testing.T) {
	i := issuertest.Open(t)
	source := trusting(i)
	c, _ := knowing(t, &hcl.Auth{Issuers: []*hcl.JWT{&source}})
	if _, refused := asked(c, bearer(i.Token(audience, nil))); refused != "" {
		t.Fatal(refused)
	}
	for what, token := range issuertest.Bad(t, i, audience) {
		if got, refused := asked(c, bearer(token)); got != nil || !strings.HasPrefix(refused, `401 Bearer error="invalid_token", error_description="`) || !strings.Contains(refused, `resource_metadata="https://tools.example/`) {
			t.Errorf("a token %s: %v, %s", what, got, refused)
		}
	}
	if got, refused := asked(c, request("X-API-Key", i.Token(audience, nil))); got != nil || !strings.HasPrefix(refused, "401") {
		t.Errorf("a token as a key: %v, %s", got, refused)
	}
	token := jwt.NewWithClaims(jwt.SigningMethodRS256, i.Claims(audience, nil))
	token.Header["kid"], token.Header["crit"] = "first", []string{"b64"}
	text, err := token.SignedString(i.Key().Private)
	if err != nil {
		t.Fatal(err)
	}
	if got, refused := asked(c, bearer(text)); got != nil || !strings.HasPrefix(refused, "401") {
		t.Errorf("a token with an extension: %v, %s", got, refused)
	}
}

func TestAnAlgorithmThatIsNotDeclaredIsNotTaken(t *testing.T) {
	i := issuertest.Open(t)
	for _, algorithm := range []string{"ES256", "EdDSA", "PS256"} {
		key := issuertest.NewKey(t, algorithm, algorithm)
		i.Serve(key)
		source := trusting(i)
		source.Algorithms = []string{algorithm}
		c, _ := knowing(t, &hcl.Auth{Issuers: []*hcl.JWT{&source}})
		if _, refused := asked(c, bearer(i.Token(audience, nil))); refused != "" {
			t.Errorf("%s: %s", algorithm, refused)
		}
		source.Algorithms = []string{"RS256"}
		if c, _ = knowing(t, &hcl.Auth{Issuers: []*hcl.JWT{&source}}); c == nil {
			t.Fatal("nobody is known")
		}
		if got, refused := asked(c, bearer(i.Token(audience, nil))); got != nil || !strings.HasPrefix(refused, "401") {
			t.Errorf("%s, undeclared: %v, %s", algorithm, got, refused)
		}
	}
}

func TestClocksMayDifferByTheSkew(t *testing.T) {
	i := issuertest.Open(t)
	source := trusting(i)
	c, _ := knowing(t, &hcl.Auth{Issuers: []*hcl.JWT{&source}})
	for ago, good := range map[time.Duration]bool{30 * time.Second: true, 5 * time.Minute: false} {
		token := i.Token(audience, map[string]any{"exp": time.Now().Add(-ago).Unix()})
		if _, refused := asked(c, bearer(token)); (refused == "") != good {
			t.Errorf("expired %v ago: %q", ago, refused)
		}
	}
}

func TestMissingScopesAreSaid(t *testing.T) {
	i := issuertest.Open(t)
	source := trusting(i)
	source.RequiredScopes = []string{"tools", "more"}
	c, _ := knowing(t, &hcl.Auth{Issuers: []*hcl.JWT{&source}})
	if _, refused := asked(c, bearer(i.Token(audience, map[string]any{"scope": "more other"}))); !strings.HasPrefix(refused, `403 Bearer error="insufficient_scope"`) || !strings.Contains(refused, `scope="tools more"`) {
		t.Error(refused)
	}
	if _, refused := asked(c, request()); !strings.HasPrefix(refused, `401 Bearer scope="tools more", resource_metadata=`) {
		t.Error(refused)
	}
	if _, refused := asked(c, bearer(i.Token(audience, map[string]any{"scope": "more tools"}))); refused != "" {
		t.Error(refused)
	}
}

func TestKeysAreRotated(t *testing.T) {
	i := issuertest.Open(t)
	source := trusting(i)
	c, clock := knowing(t, &hcl.Auth{Issuers: []*hcl.JWT{&source}})
	before := i.Token(audience, nil)
	if _, refused := asked(c, bearer(before)); refused != "" {
		t.Fatal(refused)
	}
	i.Serve(issuertest.NewKey(t, "second", "RS256"))
	if _, refused := asked(c, bearer(i.Token(audience, nil))); refused != "" {
		t.Errorf("the new key: %s", refused)
	}
	if _, refused := asked(c, bearer(before)); refused == "" {
		t.Error("the key that was taken back is taken")
	}
	i.Serve(issuertest.NewKey(t, "third", "RS256"))
	clock.advance(16 * time.Minute)
	if _, refused := asked(c, bearer(i.Token(audience, map[string]any{"exp": clock.now().Add(time.Hour).Unix()}))); refused != "" {
		t.Errorf("the key after a while: %s", refused)
	}
}

func TestAnIssuerIsNotAskedForEveryUnknownKey(t *testing.T) {
	i := issuertest.Open(t)
	source := trusting(i)
	c, clock := knowing(t, &hcl.Auth{Issuers: []*hcl.JWT{&source}})
	flood := func() {
		for n := range 100 {
			key := i.Key()
			key.ID = fmt.Sprint("unknown ", n)
			if got, _ := asked(c, bearer(issuertest.Sign(t, key, i.Claims(audience, nil)))); got != nil {
				t.Error("it is taken")
			}
		}
	}
	flood()
	if n := i.Asked("/keys"); n > 4 {
		t.Errorf("the issuer was asked %d times", n)
	}
	clock.advance(10 * time.Second)
	flood()
	if n := i.Asked("/keys"); n > 5 {
		t.Errorf("the issuer was asked %d times", n)
	}
	if _, refused := asked(c, bearer(i.Token(audience, nil))); refused != "" {
		t.Errorf("who has a good token is refused: %s", refused)
	}
}

func TestManyWhoComeAtOnceAskTheIssuerOnce(t *testing.T) {
	i := issuertest.Open(t)
	source := trusting(i)
	c, _ := knowing(t, &hcl.Auth{Issuers: []*hcl.JWT{&source}})
	token, release := i.Token(audience, nil), i.Hold()
	var all, begun sync.WaitGroup
	for range 50 {
		begun.Add(1)
		all.Go(func() {
			begun.Done()
			if _, refused := asked(c, bearer(token)); refused != "" {
				t.Error(refused)
			}
		})
	}
	begun.Wait()
	release()
	all.Wait()
	if n := i.Asked("/keys"); n > 2 {
		t.Errorf("the issuer was asked %d times", n)
	}
}

func TestAnIssuerThatDoesNotAnswerIsNoReasonToTakeAToken(t *testing.T) {
	i := issuertest.Open(t)
	source := trusting(i)
	c, clock := knowing(t, &hcl.Auth{Issuers: []*hcl.JWT{&source}})
	i.Fail(http.StatusInternalServerError)
	if got, refused := asked(c, bearer(i.Token(audience, nil))); got != nil || refused != "503 5" {
		t.Errorf("%v, %s", got, refused)
	}
	if diags := c.Probe(t.Context()); len(diags) != 1 || !strings.Contains(diags[0].Detail, "status 500") {
		t.Errorf("%v", diags)
	}
	i.Fail(0)
	if got, refused := asked(c, bearer(i.Token(audience, nil))); got == nil {
		t.Fatal(refused)
	}
	i.Fail(http.StatusInternalServerError)
	forever := map[string]any{"exp": time.Now().Add(100 * time.Hour).Unix()}
	clock.advance(30 * time.Minute)
	if _, refused := asked(c, bearer(i.Token(audience, forever))); refused != "" {
		t.Errorf("while its keys are not old: %s", refused)
	}
	clock.advance(2 * time.Hour)
	if _, refused := asked(c, bearer(i.Token(audience, forever))); refused != "503 5" {
		t.Errorf("when its keys are old: %s", refused)
	}
}

func TestWhatIsNoKeyIsNotTaken(t *testing.T) {
	i := issuertest.Open(t)
	for what, raw := range map[string]string{
		"nothing": ``, "no object": `[]`, "no keys": `{"keys":[]}`, "a secret": `{"keys":[{"kty":"oct","kid":"first","k":"c2VjcmV0"}]}`,
		"too much":     `{"keys":["` + strings.Repeat("x", 2<<20) + `"]}`,
		"other things": `{"keys":[1,{"kty":"later"},{"kty":"RSA","kid":"first","n":"AQAB","e":"AQAB"}]}`,
	} {
		i.ServeRaw([]byte(raw))
		source := trusting(i)
		c, _ := knowing(t, &hcl.Auth{Issuers: []*hcl.JWT{&source}})
		if got, refused := asked(c, bearer(i.Token(audience, nil))); got != nil || strings.HasPrefix(refused, "200") {
			t.Errorf("%s: %v, %s", what, got, refused)
		}
	}
}

func TestAnIssuerIsFoundByItsMetadata(t *testing.T) {
	i := issuertest.Open(t)
	for _, path := range []string{"/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"} {
		i.DescribeAt(path)
		source := trusting(i)
		c, _ := knowing(t, &hcl.Auth{Issuers: []*hcl.JWT{&source}})
		if diags := c.Probe(t.Context()); diags != nil {
			t.Errorf("%s: %v", path, diags)
		}
	}
	pretender := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"issuer":"https://id.example","jwks_uri":"%s/keys"}`, i.URL)
	}))
	defer pretender.Close()
	c, _ := knowing(t, &hcl.Auth{Issuers: []*hcl.JWT{{Issuer: pretender.URL, Audience: audience, Algorithms: []string{"RS256"}}}})
	if diags := c.Probe(t.Context()); len(diags) != 1 || !strings.Contains(diags[0].Detail, "another issuer") {
		t.Errorf("%v", diags)
	}
	i.DescribeAt("/nowhere")
	source := trusting(i)
	source.JWKS = i.URL + "/keys"
	if c, _ = knowing(t, &hcl.Auth{Issuers: []*hcl.JWT{&source}}); c.Probe(t.Context()) != nil {
		t.Error("keys whose address is declared are looked for elsewhere")
	}
}

func TestAReloadThatLeavesAnIssuerAloneDoesNotAskItAgain(t *testing.T) {
	i := issuertest.Open(t)
	source, clock := trusting(i), new(clock)
	o := options(t, clock)
	first := auth.New(&hcl.Auth{Issuers: []*hcl.JWT{&source}}, o)
	who, _ := asked(first, bearer(i.Token(audience, nil)))
	stricter := source
	stricter.RequiredScopes = []string{"tools"}
	second, third := auth.New(&hcl.Auth{Issuers: []*hcl.JWT{&source}}, o), auth.New(&hcl.Auth{Issuers: []*hcl.JWT{&stricter}}, o)
	asked(second, bearer(i.Token(audience, nil)))
	if n := i.Asked("/keys"); n != 1 {
		t.Errorf("it was asked %d times", n)
	}
	if !second.Stands(who) || third.Stands(who) {
		t.Errorf("who was known stands where nothing has changed: %t, and where tokens take more: %t", second.Stands(who), third.Stands(who))
	}
}

func TestMetadataSaysWhereTokensAreIssued(t *testing.T) {
	i := issuertest.Open(t)
	source := trusting(i)
	source.RequiredScopes = []string{"tools"}
	c, _ := knowing(t, &hcl.Auth{Issuers: []*hcl.JWT{&source}})
	named := source
	named.Audience = "the tools"
	plain, _ := knowing(t, &hcl.Auth{Issuers: []*hcl.JWT{&named}})
	for _, x := range []struct {
		c          *auth.Callers
		path, want string
	}{
		{c, "/.well-known/oauth-protected-resource", audience},
		{c, "/.well-known/oauth-protected-resource/mcp", audience},
		{c, "/.well-known/oauth-protected-resource/mcp/billing", audience},
		{c, "/.well-known/oauth-protected-resource/other", ""},
		{c, "/.well-known/other", ""},
		{plain, "/.well-known/oauth-protected-resource", "http://here.example:81/mcp"},
		{plain, "/.well-known/oauth-protected-resource/mcp/billing", "http://here.example:81/mcp/billing"},
	} {
		b, ok := x.c.Metadata(httptest.NewRequest(http.MethodGet, "http://here.example:81"+x.path, nil))
		if ok != (x.want != "") {
			t.Errorf("%s: %t", x.path, ok)
		}
		var said struct {
			Resource string   `json:"resource"`
			Issuers  []string `json:"authorization_servers"`
			Scopes   []string `json:"scopes_supported"`
			Methods  []string `json:"bearer_methods_supported"`
		}
		if ok && (json.Unmarshal(b, &said) != nil || said.Resource != x.want || !slices.Equal(said.Issuers, []string{i.URL}) || !slices.Equal(said.Scopes, []string{"tools"}) || !slices.Equal(said.Methods, []string{"header"})) {
			t.Errorf("%s: %s", x.path, b)
		}
	}
	keys, _ := knowing(t, &hcl.Auth{Keys: []*hcl.APIKey{{Name: "ci"}}})
	if _, ok := keys.Metadata(httptest.NewRequest(http.MethodGet, "/.well-known/oauth-protected-resource", nil)); ok {
		t.Error("there is metadata although there is no issuer")
	}
}

func TestWhatAClientSaysOfTheHostDoesNotLeaveTheChallenge(t *testing.T) {
	i := issuertest.Open(t)
	source := trusting(i)
	source.Audience = "the tools"
	c, _ := knowing(t, &hcl.Auth{Issuers: []*hcl.JWT{&source}})
	r := request()
	r.Host = `x", evil="y`
	if _, refused := asked(c, r); strings.Contains(refused, "evil") {
		t.Error(refused)
	}
}
