package provider_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"hatchel/adapters"
	"hatchel/adapters/credential"
	"hatchel/hcl"
	"hatchel/runtime/edge/auth/issuer"
	"hatchel/runtime/edge/auth/issuertest"
	"hatchel/runtime/edge/signin/provider"
)

const origin = "https://tools.example"

// fixture is a provider as this server knows it, and the fake one behind it.
type fixture struct {
	*provider.Provider
	t    *testing.T
	fake *issuertest.Provider
	log  bytes.Buffer
	skew atomic.Int64 // of the clock
}

// open returns a provider of a declaration, which change may change.
func open(t *testing.T, change func(*hcl.SignIn)) *fixture {
	t.Helper()
	f := &fixture{t: t, fake: issuertest.OpenProvider(t, issuertest.ProviderClient{
		ID: "hatchel", Secret: "the secret of the client", Redirect: origin + provider.CallbackPath,
	})}
	s := &hcl.SignIn{
		URL: origin, Provider: f.fake.URL, Scopes: []string{"openid", "offline_access"}, SubjectClaim: "sub",
		GroupsClaim: "groups", ClockSkew: time.Minute, Algorithms: []string{"RS256", "ES256", "EdDSA"},
		Client: hcl.ClientAuth{
			ID: "hatchel", Secret: "the secret of the client",
		},
	}
	if change != nil {
		change(s)
	}
	client, err := credential.OpenClient(&s.Client, adapters.Env{})
	if err != nil {
		t.Fatal(err)
	}
	f.Provider = provider.New(t.Context(), s, provider.Options{
		Issuers: new(issuer.Issuers), Client: client, Log: slog.New(slog.NewTextHandler(&f.log, nil)),
		Now:   func() time.Time { return time.Now().Add(time.Duration(f.skew.Load())) },
		Defer: func(done func() error) { t.Cleanup(func() { _ = done() }) },
	})
	return f
}

// visit goes to the provider as a browser does, and returns the parameters that it comes back with.
func (f *fixture) visit(ask provider.Ask) (url.Values, error) {
	f.t.Helper()
	address, err := f.AuthorizationURL(f.t.Context(), ask)
	if err != nil {
		return nil, err
	}
	browser := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := browser.Get(address)
	if err != nil {
		f.t.Fatal(err)
	}
	resp.Body.Close()
	back, err := resp.Location()
	if err != nil {
		f.t.Fatalf("the provider answers %s", resp.Status)
	}
	return back.Query(), nil
}

var ask = provider.Ask{State: "the state", Nonce: "the nonce", Verifier: strings.Repeat("v", 43)}

// signIn signs the current person in.
func (f *fixture) signIn() (*provider.Person, *provider.Tokens, error) {
	f.t.Helper()
	back, err := f.visit(ask)
	if err != nil {
		return nil, nil, err
	}
	if back.Get("state") != ask.State {
		f.t.Errorf("state is %q", back.Get("state"))
	}
	code, err := f.Code(f.t.Context(), back)
	if err != nil {
		return nil, nil, err
	}
	return f.Redeem(f.t.Context(), code, ask.Verifier, ask.Nonce)
}

// mustSignIn signs the current person in.
func (f *fixture) mustSignIn() (*provider.Person, *provider.Tokens) {
	f.t.Helper()
	person, tokens, err := f.signIn()
	if err != nil {
		f.t.Fatal(err)
	}
	return person, tokens
}

// checkRefused checks an error, and that neither of its texts has what the provider has issued.
func (f *fixture) checkRefused(err error, page, log string, kind error) {
	f.t.Helper()
	refused, ok := errors.AsType[*provider.Error](err)
	if !ok {
		f.t.Errorf("the error is %v", err)
		return
	}
	if !strings.Contains(refused.Page, page) || !strings.Contains(refused.Log, log) {
		f.t.Errorf("page %q, log %q", refused.Page, refused.Log)
	}
	for _, k := range []error{provider.ErrEnded, provider.ErrUnavailable} {
		if errors.Is(err, k) != (k == kind) {
			f.t.Errorf("%q is of the kind %v: %v", refused.Log, k, errors.Is(err, k))
		}
	}
	for _, text := range append(f.fake.Given(), "the secret of the client", ask.Verifier) {
		if strings.Contains(refused.Page+refused.Log+f.log.String(), text) {
			f.t.Errorf("a text has %q: page %q, log %q", text, refused.Page, refused.Log)
		}
	}
}

func TestAPersonSignsIn(t *testing.T) {
	f := open(t, func(s *hcl.SignIn) { s.Claims = []string{"email", "org.unit", "number", "absent"} })
	f.fake.SignIn(issuertest.Person{Subject: "ada", Groups: []string{"board", "finance", "board"}, Claims: map[string]any{
		"email": "ada@example.com", "org": map[string]any{"unit": "a"}, "number": json.Number("9007199254740993"),
		"other": "not copied",
	}})
	person, tokens := f.mustSignIn()
	text, err := json.Marshal(person)
	const want = `{"Subject":"ada","Groups":["board","finance"],"Claims":` +
		`{"email":"ada@example.com","number":9007199254740993,"org.unit":"a"}}`
	if err != nil || string(text) != want {
		t.Errorf("%s, %v", text, err)
	}
	if ends := time.Until(tokens.AccessEnds); tokens.Access == "" || tokens.Refresh == "" ||
		ends < 50*time.Minute || ends > time.Hour {
		t.Errorf("%+v", tokens)
	}
	asked := f.fake.Authorizations()[0]
	for name, want := range map[string]string{
		"response_type": "code", "client_id": "hatchel", "redirect_uri": origin + "/oauth/callback",
		"scope": "openid offline_access", "nonce": ask.Nonce, "code_challenge_method": "S256", "prompt": "consent",
		"resource": "",
	} {
		if asked.Get(name) != want {
			t.Errorf("%s is %q", name, asked.Get(name))
		}
	}
	if form := f.fake.TokenRequests()[0]; form.Has("resource") || form.Get("code_verifier") != ask.Verifier {
		t.Errorf("%v", form)
	}
}

func TestOnlyNamedGroupsBecomeGroups(t *testing.T) {
	f := open(t, func(s *hcl.SignIn) {
		s.GroupNames = map[string]string{"1c9e": "finance", "77b0": "board", "9": "board"}
	})
	for _, c := range []struct{ sent, want []string }{
		{[]string{"finance", "1c9e", "other"}, []string{"finance"}},
		{[]string{"board"}, nil},
		{[]string{"77b0", "9", "1c9e"}, []string{"board", "finance"}},
	} {
		f.fake.SignIn(issuertest.Person{Subject: "ada", Groups: c.sent})
		if person, _ := f.mustSignIn(); !slices.Equal(person.Groups, c.want) {
			t.Errorf("%v become %v", c.sent, person.Groups)
		}
	}
}

// Each fault of an ID token or a response is refused with its text.
func TestFaultsOfTheProviderAreRefused(t *testing.T) {
	hmac := func(c jwt.MapClaims) string { return issuertest.Confused(t, issuertest.NewKey(t, "first", "ES256"), c) }
	claim := func(name string, v any) issuertest.Faults {
		return issuertest.Faults{IDToken: map[string]any{name: v}}
	}
	now := time.Now().Unix()
	const identity, later = "did not say who you are", "not available at the moment"
	for _, c := range []struct {
		name      string
		faults    issuertest.Faults
		page, log string
		kind      error
	}{
		{"issuer", claim("iss", "https://other.example"), identity, "is of another issuer", nil},
		{"no issuer", claim("iss", nil), identity, "is not a valid token", nil},
		{"audience", claim("aud", "other"), identity, "is for another client", nil},
		{"no audience", claim("aud", nil), identity, "is not a valid token", nil},
		{"nonce", claim("nonce", "other"), identity, "another nonce", nil},
		{"no nonce", claim("nonce", nil), identity, "another nonce", nil},
		{"azp", claim("azp", "other"), identity, "claim azp", nil},
		{"azp of several audiences", claim("aud", []string{"hatchel", "other"}), identity, "no claim azp", nil},
		{"azp that is no text", claim("azp", []string{"hatchel"}), identity, "claim azp", nil},
		{"expired", claim("exp", now-120), identity, "has expired", nil},
		{"no expiry", claim("exp", nil), identity, "is not a valid token", nil},
		{"issued later", claim("iat", now+120), identity, "is not valid yet", nil},
		{"valid later", claim("nbf", now+120), identity, "is not valid yet", nil},
		{"access token", claim("at_hash", "AAAA"), identity, "at_hash", nil},
		{"unsigned", issuertest.Faults{Sign: func(c jwt.MapClaims) string { return issuertest.Unsigned(t, c) }},
			identity, `is signed with "none", and algorithms has RS256, ES256, EdDSA`, nil},
		{"HMAC", issuertest.Faults{Sign: hmac}, identity, `is signed with "HS256"`, nil},
		{"algorithm that nobody knows", issuertest.Faults{Sign: func(jwt.MapClaims) string {
			return base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"ES256K"}`)) + ".e30.e30"
		}}, identity, `is signed with "ES256K"`, nil},
		{"key", issuertest.Faults{Sign: func(c jwt.MapClaims) string {
			return issuertest.Sign(t, issuertest.NewKey(t, "second", "ES256"), c)
		}}, identity, "is not signed by", nil},
		{"no token", issuertest.Faults{Sign: func(jwt.MapClaims) string { return "x.y" }},
			identity, "is not a valid token", nil},
		{"no ID token", issuertest.Faults{NoIDToken: true}, identity, "must have openid", nil},
		{"subject", claim("sub", "a\nb"), identity, "subject_claim", nil},
		{"subject that is no text", claim("sub", 7), identity, "subject_claim", nil},
		{"overage", issuertest.Faults{IDToken: map[string]any{
			"groups": nil, "_claim_names": map[string]any{"groups": "src1"},
		}}, "Entra sent no groups, because this person has more than 200. Assign groups to the application.",
			"Assign groups to the application", nil},
		{"overage of an implicit sign-in", issuertest.Faults{IDToken: map[string]any{"groups": nil, "hasgroups": true}},
			"Entra sent no groups", "more than 200", nil},
		{"too many groups", claim("groups", strings.Fields(strings.Repeat("group ", 2)+manyGroups())),
			"more groups or longer claims", "group_names keeps", nil},
		{"issuer of the response", issuertest.Faults{ResponseIssuer: "https://other.example"},
			identity, `"https://other.example"`, nil},
		{"no issuer of the response", issuertest.Faults{ResponseIssuer: "-"}, identity, "does not name its issuer", nil},
		{"denied", issuertest.Faults{Error: "access_denied", Description: "User is not assigned to the client."},
			"did not allow it", `access_denied, "User is not assigned to the client."`, nil},
		{"not assigned at Entra", issuertest.Faults{Error: "invalid_grant", Description: "AADSTS50105: Your ..."},
			"not assigned", "AADSTS50105", nil},
		{"consent", issuertest.Faults{Error: "access_denied", Description: "AADSTS90094: ..."},
			"consent of an administrator", "must consent", nil},
		{"blocked at Auth0", issuertest.Faults{Error: "unauthorized", Description: "user is blocked"},
			"did not allow it", `unauthorized, "user is blocked"`, nil},
		{"step", issuertest.Faults{Error: "interaction_required"}, "another step", "interaction_required", nil},
		{"consent_required", issuertest.Faults{Error: "consent_required"}, "another step", "consent_required", nil},
		{"busy", issuertest.Faults{Error: "temporarily_unavailable"}, later, "temporarily_unavailable",
			provider.ErrUnavailable},
		{"hostile error", issuertest.Faults{Error: "a b\nc", Description: "x\ny\u202e"}, "operator",
			`an error without a valid code, "x\ny\u202e"`, nil},
		{"code", issuertest.Faults{TokenError: map[string]any{"error": "invalid_grant"}}, "Begin it again",
			"invalid_grant", provider.ErrEnded},
		{"client", issuertest.Faults{TokenError: map[string]any{
			"error": "invalid_client", "error_description": "AADSTS7000222: The provided client secret ... MARKER",
		}}, "operator", "AADSTS7000222: client_secret has expired", provider.ErrUnavailable},
		{"failure", issuertest.Faults{TokenStatus: 500, TokenBody: `{"error":"server_error"}`}, later, "status 500",
			provider.ErrUnavailable},
		{"limit", issuertest.Faults{TokenStatus: 429, TokenBody: "slow down"}, later, "status 429",
			provider.ErrUnavailable},
		{"HTML", issuertest.Faults{TokenBody: "<html>MARKER</html>"}, later, "not answer with JSON",
			provider.ErrUnavailable},
		{"list", issuertest.Faults{TokenBody: `["MARKER"]`}, later, "not answer with JSON", provider.ErrUnavailable},
		{"null", issuertest.Faults{TokenBody: `null`}, later, "not answer with JSON", provider.ErrUnavailable},
		{"no access token", issuertest.Faults{TokenBody: `{"id_token":"MARKER"}`}, later, "no access token",
			provider.ErrUnavailable},
		{"access token with a space", issuertest.Faults{TokenBody: `{"access_token":"MAR KER"}`}, later,
			"no access token", provider.ErrUnavailable},
		{"redirect", issuertest.Faults{TokenStatus: 307}, later, "status 307", provider.ErrUnavailable},
		{"huge", issuertest.Faults{TokenBody: `{"access_token":"` + strings.Repeat("x", 1<<20) + `"}`}, later,
			"more than", provider.ErrUnavailable},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := open(t, nil)
			f.fake.SetFaults(c.faults)
			_, _, err := f.signIn()
			f.checkRefused(err, c.page, c.log, c.kind)
			if err != nil && strings.Contains(err.Error()+f.log.String(), "MARKER") {
				t.Errorf("a text has the response: %v", err)
			}
		})
	}
}

func TestTheAlgorithmOfIDTokensIsDeclared(t *testing.T) {
	f := open(t, func(s *hcl.SignIn) { s.Algorithms = []string{"EdDSA"} })
	_, _, err := f.signIn()
	f.checkRefused(err, "did not say who you are", "one of the algorithms", nil)
	f.fake.Serve(issuertest.NewKey(t, "second", "EdDSA"))
	f.mustSignIn()
}

// manyGroups returns the names of more groups than a token has room for.
func manyGroups() string {
	var b strings.Builder
	for n := range 200 {
		fmt.Fprintf(&b, " 5d0f2f4c-0000-4000-8000-%012d", n)
	}
	return b.String()
}

func TestMetadataOfTheProviderIsChecked(t *testing.T) {
	for name, c := range map[string]struct {
		metadata map[string]any
		want     string
	}{
		"issuer":         {map[string]any{"issuer": "https://other.example"}, "describes another issuer"},
		"keys":           {map[string]any{"jwks_uri": nil}, "keys at"},
		"authorization":  {map[string]any{"authorization_endpoint": nil}, "authorization_endpoint"},
		"token endpoint": {map[string]any{"token_endpoint": "file:///x"}, "token_endpoint"},
		"userinfo":       {map[string]any{"userinfo_endpoint": "ftp://x"}, "userinfo_endpoint"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := open(t, nil)
			f.fake.SetFaults(issuertest.Faults{Metadata: c.metadata})
			_, _, err := f.signIn()
			f.checkRefused(err, "not available", c.want, provider.ErrUnavailable)
			if err := f.Probe(t.Context()); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v", err)
			}
		})
	}
}

// A provider at which nobody can sign in is found before anybody tries.
func TestAProbeFindsWhatMetadataPromise(t *testing.T) {
	for want, metadata := range map[string]map[string]any{
		"":                              {"id_token_signing_alg_values_supported": []string{"HS256", "ES256"}},
		`signs ID tokens with "HS256"`:  {"id_token_signing_alg_values_supported": []string{"HS256"}},
		"pushed authorization requests": {"require_pushed_authorization_requests": true},
	} {
		f := open(t, nil)
		f.fake.SetFaults(issuertest.Faults{Metadata: metadata})
		if err := f.Probe(t.Context()); err == nil != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", metadata, err)
		}
	}
}

func TestParametersOfTheProviderAreKept(t *testing.T) {
	f := open(t, nil)
	f.fake.SetFaults(issuertest.Faults{Metadata: map[string]any{
		"authorization_endpoint": f.fake.URL + "/authorize?tenant=a&client_id=other#x", "prompt_values_supported": []string{"login"},
		"code_challenge_methods_supported": []string{"plain"},
	}})
	text, err := f.AuthorizationURL(t.Context(), provider.Ask{State: "s", Nonce: "n", Verifier: "v", LoginHint: "ada"})
	u, _ := url.Parse(text)
	if q := u.Query(); err != nil || q.Get("tenant") != "a" || len(q["client_id"]) != 1 || q.Get("client_id") != "hatchel" ||
		q.Has("prompt") || q.Has("code_challenge") || q.Get("login_hint") != "ada" || u.Fragment != "" {
		t.Errorf("%s, %v", text, err)
	}
}

func TestARefreshRenewsWhoThePersonIs(t *testing.T) {
	f := open(t, func(s *hcl.SignIn) { s.Claims = []string{"email"} })
	f.fake.SignIn(issuertest.Person{Subject: "ada", Groups: []string{"finance"}, Claims: map[string]any{"email": "a"}})
	person, tokens := f.mustSignIn()
	f.fake.SetPerson(issuertest.Person{Subject: "ada", Groups: []string{"board"}, Claims: map[string]any{"email": "b"}})
	renewed, next, err := f.Refresh(t.Context(), tokens.Refresh, person)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(renewed.Groups, []string{"board"}) || renewed.Claims["email"] != "b" || next.Refresh == tokens.Refresh ||
		next.Access == tokens.Access {
		t.Errorf("%+v, %+v", renewed, next)
	}
	t.Run("not with the rotated token", func(t *testing.T) {
		_, _, err := f.Refresh(t.Context(), tokens.Refresh, person)
		f.checkRefused(err, "Begin it again", "invalid_grant", provider.ErrEnded)
	})
	t.Run("not while the provider is down", func(t *testing.T) {
		f.fake.Fail(503)
		_, _, err := f.Refresh(t.Context(), next.Refresh, person)
		f.checkRefused(err, "not available", "status 503", provider.ErrUnavailable)
		f.fake.Fail(0)
	})
	t.Run("not in time", func(t *testing.T) {
		f.fake.SetFaults(issuertest.Faults{Held: make(chan struct{})}) // never released, so the token stays unused
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		_, _, err := f.Refresh(ctx, next.Refresh, person)
		f.checkRefused(err, "not available", "did not answer", provider.ErrUnavailable)
	})
	t.Run("not as another client", func(t *testing.T) {
		f.fake.SetFaults(issuertest.Faults{TokenError: map[string]any{"error": "invalid_client"}})
		_, _, err := f.Refresh(t.Context(), next.Refresh, person)
		f.checkRefused(err, "operator", "invalid_client", provider.ErrUnavailable)
	})
	t.Run("not without a further step", func(t *testing.T) {
		f.fake.SetFaults(issuertest.Faults{TokenError: map[string]any{"error": "interaction_required"}})
		_, _, err := f.Refresh(t.Context(), next.Refresh, person)
		f.checkRefused(err, "Begin it again", "interaction_required", provider.ErrEnded)
	})
	t.Run("not once Auth0 blocks the person", func(t *testing.T) {
		f.fake.SetFaults(issuertest.Faults{TokenError: map[string]any{"error": "unauthorized"}})
		_, _, err := f.Refresh(t.Context(), next.Refresh, person)
		f.checkRefused(err, "Begin it again", "unauthorized", provider.ErrEnded)
	})
	t.Run("not as another person", func(t *testing.T) {
		f.fake.SetFaults(issuertest.Faults{IDToken: map[string]any{"sub": "bob"}, KeepsRefreshToken: true})
		_, _, err := f.Refresh(t.Context(), next.Refresh, person)
		f.checkRefused(err, "did not say who you are", "another person", provider.ErrEnded)
	})
	t.Run("not with groups that are left out", func(t *testing.T) {
		f.fake.SetFaults(issuertest.Faults{KeepsRefreshToken: true, IDToken: map[string]any{
			"groups": nil, "_claim_names": map[string]any{"groups": "src1"},
		}})
		_, _, err := f.Refresh(t.Context(), next.Refresh, person)
		f.checkRefused(err, "Entra sent no groups", "more than 200", provider.ErrEnded)
	})
	t.Run("with the token of an answer after which the provider failed", func(t *testing.T) {
		f.fake.SetFaults(issuertest.Faults{UserInfo: map[string]any{}, UserInfoStatus: 502, IDToken: map[string]any{"groups": nil}})
		f.skew.Add(int64(16 * time.Minute)) // after which the metadata is loaded again
		defer f.skew.Store(0)
		f.fake.SetClock(func() time.Time { return time.Now().Add(time.Duration(f.skew.Load())) })
		_, kept, err := f.Refresh(t.Context(), next.Refresh, person)
		f.checkRefused(err, "not available", "status 502", provider.ErrUnavailable)
		if kept == nil || kept.Refresh == next.Refresh {
			t.Fatalf("%+v", kept)
		}
		f.fake.SetFaults(issuertest.Faults{})
		if _, next, err = f.Refresh(t.Context(), kept.Refresh, person); err != nil {
			t.Error(err)
		}
	})
	t.Run("with the same token if the provider gives no other one", func(t *testing.T) {
		f.fake.SetFaults(issuertest.Faults{NoRefreshToken: true, KeepsRefreshToken: true})
		_, same, err := f.Refresh(t.Context(), next.Refresh, person)
		if err != nil || same.Refresh != next.Refresh {
			t.Errorf("%+v, %v", same, err)
		}
	})
	t.Run("not once the person is removed", func(t *testing.T) {
		f.fake.SetFaults(issuertest.Faults{})
		f.fake.Remove("ada")
		_, _, err := f.Refresh(t.Context(), next.Refresh, person)
		f.checkRefused(err, "Begin it again", "invalid_grant", provider.ErrEnded)
	})
}

// Claims that the ID token does not have come from the userinfo endpoint, if there is one.
func TestUserInfoHasWhatTheIDTokenDoesNot(t *testing.T) {
	info := map[string]any{"groups": []string{"board"}, "email": "ada@example.com"}
	f := open(t, func(s *hcl.SignIn) { s.Claims = []string{"email"} })
	f.fake.SetFaults(issuertest.Faults{UserInfo: info, IDToken: map[string]any{"groups": nil, "email": "of the token"}})
	person, tokens := f.mustSignIn()
	if !slices.Equal(person.Groups, []string{"board"}) || person.Claims["email"] != "of the token" {
		t.Errorf("%+v", person)
	}
	t.Run("after a refresh without an ID token", func(t *testing.T) {
		f.fake.SetFaults(issuertest.Faults{NoIDTokenOnRefresh: true, UserInfo: map[string]any{"groups": "audit"}})
		renewed, next, err := f.Refresh(t.Context(), tokens.Refresh, person)
		if err != nil || !slices.Equal(renewed.Groups, []string{"audit"}) {
			t.Fatalf("%+v, %v", renewed, err)
		}
		tokens = next
	})
	for name, c := range map[string]struct {
		info   map[string]any
		status int
		log    string
		kind   error
	}{
		"down":       {info, 502, "userinfo endpoint of the provider answered with status 502", provider.ErrUnavailable},
		"stranger":   {map[string]any{"sub": "bob"}, 0, "describes another person", nil},
		"overage":    {map[string]any{"_claim_names": map[string]any{"groups": "src1"}}, 0, "more than 200", nil},
		"not for us": {info, 401, "", nil},
		"endless":    {map[string]any{"x": strings.Repeat("x", 1<<20)}, 0, "more than", provider.ErrUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			faults := issuertest.Faults{UserInfo: c.info, UserInfoStatus: c.status, IDToken: map[string]any{"groups": nil}}
			f := open(t, nil)
			f.fake.SetFaults(faults)
			person, _, err := f.signIn()
			if c.log == "" {
				if err != nil || person.Groups != nil {
					t.Errorf("%+v, %v", person, err)
				}
				return
			}
			f.checkRefused(err, "", c.log, c.kind)
		})
	}
	t.Run("and without one, what was known stays", func(t *testing.T) {
		f.fake.SetFaults(issuertest.Faults{NoIDTokenOnRefresh: true})
		renewed, _, err := f.Refresh(t.Context(), tokens.Refresh, person)
		if err != nil || renewed != person || !strings.Contains(f.log.String(), "identity not renewed") {
			t.Errorf("%+v, %v, %s", renewed, err, &f.log)
		}
	})
}

func TestAccessTokensAreThoseOfTheIDToken(t *testing.T) {
	f := open(t, nil)
	for _, algorithm := range []string{"ES256", "EdDSA"} {
		f.fake.Serve(issuertest.NewKey(t, algorithm, algorithm))
		f.skew.Add(int64(16 * time.Minute)) // after which keys are loaded again
		f.fake.SetClock(func() time.Time { return time.Now().Add(time.Duration(f.skew.Load())) })
		f.fake.SetFaults(issuertest.Faults{HashesAccessToken: true})
		f.mustSignIn()
	}
}

func TestAnUnreachableProviderIsUnavailable(t *testing.T) {
	f := open(t, nil)
	f.fake.Fail(500)
	_, err := f.AuthorizationURL(t.Context(), ask)
	f.checkRefused(err, "not available", "status 500", provider.ErrUnavailable)
	_, err = f.Code(t.Context(), url.Values{"code": {"x"}})
	f.checkRefused(err, "not available", "status 500", provider.ErrUnavailable)
}

func TestACodeIsExactlyOne(t *testing.T) {
	f := open(t, nil)
	for name, q := range map[string]url.Values{
		"two codes":   {"code": {"a", "b"}, "iss": {f.fake.URL}},
		"no code":     {"iss": {f.fake.URL}},
		"empty code":  {"code": {""}, "iss": {f.fake.URL}},
		"two issuers": {"code": {"a"}, "iss": {f.fake.URL, "https://other.example"}},
		"prefix":      {"code": {"a"}, "iss": {f.fake.URL + "/"}},
	} {
		if code, err := f.Code(t.Context(), q); err == nil {
			t.Errorf("%s: %q", name, code)
		}
	}
	if code, err := f.Code(t.Context(), url.Values{"code": {"a"}, "iss": {f.fake.URL}}); err != nil || code != "a" {
		t.Errorf("%q, %v", code, err)
	}
}

// claimsOf returns claims of an assertion, changed.
func claimsOf(f *fixture, change map[string]any) jwt.MapClaims {
	now := time.Now().Unix()
	c := jwt.MapClaims{
		"iss": f.fake.URL, "sub": "ada", "aud": origin, "client_id": "https://claude.ai/oauth/metadata", "jti": "1",
		"iat": now, "exp": now + 300, "resource": origin + "/mcp", "scope": "invoices:pay read", "groups": []string{"finance"},
	}
	maps.Copy(c, change)
	maps.DeleteFunc(c, func(_ string, v any) bool { return v == nil })
	return c
}
