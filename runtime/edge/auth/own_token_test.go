package auth_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"hatchel/hcl"
	"hatchel/internal/benchtest"
	"hatchel/runtime/durable/grant"
	"hatchel/runtime/durable/state"
	"hatchel/runtime/edge/auth"
	"hatchel/runtime/edge/auth/issuertest"
	"hatchel/runtime/edge/mcp"
)

// signInServer is a server with a sign_in block.
type signInServer struct {
	*auth.Authenticator
	t       testing.TB
	clock   *clock
	store   *untouched
	grants  *grant.Store
	options auth.Options
	admit   func(rule *hcl.Condition, i *mcp.Identity) bool
}

const ownURL = "https://tools.example"

// declaredSignIn is the declaration of the tests: allow and the rule of the scope "pay" are told apart by their
// addresses.
func declaredSignIn() *hcl.SignIn {
	return &hcl.SignIn{
		URL: ownURL, Provider: "https://provider.example", SubjectClaim: "sub", GroupsClaim: "groups",
		ClockSkew: time.Minute, Allow: new(hcl.Condition),
		ScopeBlocks: []*hcl.Scope{{Name: "pay", Description: "Pay", Allow: new(hcl.Condition)}, {Name: "read"}},
	}
}

func newSignInServer(t testing.TB, declared *hcl.Auth) *signInServer {
	t.Helper()
	store, err := state.Open(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	s := &signInServer{t: t, store: &untouched{Store: store, t: t}, clock: new(clock), admit: func(*hcl.Condition, *mcp.Identity) bool { return true }}
	key := []byte("a key of the state block of a server")
	if s.grants, err = grant.Open(t.Context(), s.store, grant.Options{Now: s.clock.now, Key: key}); err != nil {
		t.Fatal(err)
	}
	s.options = options(t, s.clock)
	s.options.SignIn = auth.SignIn{
		Grants: func() *grant.Store { return s.grants },
		Allows: func(rule *hcl.Condition, i *mcp.Identity) bool { return s.admit(rule, i) },
	}
	s.load(declared)
	return s
}

// load serves another configuration from now on.
func (s *signInServer) load(declared *hcl.Auth) {
	s.Authenticator = auth.New(s.t.Context(), declared, s.options)
}

// signIn returns a sign-in of ada, and an access token of it.
func (s *signInServer) signIn(change func(*grant.Grant)) (*grant.Grant, string) {
	s.t.Helper()
	now := s.clock.now()
	g := &grant.Grant{
		Client: "https://client.example/app", Subject: "ada", Key: "https://provider.example",
		Groups: []string{"finance"}, Claims: json.RawMessage(`{"tenant":"acme","n":12345678901234567890,"sub":"raw"}`),
		Scopes: []string{"pay", "gone"}, Began: now, Ends: now.Add(time.Hour),
		Upstream: &grant.Upstream{Access: "of the provider", AccessEnds: now.Add(time.Hour)},
	}
	if change != nil {
		change(g)
	}
	if err := s.grants.Start(s.t.Context(), g); err != nil {
		s.t.Fatal(err)
	}
	return g, s.issue(g)
}

func (s *signInServer) issue(g *grant.Grant) string {
	s.t.Helper()
	text, _, err := s.Own().Issue(g)
	if err != nil {
		s.t.Fatal(err)
	}
	return text
}

// at returns a request for a path with a token.
func at(path, token string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "http://other.example"+path, nil)
	r.Header.Set("Authorization", "Bearer "+token)
	return r
}

func TestOwnTokenIdentifiesThePersonWhoSignedIn(t *testing.T) {
	s := newSignInServer(t, &hcl.Auth{SignIn: declaredSignIn()})
	g, token := s.signIn(nil)
	for range 2 { // also from the cache
		i := accept(t, s.Authenticator, at("/mcp", token))
		var claims map[string]json.RawMessage
		if err := json.Unmarshal(i.Claims, &claims); err != nil {
			t.Fatal(err)
		}
		for name, values := range map[string][2]string{
			"subject":   {i.Subject, "ada"},
			"key":       {i.Key, "https://provider.example"},
			"groups":    {fmt.Sprint(i.Groups), "[finance]"},
			"scopes":    {fmt.Sprint(i.Scopes), "[pay]"},
			"claims":    {fmt.Sprint(slices.Sorted(maps.Keys(claims))), "[client_id n sub tenant]"},
			"client_id": {string(claims["client_id"]), `"https://client.example/app"`},
			"number":    {string(claims["n"]), "12345678901234567890"},
			"raw claim": {string(claims["sub"]), `"raw"`},
			"metadata":  {i.Metadata, ownURL + "/.well-known/oauth-protected-resource/mcp"},
		} {
			if values[0] != values[1] {
				t.Errorf("the %s: %s, want %s", name, values[0], values[1])
			}
		}
		if !s.StillValid(i) {
			t.Error("the identity is not valid")
		}
		text, until, err := i.Token(t.Context())
		if err != nil || text != "of the provider" || !until.After(time.Now()) {
			t.Errorf("the token of the provider: %q %v %v", text, until, err)
		}
		same, err := s.Own().IdentityOf(g)
		if err != nil || same.Owner() != i.Owner() || string(same.Claims) != string(i.Claims) || same.Grant != i.Grant {
			t.Errorf("of the grant: %+v %v", same, err)
		}
	}
}

func TestOwnTokenIsForOneResource(t *testing.T) {
	s := newSignInServer(t, &hcl.Auth{SignIn: declaredSignIn()})
	for resource, paths := range map[string]map[string]bool{
		"":                          {"/mcp": true, "/mcp/billing": true, "/approvals": true},
		ownURL + "/mcp":             {"/mcp": true, "/mcp/billing": true, "/approvals": true},
		ownURL + "/mcp/billing":     {"/mcp": false, "/mcp/billing": true, "/mcp/billing2": false, "/approvals": false, "/mcp/": false},
		ownURL + "/mcp/":            {"/mcp": false, "/mcp/billing": false},
		ownURL:                      {"/mcp": false, "/mcp/billing": false},
		"https://other.example/mcp": {"/mcp": false},
		"http://tools.example/mcp":  {"/mcp": false},
	} {
		_, token := s.signIn(func(g *grant.Grant) { g.Resource = resource })
		for path, accepted := range paths {
			for range 2 {
				_, refusal := identify(s.Authenticator, at(path, token))
				switch {
				case accepted != (refusal == ""):
					t.Errorf("a token for %q at %s: %s", resource, path, refusal)
				case !accepted && (!strings.HasPrefix(refusal, `401 Bearer error="invalid_token"`) ||
					strings.HasPrefix(path, "/mcp") && path != "/mcp/" &&
						!strings.Contains(refusal, `resource_metadata="`+ownURL+"/.well-known/oauth-protected-resource"+path+`"`)):
					t.Errorf("%s: %s", path, refusal)
				}
			}
		}
	}
}

// forge returns a token with other claims and another header.
func (s *signInServer) forge(token string, change func(header, claims map[string]any), sign func(text string) []byte) string {
	s.t.Helper()
	parts := strings.Split(token, ".")
	header, claims := map[string]any{}, map[string]any{}
	for n, into := range []*map[string]any{&header, &claims} {
		text, err := base64.RawURLEncoding.DecodeString(parts[n])
		if err != nil || json.Unmarshal(text, into) != nil {
			s.t.Fatal(err)
		}
	}
	change(header, claims)
	encode := func(v any) string {
		text, err := json.Marshal(v)
		if err != nil {
			s.t.Fatal(err)
		}
		return base64.RawURLEncoding.EncodeToString(text)
	}
	text := encode(header) + "." + encode(claims)
	return text + "." + base64.RawURLEncoding.EncodeToString(sign(text))
}

func signer(t testing.TB, key *ecdsa.PrivateKey) func(string) []byte {
	return func(text string) []byte {
		signature, err := jwt.SigningMethodES256.Sign(text, key)
		if err != nil {
			t.Fatal(err)
		}
		return signature
	}
}

func TestOtherTokensAreNotOwnOnes(t *testing.T) {
	s := newSignInServer(t, &hcl.Auth{SignIn: declaredSignIn()})
	_, token := s.signIn(nil)
	_, key := s.grants.SigningKey()
	ours := signer(t, key)
	stranger, _ := issuertest.NewKey(t, "k", "ES256").Private.(*ecdsa.PrivateKey)
	kept := strings.Split(token, ".")[2]
	for name, text := range map[string]string{
		"signed by another key": s.forge(token, func(map[string]any, map[string]any) {}, signer(t, stranger)),
		"with an unknown key":   s.forge(token, func(h, _ map[string]any) { h["kid"] = "other" }, ours),
		"without a key":         s.forge(token, func(h, _ map[string]any) { delete(h, "kid") }, ours),
		"of another type":       s.forge(token, func(h, _ map[string]any) { h["typ"] = "JWT" }, ours),
		"without a type":        s.forge(token, func(h, _ map[string]any) { delete(h, "typ") }, ours),
		"critical":              s.forge(token, func(h, _ map[string]any) { h["crit"] = []string{"x"} }, ours),
		"without an algorithm":  s.forge(token, func(h, _ map[string]any) { h["alg"] = "none" }, func(string) []byte { return nil }),
		"with HMAC": s.forge(token, func(h, _ map[string]any) { h["alg"] = "HS256" }, func(text string) []byte {
			sum, err := jwt.SigningMethodHS256.Sign(text, []byte("key"))
			if err != nil {
				t.Fatal(err)
			}
			return sum
		}),
		"changed": s.forge(token, func(_, c map[string]any) { c["sub"] = "bob" }, func(string) []byte {
			signature, _ := base64.RawURLEncoding.DecodeString(kept)
			return signature
		}),
		"expired":                s.forge(token, func(_, c map[string]any) { c["exp"] = time.Now().Unix() - 1 }, ours),
		"without an end":         s.forge(token, func(_, c map[string]any) { delete(c, "exp") }, ours),
		"of the future":          s.forge(token, func(_, c map[string]any) { c["iat"] = time.Now().Unix() + 300 }, ours),
		"of another declaration": s.forge(token, func(_, c map[string]any) { c["declaration"] = "x" }, ours),
		"of another issuer":      s.forge(token, func(_, c map[string]any) { c["iss"] = "https://other.example" }, ours),
		"without a subject":      s.forge(token, func(_, c map[string]any) { c["sub"] = "" }, ours),
		"of a deceptive subject": s.forge(token, func(_, c map[string]any) { c["sub"] = "ada\n" }, ours),
		"with line breaks":       strings.Replace(token, ".", ".\n", 1),
		"for two audiences":      s.forge(token, func(_, c map[string]any) { c["aud"] = []string{ownURL + "/mcp", "x"} }, ours),
	} {
		t.Run(name, func(t *testing.T) { refuse(t, s.Authenticator, at("/mcp", text), `401 Bearer error="invalid_token"`) })
	}
	t.Run("an intact one is accepted", func(t *testing.T) {
		accept(t, s.Authenticator, at("/mcp", s.forge(token, func(h, _ map[string]any) { h["typ"] = "application/at+jwt" }, ours)))
	})
}

func TestOwnTokensEnd(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(s *signInServer, g *grant.Grant)
		want string
		last bool // the identity stays valid until its token ends
	}{
		"after ten minutes": {func(s *signInServer, _ *grant.Grant) { s.clock.advance(10 * time.Minute) }, "401", true},
		"when the sign-in is revoked": {func(s *signInServer, g *grant.Grant) {
			if found, err := s.grants.Revoke(s.t.Context(), g.ID); !found || err != nil {
				s.t.Error(found, err)
			}
		}, "401", false},
		"when a reload narrows allow": {func(s *signInServer, _ *grant.Grant) {
			declared := declaredSignIn()
			s.admit = func(rule *hcl.Condition, i *mcp.Identity) bool {
				return rule != declared.Allow || slices.Contains(i.Groups, "board")
			}
			s.load(&hcl.Auth{SignIn: declared})
		}, "403", false},
		"when a reload changes group_names": {func(s *signInServer, _ *grant.Grant) {
			declared := declaredSignIn()
			declared.GroupNames = map[string]string{"finance": "board"}
			s.load(&hcl.Auth{SignIn: declared})
		}, "401", false},
		"when a reload removes sign_in": {func(s *signInServer, _ *grant.Grant) {
			s.load(&hcl.Auth{Keys: []*hcl.APIKey{{Name: "one", Digest: sha256.Sum256([]byte("x"))}}})
		}, "401", false},
		"when the state is closed": {func(s *signInServer, _ *grant.Grant) { s.grants = nil }, "503", false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSignInServer(t, &hcl.Auth{SignIn: declaredSignIn()})
			g, token := s.signIn(nil)
			i := accept(t, s.Authenticator, at("/mcp", token))
			c.end(s, g)
			for range 2 {
				refuse(t, s.Authenticator, at("/mcp", token), c.want)
			}
			if s.StillValid(i) != c.last {
				t.Errorf("the identity is still valid: %t", !c.last)
			}
		})
	}
}

func TestAScopeOfAnOwnTokenEndsWithItsRule(t *testing.T) {
	s := newSignInServer(t, &hcl.Auth{SignIn: declaredSignIn()})
	_, token := s.signIn(nil)
	before := accept(t, s.Authenticator, at("/mcp", token))
	if !s.StillValid(before) {
		t.Error("an identity is not valid")
	}
	declared := declaredSignIn()
	s.admit = func(rule *hcl.Condition, _ *mcp.Identity) bool { return rule != declared.ScopeBlocks[0].Allow }
	s.load(&hcl.Auth{SignIn: declared})
	if s.StillValid(before) {
		t.Error("an identity with the scope, such as that of a stream, is valid")
	}
	if i := accept(t, s.Authenticator, at("/mcp", token)); len(i.Scopes) != 0 {
		t.Errorf("the scopes are %q", i.Scopes)
	}
}

func TestATokenIsAtMostFourKiB(t *testing.T) {
	s := newSignInServer(t, &hcl.Auth{SignIn: declaredSignIn()})
	g := &grant.Grant{Subject: "ada"}
	for range 200 {
		g.Groups = append(g.Groups, strings.Repeat("g", 30))
	}
	if text, _, err := s.Own().Issue(g); err == nil || !strings.Contains(err.Error(), "group_names") {
		t.Errorf("%d bytes, %v", len(text), err)
	}
}

func TestMetadataNamesSignInFirst(t *testing.T) {
	i := issuertest.Open(t)
	jwt := trusting(i)
	jwt.RequiredScopes = []string{"tools"}
	s := newSignInServer(t, &hcl.Auth{SignIn: declaredSignIn(), Issuers: []*hcl.JWT{&jwt}})
	for path, resource := range map[string]string{
		"":             ownURL + "/mcp",
		"/mcp":         ownURL + "/mcp",
		"/mcp/billing": ownURL + "/mcp/billing",
	} {
		r := httptest.NewRequest(http.MethodGet, "http://evil.example/.well-known/oauth-protected-resource"+path, nil)
		text, ok := s.Metadata(r)
		var document struct {
			Resource string   `json:"resource"`
			Issuers  []string `json:"authorization_servers"`
			Scopes   []string `json:"scopes_supported"`
		}
		if err := json.Unmarshal(text, &document); err != nil || !ok {
			t.Fatalf("%s %v", text, err)
		}
		if document.Resource != resource || document.Issuers[0] != ownURL || document.Issuers[1] != i.URL ||
			!slices.Equal(document.Scopes, []string{"pay", "read", "tools"}) {
			t.Errorf("%s: %s", path, text)
		}
	}
	refuse(t, s.Authenticator, request(), `401 Bearer resource_metadata="`+ownURL+`/.well-known/oauth-protected-resource/mcp"`)
	accept(t, s.Authenticator, bearer(i.Token(audience, map[string]any{"scope": "tools"})))
}

// TestAnotherServerVerifiesOwnTokens has a second Hatchel accept the tokens of the first one (RFC 9068).
func TestAnotherServerVerifiesOwnTokens(t *testing.T) {
	var s *signInServer
	var first *httptest.Server
	first = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/.well-known/oauth-authorization-server":
			json.NewEncoder(w).Encode(map[string]any{"issuer": first.URL, "jwks_uri": first.URL + "/oauth/jwks"})
		case "/oauth/jwks":
			set, err := s.Own().KeySet()
			if err != nil {
				t.Error(err)
			}
			w.Write(set)
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	defer first.Close()
	declared := declaredSignIn()
	declared.URL, declared.Resources = first.URL, []string{audience}
	s = newSignInServer(t, &hcl.Auth{SignIn: declared})
	_, token := s.signIn(func(g *grant.Grant) { g.Resource = audience })
	second, _ := authenticatorFor(t, hcl.JWT{
		Issuer: first.URL, Audience: audience, GroupsClaim: "groups", ClockSkew: time.Minute, Algorithms: []string{"ES256"},
	})
	i := accept(t, second, bearer(token))
	if i.Subject != "ada" || !slices.Equal(i.Groups, []string{"finance"}) || !slices.Equal(i.Scopes, []string{"pay", "gone"}) ||
		!strings.Contains(string(i.Claims), `"tenant":"acme"`) {
		t.Errorf("the second server has %+v", i)
	}
	refuse(t, s.Authenticator, at("/mcp", token), "401") // it is not for the first one
}

// untouched is a store that nothing may be asked.
type untouched struct {
	state.Store
	t     testing.TB
	ready atomic.Bool
}

func (u *untouched) Record(ctx context.Context, kind, name string) (*state.Record, error) {
	u.refuse()
	return u.Store.Record(ctx, kind, name)
}

func (u *untouched) List(ctx context.Context, q state.Query) ([]*state.Record, error) {
	u.refuse()
	return u.Store.List(ctx, q)
}

func (u *untouched) refuse() {
	if u.ready.Load() {
		u.t.Error("the state is read")
	}
}

func TestNoStateIsReadForATokenOrForItsChallenge(t *testing.T) {
	s := newSignInServer(t, &hcl.Auth{SignIn: declaredSignIn()})
	_, token := s.signIn(nil)
	other, forged := s.signIn(func(g *grant.Grant) { g.Resource = "https://other.example" })
	if found, err := s.grants.Revoke(t.Context(), other.ID); !found || err != nil {
		t.Fatal(found, err)
	}
	s.store.ready.Store(true)
	for range 3 {
		i := accept(t, s.Authenticator, at("/mcp", token))
		if !s.StillValid(i) {
			t.Error("it is not valid")
		}
		refuse(t, s.Authenticator, at("/mcp", forged), "401")
		refuse(t, s.Authenticator, at("/mcp", token[:len(token)-3]+"AAA"), "401")
		refuse(t, s.Authenticator, request(), "401")
	}
	s.store.ready.Store(false)
}

func TestOwnTokensAreVerifiedConcurrently(t *testing.T) {
	s := newSignInServer(t, &hcl.Auth{SignIn: declaredSignIn()})
	_, token := s.signIn(nil)
	var running sync.WaitGroup
	for range 8 {
		running.Go(func() {
			r := at("/mcp", token)
			i, refused := s.Authenticate(r)
			if refused != nil {
				t.Error(refused.Reason)
				return
			}
			i.Headers = map[string]string{"x": "y"} // belongs to the request
		})
	}
	running.Wait()
}

// BenchmarkOwnToken measures the verification of a token that was not verified before, of one that was, and of a
// signature alone.
func BenchmarkOwnToken(b *testing.B) {
	s := newSignInServer(b, &hcl.Auth{SignIn: declaredSignIn()})
	g, token := s.signIn(nil)
	b.Run("first", func(b *testing.B) {
		tokens := make([]string, 0, b.N)
		for range b.N {
			tokens = append(tokens, s.issue(g))
		}
		b.ReportAllocs()
		b.ResetTimer()
		report := benchtest.ReportCPU(b)
		for _, text := range tokens {
			s.authenticate(b, text)
		}
		report()
	})
	b.Run("again", func(b *testing.B) {
		s.authenticate(b, token)
		b.ReportAllocs()
		report := benchtest.ReportCPU(b)
		for b.Loop() {
			s.authenticate(b, token)
		}
		report()
	})
	b.Run("signature", func(b *testing.B) {
		_, key := s.grants.SigningKey()
		sum := sha256.Sum256([]byte(token))
		x, y, err := ecdsa.Sign(rand.Reader, key, sum[:])
		if err != nil {
			b.Fatal(err)
		}
		report := benchtest.ReportCPU(b)
		for b.Loop() {
			if !ecdsa.Verify(&key.PublicKey, sum[:], x, y) {
				b.Fatal("invalid")
			}
		}
		report()
	})
}

var mcpURL = &url.URL{Path: "/mcp"}

func (s *signInServer) authenticate(b *testing.B, token string) {
	r := &http.Request{Header: http.Header{"Authorization": {"Bearer " + token}}, URL: mcpURL, Host: "tools.example"}
	if _, refused := s.Authenticate(r); refused != nil {
		b.Fatal(refused.Reason)
	}
}
