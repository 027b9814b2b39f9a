package auth_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
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

func TestTokenIdentifiesCaller(t *testing.T) {
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

func TestBadTokensAreRefused(t *testing.T) {
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
	for _, name := range []string{"ada\n", "ada\u2028", "\u202eada", "ada\u200b", "ada\u0085"} {
		if got, refused := asked(c, bearer(i.Token(audience, map[string]any{"sub": name}))); got != nil || !strings.HasPrefix(refused, "401") {
			t.Errorf("a token of %q: %v, %s", name, got, refused)
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

func TestUndeclaredAlgorithmIsRefused(t *testing.T) {
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

func TestClockSkew(t *testing.T) {
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

func TestMissingScopesAreInTheChallenge(t *testing.T) {
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
