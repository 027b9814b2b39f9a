package auth_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
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

	"hatchel/hcl"
	"hatchel/runtime/durable/grant"
	"hatchel/runtime/edge/auth"
	"hatchel/runtime/edge/auth/issuertest"
)

// basicClient authenticates with an id and a secret.
type basicClient struct{ id, secret string }

func (c basicClient) Authenticate(_ url.Values, h http.Header, _ string) ([]string, error) {
	r := http.Request{Header: h}
	r.SetBasicAuth(c.id, c.secret)
	return []string{c.secret}, nil
}

// knowing is an authorization server that knows tokens.
type knowing struct {
	*httptest.Server
	mu     sync.Mutex
	tokens map[string]any // responses, by token; a func answers itself; guarded by mu
	asked  map[string]int // requests, by token; guarded by mu
	now    atomic.Int32   // requests that are answered
	most   atomic.Int32   // at once
}

func openKnowing(t *testing.T, tokens map[string]any) *knowing {
	k := &knowing{tokens: tokens, asked: map[string]int{}}
	k.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := k.now.Add(1)
		defer k.now.Add(-1)
		for most := k.most.Load(); n > most && !k.most.CompareAndSwap(most, n); most = k.most.Load() {
		}
		id, secret, _ := r.BasicAuth()
		if id != "hatchel" || secret != "the secret" || r.Method != http.MethodPost {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		text := r.PostFormValue("token")
		k.mu.Lock()
		k.asked[text]++
		answer, ok := k.tokens[text]
		k.mu.Unlock()
		if do, isFunc := answer.(func(http.ResponseWriter, *http.Request)); isFunc {
			do(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		switch raw, isText := answer.(string); {
		case !ok:
			io.WriteString(w, `{"active":false}`)
		case isText:
			io.WriteString(w, raw)
		default:
			json.NewEncoder(w).Encode(answer)
		}
	}))
	t.Cleanup(k.Close)
	return k
}

// requests returns how often the server was asked about a token.
func (k *knowing) requests(token string) int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.asked[token]
}

// set changes the response about a token.
func (k *knowing) set(token string, answer any) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.tokens[token] = answer
}

// active returns a response about a valid token, changed; a nil member is removed.
func active(change map[string]any) map[string]any {
	m := map[string]any{
		"active": true, "sub": "ada", "aud": []string{"other", audience}, "exp": time.Now().Unix() + 3600,
		"scope": "read write", "groups": []string{"finance"}, "client_id": "cli", "token_type": "Bearer",
	}
	maps.Copy(m, change)
	maps.DeleteFunc(m, func(_ string, v any) bool { return v == nil })
	return m
}

// declare returns the declaration of a server that introspects.
func (k *knowing) declare() *hcl.Introspection {
	return &hcl.Introspection{
		URL: k.URL + "/introspect", Audience: audience, SubjectClaim: "sub", GroupsClaim: "groups",
		Client: hcl.ClientAuth{ID: "hatchel"},
	}
}

// asking returns an authenticator that asks servers.
func asking(t *testing.T, a *hcl.Auth) (*auth.Authenticator, *clock) {
	t.Helper()
	c := new(clock)
	o := options(t, c)
	o.Client = func(c *hcl.ClientAuth, _ hcl.Range) auth.Client { return basicClient{c.ID.Reveal(), "the secret"} }
	return auth.New(t.Context(), a, o), c
}

func TestAnActiveTokenIdentifiesCaller(t *testing.T) {
	k := openKnowing(t, map[string]any{"opaque": active(map[string]any{"n": json.Number("9007199254740993")})})
	declared := k.declare()
	declared.RequiredScopes = []string{"read"}
	c, clock := asking(t, &hcl.Auth{Introspections: []*hcl.Introspection{declared}})
	i := accept(t, c, bearer("opaque"))
	if i.Subject != "ada" || i.Key != k.URL || !slices.Equal(i.Groups, []string{"finance"}) ||
		!slices.Equal(i.Scopes, []string{"read", "write"}) || !strings.Contains(string(i.Claims), "9007199254740993") {
		t.Errorf("%+v, %s", i, i.Claims)
	}
	if text, until, err := i.Token(t.Context()); text != "opaque" || !until.Equal(i.Expires) || err != nil {
		t.Errorf("%s, %v, %v", text, until, err)
	}
	if !c.StillValid(i) {
		t.Error("the identity is not valid under its own configuration")
	}
	for range 3 {
		accept(t, c, bearer("opaque"))
	}
	if n := k.requests("opaque"); n != 1 {
		t.Errorf("the server was asked %d times", n)
	}
	k.set("opaque", map[string]any{"active": false})
	clock.advance(59 * time.Second)
	accept(t, c, bearer("opaque"))
	clock.advance(2 * time.Second)
	refuse(t, c, bearer("opaque"), "401")
}

func TestAnAnswerIsNotUsedLongerThanItsToken(t *testing.T) {
	k := openKnowing(t, map[string]any{"short": active(map[string]any{"exp": time.Now().Unix() + 20})})
	c, clock := asking(t, &hcl.Auth{Introspections: []*hcl.Introspection{k.declare()}})
	accept(t, c, bearer("short"))
	clock.advance(21 * time.Second)
	refuse(t, c, bearer("short"), "401")
}

func TestARefusalIsKeptForAWhile(t *testing.T) {
	k := openKnowing(t, map[string]any{})
	c, clock := asking(t, &hcl.Auth{Introspections: []*hcl.Introspection{k.declare()}})
	for range 5 {
		refuse(t, c, bearer("unknown"), "401")
	}
	if n := k.requests("unknown"); n != 1 {
		t.Errorf("the server was asked %d times", n)
	}
	k.set("unknown", active(nil))
	clock.advance(11 * time.Second)
	accept(t, c, bearer("unknown"))
}

// Each response that is no valid one about a token for this server refuses it, and one that is not of an authorization
// server says nothing of the token.
func TestResponsesAboutTokensAreChecked(t *testing.T) {
	status := func(n int, header, text string) any {
		return func(w http.ResponseWriter, _ *http.Request) {
			if header != "" {
				w.Header().Set("Location", header)
			}
			w.WriteHeader(n)
			io.WriteString(w, text)
		}
	}
	valid, _ := json.Marshal(active(nil))
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write(valid) }))
	defer elsewhere.Close()
	now := time.Now().Unix()
	for name, c := range map[string]struct {
		answer any
		want   string // the beginning of the challenge; empty if the token is accepted
	}{
		"inactive":                  {map[string]any{"active": false}, "401"},
		"inactive with claims":      {active(map[string]any{"active": false}), "401"},
		"foreign audience":          {active(map[string]any{"aud": "https://other.example/mcp"}), "401"},
		"prefix of the audience":    {active(map[string]any{"aud": audience + "/x"}), "401"},
		"no audience":               {active(map[string]any{"aud": nil}), "401"},
		"no expiry":                 {active(map[string]any{"exp": nil}), "401"},
		"expiry as a text":          {active(map[string]any{"exp": "9999999999"}), "401"},
		"endless":                   {active(map[string]any{"exp": 1e300}), "401"},
		"expired":                   {active(map[string]any{"exp": now - 1}), "401"},
		"not valid yet":             {active(map[string]any{"nbf": now + 60}), "401"},
		"no subject":                {active(map[string]any{"sub": nil}), "401"},
		"subject of two lines":      {active(map[string]any{"sub": "a\nb"}), "401"},
		"other kind":                {active(map[string]any{"token_type": "DPoP"}), "401"},
		"refresh token of Hydra":    {active(map[string]any{"token_use": "refresh_token"}), "401"},
		"refresh token of Keycloak": {active(map[string]any{"typ": "Refresh"}), "401"},
		"kind that is a list":       {active(map[string]any{"typ": []string{"Bearer"}, "token_use": 7}), ""},
		"no required scope":         {active(map[string]any{"scope": "other"}), "403"},
		"no member active":          {active(map[string]any{"active": nil}), "503"},
		"active as a text":          {active(map[string]any{"active": "true"}), "503"},
		"active as a number":        {active(map[string]any{"active": 1}), "503"},
		"another member":            {strings.Replace(string(valid), "active", "Active", 1), "503"},
		"list":                      {"[" + string(valid) + "]", "503"},
		"HTML":                      {"<html>active</html>", "503"},
		"nothing":                   {"", "503"},
		"null":                      {"null", "503"},
		"truncated":                 {string(valid[:len(valid)-1]), "503"},
		"huge":                      {active(map[string]any{"x": strings.Repeat("x", 17<<10)}), "503"},
		"endless body":              {active(map[string]any{"x": strings.Repeat("x", 2<<20)}), "503"},
		"failure with a valid body": {status(500, "", string(valid)), "503"},
		"refusal of the client":     {status(401, "", string(valid)), "503"},
		"forbidden":                 {status(403, "", ""), "503"},
		"not found":                 {status(404, "", string(valid)), "503"},
		"redirect":                  {status(307, elsewhere.URL, string(valid)), "503"},
		"see other":                 {status(303, elsewhere.URL, ""), "503"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := openKnowing(t, map[string]any{"opaque": c.answer})
			declared := k.declare()
			declared.RequiredScopes = []string{"read"}
			a, _ := asking(t, &hcl.Auth{Introspections: []*hcl.Introspection{declared}})
			if c.want == "" {
				accept(t, a, bearer("opaque"))
				return
			}
			challenge := refuse(t, a, bearer("opaque"), c.want)
			if strings.Contains(challenge, "opaque") {
				t.Errorf("the challenge has the token: %s", challenge)
			}
		})
	}
}

// Only a token that is neither a key nor of a declared issuer is asked about: nobody else gets tokens of an issuer.
func TestOnlyOtherTokensAreIntrospected(t *testing.T) {
	i := issuertest.Open(t)
	stranger := issuertest.Open(t)
	known := map[string]any{}
	k := openKnowing(t, known)
	jwt := trusting(i)
	a := &hcl.Auth{
		Issuers: []*hcl.JWT{&jwt}, Introspections: []*hcl.Introspection{k.declare()},
		Keys: []*hcl.APIKey{{Name: "agent", Digest: digest("the key")}},
	}
	c, _ := asking(t, a)
	accept(t, c, bearer("the key"))
	accept(t, c, bearer(i.Token(audience, nil)))
	for name, text := range issuertest.Bad(t, i, audience) {
		isOther := slices.Contains([]string{"of another issuer", "without issuer", "not a token"}, name)
		k.set(text, active(nil))
		if isOther {
			accept(t, c, bearer(text))
		} else {
			refuse(t, c, bearer(text), "401")
		}
		if n := k.requests(text); (n == 1) != isOther {
			t.Errorf("a token %s was asked about %d times", name, n)
		}
	}
	const removed = hcl.KeyPrefix + "ANK7H47XFKE2XDOBTY6S6Z4V3V"
	k.set(removed, active(nil))
	refuse(t, c, bearer(removed), "401")
	if k.requests(removed) > 0 {
		t.Error("an API key of this program was asked about")
	}
	accept(t, c, bearer(func() string {
		text := stranger.Token(audience, nil)
		k.set(text, active(nil))
		return text
	}()))
}

// Nor does anybody learn the codes and refresh tokens of a sign-in, which a client may send by mistake.
func TestSecretsOfSignInsAreNotIntrospected(t *testing.T) {
	k := openKnowing(t, map[string]any{})
	s := newSignInServer(t, &hcl.Auth{SignIn: declaredSignIn()})
	s.options.Client = func(c *hcl.ClientAuth, _ hcl.Range) auth.Client { return basicClient{c.ID.Reveal(), "the secret"} }
	s.load(&hcl.Auth{SignIn: declaredSignIn(), Introspections: []*hcl.Introspection{k.declare()}})
	now := s.clock.now()
	g := &grant.Grant{
		ID: grant.NewID(), Client: "c", Subject: "ada", Key: "https://provider.example", Began: now, Ends: now.Add(time.Hour),
	}
	code, err := s.grants.Create(t.Context(), g)
	if err != nil {
		t.Fatal(err)
	}
	_, refresh, err := s.grants.Redeem(t.Context(), code, func(*grant.Grant) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{code, refresh} {
		k.set(text, active(nil))
		refuse(t, s.Authenticator, bearer(text), "401")
		if k.requests(text) > 0 {
			t.Errorf("%q was asked about", text)
		}
	}
	k.set("opaque", active(nil))
	accept(t, s.Authenticator, bearer("opaque"))
}

func TestSeveralServersAreAsked(t *testing.T) {
	first := openKnowing(t, map[string]any{"of the first": active(nil)})
	second := openKnowing(t, map[string]any{"of the second": active(map[string]any{"sub": "bob"})})
	a := &hcl.Auth{Introspections: []*hcl.Introspection{first.declare(), second.declare()}}
	c, _ := asking(t, a)
	if i := accept(t, c, bearer("of the second")); i.Subject != "bob" || i.Key != second.URL {
		t.Errorf("%+v", i)
	}
	accept(t, c, bearer("of the first"))
	refuse(t, c, bearer("of nobody"), "401")
	t.Run("and one that does not answer may know the token", func(t *testing.T) {
		first.Close()
		c, _ := asking(t, a)
		accept(t, c, bearer("of the second"))
		refuse(t, c, bearer("of nobody"), "503")
	})
}

// Concurrent callers of a token share a request, a slow server is asked 32 questions at once, and a caller who leaves
// does not take the answer from the others.
func TestQuestionsAtOnceAreLimited(t *testing.T) {
	release := make(chan struct{})
	tokens := map[string]any{}
	for n := range 100 {
		tokens[fmt.Sprint("token-", n)] = func(w http.ResponseWriter, _ *http.Request) {
			<-release
			json.NewEncoder(w).Encode(active(nil))
		}
	}
	k := openKnowing(t, tokens)
	c, _ := asking(t, &hcl.Auth{Introspections: []*hcl.Introspection{k.declare()}})
	var callers sync.WaitGroup
	for n := range 300 {
		callers.Go(func() { accept(t, c, bearer(fmt.Sprint("token-", n%100))) })
	}
	until(t, func() bool { return k.now.Load() == 32 })
	close(release)
	callers.Wait()
	if most := k.most.Load(); most != 32 {
		t.Errorf("%d requests at once", most)
	}
	for n := range 100 {
		if asked := k.requests(fmt.Sprint("token-", n)); asked != 1 {
			t.Errorf("token-%d was asked about %d times", n, asked)
		}
	}
}

// A caller who does not wait is not let in, and does not end the request, whose answer is for the next one.
func TestASlowAnswerIsForThoseWhoWait(t *testing.T) {
	release := make(chan struct{})
	k := openKnowing(t, map[string]any{"opaque": func(w http.ResponseWriter, _ *http.Request) {
		<-release
		json.NewEncoder(w).Encode(active(nil))
	}})
	c, _ := asking(t, &hcl.Auth{Introspections: []*hcl.Introspection{k.declare()}})
	gone, leave := context.WithCancel(t.Context())
	leave()
	refuse(t, c, bearer("opaque").WithContext(gone), "503")
	close(release)
	accept(t, c, bearer("opaque"))
	if n := k.requests("opaque"); n != 1 {
		t.Errorf("the server was asked %d times", n)
	}
}

func TestProbeOfIntrospection(t *testing.T) {
	k := openKnowing(t, map[string]any{})
	c, _ := asking(t, &hcl.Auth{Introspections: []*hcl.Introspection{k.declare()}})
	if diags := c.Probe(t.Context()); diags != nil {
		t.Errorf("%v", diags)
	}
	declared := k.declare()
	declared.Client.ID = "stranger"
	c, _ = asking(t, &hcl.Auth{Introspections: []*hcl.Introspection{declared}})
	if diags := c.Probe(t.Context()); len(diags) != 1 || !strings.Contains(diags[0].Detail, "does not accept the client") {
		t.Errorf("%v", diags)
	}
}
