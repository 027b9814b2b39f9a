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
	"hatchel/runtime/edge/auth"
	"hatchel/runtime/edge/auth/issuer"
	"hatchel/runtime/edge/auth/issuertest"
	"hatchel/runtime/edge/mcp"
)

const audience = "https://tools.example/mcp"

// clock is a clock that a test can advance.
type clock struct{ ahead atomic.Int64 }

func (c *clock) now() time.Time           { return time.Now().Add(time.Duration(c.ahead.Load())) }
func (c *clock) advance(by time.Duration) { c.ahead.Add(int64(by)) }

func digest(key string) [sha256.Size]byte { return sha256.Sum256([]byte(key)) }

// trusting returns the declaration of an issuer.
func trusting(i *issuertest.Issuer) hcl.JWT {
	return hcl.JWT{
		Issuer: i.URL, Audience: audience, GroupsClaim: "groups", ClockSkew: time.Minute,
		Algorithms: []string{"RS256", "ES256", "EdDSA"},
	}
}

// newAuthenticator returns an authenticator and the clock by which credentials expire.
func newAuthenticator(t *testing.T, a *hcl.Auth) (*auth.Authenticator, *clock) {
	t.Helper()
	c := new(clock)
	return auth.New(t.Context(), a, options(t, c)), c
}

// authenticatorFor returns an authenticator that accepts the tokens of one issuer.
func authenticatorFor(t *testing.T, declared hcl.JWT) (*auth.Authenticator, *clock) {
	t.Helper()
	return newAuthenticator(t, &hcl.Auth{Issuers: []*hcl.JWT{&declared}})
}

func options(t testing.TB, c *clock) auth.Options {
	return auth.Options{
		Issuers: new(issuer.Issuers), Log: slog.New(slog.DiscardHandler), Now: c.now,
		Defer: func(f func() error) { t.Cleanup(func() { f() }) },
	}
}

// request returns a request with headers, which are given as names and values in turn.
func request(headers ...string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "http://tools.example/mcp", nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	return r
}

// identify returns the identity of a caller, or the status and the challenge of a refusal.
func identify(c *auth.Authenticator, r *http.Request) (*mcp.Identity, string) {
	i, refused := c.Authenticate(r)
	if refused == nil {
		return i, ""
	}
	h := http.Header{}
	c.Challenge(h, r, refused)
	return nil, fmt.Sprint(refused.Status, " ", h.Get("WWW-Authenticate"), h.Get("Retry-After"))
}

// accept fails the test unless a request is authenticated.
func accept(t *testing.T, c *auth.Authenticator, r *http.Request) *mcp.Identity {
	t.Helper()
	i, refusal := identify(c, r)
	if refusal != "" {
		t.Fatalf("refused: %s", refusal)
	}
	return i
}

// refuse fails the test unless a request is refused with a status and a challenge that begin so.
func refuse(t *testing.T, c *auth.Authenticator, r *http.Request, prefix string) (challenge string) {
	t.Helper()
	i, refusal := identify(c, r)
	if i != nil || !strings.HasPrefix(refusal, prefix) {
		t.Errorf("identity %v, refusal %q; want a refusal that begins with %q", i, refusal, prefix)
	}
	return refusal
}

func bearer(text string) *http.Request { return request("Authorization", "Bearer "+text) }

func TestTokenIdentifiesCaller(t *testing.T) {
	i := issuertest.Open(t)
	declared := trusting(i)
	declared.GroupsClaim = "realm_access.roles"
	c, _ := newAuthenticator(t, &hcl.Auth{Issuers: []*hcl.JWT{&declared}, Headers: []string{"x-tenant"}})
	r := bearer(i.Token(audience, map[string]any{
		"aud": []string{"other", audience}, "scope": "a b", "scp": []string{"c"}, "tenant": "t1",
		"realm_access": map[string]any{"roles": []any{"finance", 1}},
	}))
	r.Header["X-Tenant"] = []string{"one", "two"}
	r.Header["Cookie"] = []string{"secret"}
	got := accept(t, c, r)
	for name, values := range map[string][2]string{
		"subject":  {got.Subject, "ada"},
		"key":      {got.Key, i.URL},
		"groups":   {fmt.Sprint(got.Groups), "[finance]"},
		"scopes":   {fmt.Sprint(got.Scopes), "[a b c]"},
		"headers":  {fmt.Sprint(got.Headers), "map[x-tenant:one, two]"},
		"metadata": {got.Metadata, "https://tools.example/.well-known/oauth-protected-resource/mcp"},
	} {
		if values[0] != values[1] {
			t.Errorf("the %s: %s, want %s", name, values[0], values[1])
		}
	}
	var claims map[string]any
	if err := json.Unmarshal(got.Claims, &claims); err != nil || claims["tenant"] != "t1" {
		t.Errorf("the claims are %s", got.Claims)
	}
	if !c.StillValid(got) {
		t.Error("the identity is not valid any more")
	}
}

func TestBadTokensAreRefused(t *testing.T) {
	i := issuertest.Open(t)
	c, _ := authenticatorFor(t, trusting(i))
	accept(t, c, bearer(i.Token(audience, nil)))
	for name, token := range issuertest.Bad(t, i, audience) {
		t.Run(name, func(t *testing.T) {
			challenge := refuse(t, c, bearer(token), `401 Bearer error="invalid_token", error_description="`)
			if !strings.Contains(challenge, `resource_metadata="https://tools.example/`) {
				t.Errorf("the challenge %s does not refer to the metadata", challenge)
			}
		})
	}
	for _, subject := range []string{"ada\n", "ada\u2028", "\u202eada", "ada\u200b", "ada\u0085"} {
		t.Run(fmt.Sprintf("with the subject %q", subject), func(t *testing.T) {
			refuse(t, c, bearer(i.Token(audience, map[string]any{"sub": subject})), "401")
		})
	}
	t.Run("in the header of keys", func(t *testing.T) {
		refuse(t, c, request("X-API-Key", i.Token(audience, nil)), "401")
	})
	t.Run("with a critical extension", func(t *testing.T) {
		token := jwt.NewWithClaims(jwt.SigningMethodRS256, i.Claims(audience, nil))
		token.Header["kid"], token.Header["crit"] = "first", []string{"b64"}
		text, err := token.SignedString(i.Key().Private)
		if err != nil {
			t.Fatal(err)
		}
		refuse(t, c, bearer(text), "401")
	})
}

func TestAlgorithmMustBeDeclared(t *testing.T) {
	i := issuertest.Open(t)
	for _, algorithm := range []string{"ES256", "EdDSA", "PS256"} {
		t.Run(algorithm, func(t *testing.T) {
			i.Serve(issuertest.NewKey(t, algorithm, algorithm))
			declared := trusting(i)
			declared.Algorithms = []string{algorithm}
			c, _ := authenticatorFor(t, declared)
			accept(t, c, bearer(i.Token(audience, nil)))
			declared.Algorithms = []string{"RS256"}
			c, _ = authenticatorFor(t, declared)
			refuse(t, c, bearer(i.Token(audience, nil)), "401")
		})
	}
}

func TestClockSkew(t *testing.T) {
	i := issuertest.Open(t)
	c, _ := authenticatorFor(t, trusting(i))
	expired := func(ago time.Duration) *http.Request {
		return bearer(i.Token(audience, map[string]any{"exp": time.Now().Add(-ago).Unix()}))
	}
	t.Run("a token that expired within the skew is accepted", func(t *testing.T) {
		accept(t, c, expired(30*time.Second))
	})
	t.Run("a token that expired before is refused", func(t *testing.T) {
		refuse(t, c, expired(5*time.Minute), "401")
	})
}

func TestRequiredScopes(t *testing.T) {
	i := issuertest.Open(t)
	declared := trusting(i)
	declared.RequiredScopes = []string{"tools", "more"}
	c, _ := authenticatorFor(t, declared)
	withScope := func(scope string) *http.Request {
		return bearer(i.Token(audience, map[string]any{"scope": scope}))
	}
	t.Run("a token with all scopes is accepted", func(t *testing.T) { accept(t, c, withScope("more tools")) })
	t.Run("a token that lacks one is refused with all of them", func(t *testing.T) {
		challenge := refuse(t, c, withScope("more other"), `403 Bearer error="insufficient_scope"`)
		if !strings.Contains(challenge, `scope="tools more"`) {
			t.Error(challenge)
		}
	})
	t.Run("the challenge without a token names them", func(t *testing.T) {
		refuse(t, c, request(), `401 Bearer scope="tools more", resource_metadata=`)
	})
}

func TestTypesOfAccessTokensAreAccepted(t *testing.T) {
	i := issuertest.Open(t)
	c, _ := authenticatorFor(t, trusting(i))
	for _, typ := range []any{"JWT", "at+jwt", "application/AT+JWT", "", nil} {
		accept(t, c, bearer(issuertest.SignAs(t, typ, i.Key(), i.Claims(audience, nil))))
	}
}
