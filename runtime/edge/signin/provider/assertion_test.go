package provider_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"hatchel/hcl"
	"hatchel/runtime/edge/auth/issuertest"
	"hatchel/runtime/edge/signin/provider"
)

const assertingClient = "https://claude.ai/oauth/metadata"

// assert verifies an assertion of a client.
func (f *fixture) assert(text, client string) (*provider.Assertion, error) {
	return f.Assertion(f.t.Context(), provider.AssertionRequest{
		Assertion: text, Client: client,
		AcceptsResource: func(r string) bool { return r == origin+"/mcp" || r == origin+"/mcp/invoices" },
	})
}

// signAssertion returns an assertion with a type.
func (f *fixture) signAssertion(typ any, claims jwt.MapClaims) string {
	f.t.Helper()
	return issuertest.SignAs(f.t, typ, f.fake.Key(), claims)
}

func accepting(s *hcl.SignIn) {
	s.Assertions = &hcl.Assertions{Issuer: s.Provider, Clients: []string{assertingClient, "other"}}
}

const idJAG = "oauth-id-jag+jwt"

func TestAnAssertionSaysWhoThePersonIs(t *testing.T) {
	f := open(t, func(s *hcl.SignIn) {
		accepting(s)
		s.SubjectClaim, s.GroupNames, s.Claims = "oid", map[string]string{"1": "finance"}, []string{"email"}
	})
	for name, c := range map[string]struct {
		typ      string
		change   map[string]any
		resource string
		scopes   []string
	}{
		"all":             {idJAG, nil, origin + "/mcp", []string{"invoices:pay", "read"}},
		"media type":      {"application/" + idJAG, map[string]any{"resource": nil}, "", []string{"invoices:pay", "read"}},
		"of a toolset":    {idJAG, map[string]any{"resource": origin + "/mcp/invoices"}, origin + "/mcp/invoices", []string{"invoices:pay", "read"}},
		"lists":           {idJAG, map[string]any{"aud": []string{origin}, "resource": []string{origin + "/mcp"}}, origin + "/mcp", []string{"invoices:pay", "read"}},
		"without a scope": {idJAG, map[string]any{"scope": nil}, origin + "/mcp", nil},
		"within the skew": {idJAG, map[string]any{"iat": time.Now().Unix() + 30, "exp": time.Now().Unix() + 630}, origin + "/mcp", []string{"invoices:pay", "read"}},
	} {
		claims := claimsOf(f, map[string]any{"oid": "ada of the directory", "groups": []string{"1", "2"}, "email": "a"})
		for k, v := range c.change {
			if claims[k] = v; v == nil {
				delete(claims, k)
			}
		}
		a, err := f.assert(f.signAssertion(c.typ, claims), assertingClient)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if a.Subject != "ada of the directory" || !slices.Equal(a.Groups, []string{"finance"}) || a.Claims["email"] != "a" ||
			a.ID != "1" || a.Resource != c.resource || !slices.Equal(a.Scopes, c.scopes) ||
			time.Until(a.Ends) < 5*time.Minute {
			t.Errorf("%s: %+v", name, a)
		}
	}
}

func TestFaultsOfAssertionsAreRefused(t *testing.T) {
	f := open(t, accepting)
	now := time.Now().Unix()
	for name, c := range map[string]struct {
		typ    any
		change map[string]any
		want   string
	}{
		"ID token":                 {"JWT", nil, "has another type"},
		"access token":             {"at+jwt", nil, "has another type"},
		"no type":                  {"", nil, "has another type"},
		"type that is no text":     {7, nil, "has another type"},
		"issuer":                   {idJAG, map[string]any{"iss": "https://other.example"}, "is of another issuer"},
		"audience":                 {idJAG, map[string]any{"aud": "https://other.example"}, "is for another server"},
		"resource as audience":     {idJAG, map[string]any{"aud": origin + "/mcp"}, "is for another server"},
		"slash":                    {idJAG, map[string]any{"aud": origin + "/"}, "is for another server"},
		"no audience":              {idJAG, map[string]any{"aud": nil}, "is not a valid token"},
		"several audiences":        {idJAG, map[string]any{"aud": []string{origin, "https://other.example"}}, "several servers"},
		"client":                   {idJAG, map[string]any{"client_id": "other"}, "another client"},
		"no client":                {idJAG, map[string]any{"client_id": nil}, "another client"},
		"clients":                  {idJAG, map[string]any{"client_id": []string{assertingClient}}, "another client"},
		"resource":                 {idJAG, map[string]any{"resource": "https://other.example/mcp"}, "a resource that"},
		"unknown toolset":          {idJAG, map[string]any{"resource": origin + "/mcp/unknown"}, "a resource that"},
		"empty resource":           {idJAG, map[string]any{"resource": ""}, "a resource that"},
		"resource is no text":      {idJAG, map[string]any{"resource": 7}, "a resource that"},
		"several resources":        {idJAG, map[string]any{"resource": []string{origin + "/mcp", origin + "/mcp/invoices"}}, "a resource that"},
		"no ID":                    {idJAG, map[string]any{"jti": nil}, "jti"},
		"ID that is no text":       {idJAG, map[string]any{"jti": 1}, "jti"},
		"long ID":                  {idJAG, map[string]any{"jti": strings.Repeat("x", 257)}, "jti"},
		"no iat":                   {idJAG, map[string]any{"iat": nil}, "iat"},
		"no exp":                   {idJAG, map[string]any{"exp": nil}, "is not a valid token"},
		"long life":                {idJAG, map[string]any{"iat": now, "exp": now + 601}, "longer than 10m"},
		"old and long":             {idJAG, map[string]any{"iat": now - 500, "exp": now + 200}, "longer than 10m"},
		"expired":                  {idJAG, map[string]any{"iat": now - 300, "exp": now - 61}, "has expired"},
		"issued later":             {idJAG, map[string]any{"iat": now + 150, "exp": now + 200}, "not valid yet"},
		"valid later":              {idJAG, map[string]any{"nbf": now + 150}, "not valid yet"},
		"bound to a key":           {idJAG, map[string]any{"cnf": map[string]any{"jkt": "x"}}, "bound to a key"},
		"no subject":               {idJAG, map[string]any{"sub": nil}, "subject_claim"},
		"subject":                  {idJAG, map[string]any{"sub": "a\x00"}, "subject_claim"},
		"overage":                  {idJAG, map[string]any{"groups": nil, "_claim_names": map[string]any{"groups": "s"}}, "more than 200"},
		"more groups than a token": {idJAG, map[string]any{"groups": strings.Fields(manyGroups())}, "group_names"},
	} {
		text := f.signAssertion(c.typ, claimsOf(f, c.change))
		a, err := f.assert(text, assertingClient)
		if err == nil {
			t.Errorf("%s: %+v", name, a)
			continue
		}
		if refused, ok := errors.AsType[*provider.Error](err); !ok || !strings.Contains(refused.Log, c.want) ||
			errors.Is(err, provider.ErrUnavailable) || strings.Contains(refused.Log+refused.Page, text) ||
			refused.Code != "invalid_grant" || !strings.Contains(refused.Page, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	good := claimsOf(f, nil)
	stranger := issuertest.Open(t)
	for name, text := range map[string]string{
		"key of another issuer": issuertest.Sign(t, stranger.Key(), good),
		"unsigned":              issuertest.Unsigned(t, good),
		"HMAC":                  issuertest.Confused(t, f.fake.Key(), good),
		"no token":              "token",
		"empty":                 "",
	} {
		if a, err := f.assert(text, assertingClient); err == nil {
			t.Errorf("%s: %+v", name, a)
		}
	}
	t.Run("a client that may not use them", func(t *testing.T) {
		_, err := f.assert(f.signAssertion(idJAG, claimsOf(f, map[string]any{"client_id": "stranger"})), "stranger")
		if refused, ok := errors.AsType[*provider.Error](err); !ok || refused.Code != "unauthorized_client" {
			t.Errorf("%v", err)
		}
	})
	t.Run("the assertion of another client", func(t *testing.T) {
		if _, err := f.assert(f.signAssertion(idJAG, good), "other"); err == nil {
			t.Error("it is accepted")
		}
	})
	t.Run("a provider that is down is not a refusal", func(t *testing.T) {
		f := open(t, accepting)
		f.fake.Fail(500)
		_, err := f.assert(f.signAssertion(idJAG, claimsOf(f, nil)), assertingClient)
		if !errors.Is(err, provider.ErrUnavailable) {
			t.Errorf("%v", err)
		}
	})
	t.Run("a declaration without assertions", func(t *testing.T) {
		f := open(t, nil)
		_, err := f.assert(f.signAssertion(idJAG, claimsOf(f, nil)), assertingClient)
		if refused, ok := errors.AsType[*provider.Error](err); !ok || refused.Code != "unsupported_grant_type" {
			t.Errorf("%v", err)
		}
	})
}

// Assertions may be of another issuer than the provider, which need not be an OpenID provider.
func TestAssertionsOfAnotherIssuer(t *testing.T) {
	other := issuertest.Open(t)
	f := open(t, func(s *hcl.SignIn) {
		s.Assertions = &hcl.Assertions{Issuer: other.URL, Clients: []string{assertingClient}}
	})
	claims := claimsOf(f, map[string]any{"iss": other.URL})
	text := issuertest.SignAs(t, idJAG, other.Key(), claims)
	if _, err := f.assert(text, assertingClient); err != nil {
		t.Error(err)
	}
	if _, err := f.assert(f.signAssertion(idJAG, claimsOf(f, nil)), assertingClient); err == nil {
		t.Error("an assertion of the provider is accepted")
	}
}
