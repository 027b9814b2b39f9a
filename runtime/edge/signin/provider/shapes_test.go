package provider_test

import (
	"net/url"
	"slices"
	"testing"
	"time"

	"hatchel/hcl"
	"hatchel/runtime/edge/auth/issuertest"
	"hatchel/runtime/edge/signin/provider"
)

// Providers write the same things in different ways.
func TestProvidersOfDifferentFormsSignIn(t *testing.T) {
	type object = map[string]any
	for name, c := range map[string]struct {
		groupsClaim string
		faults      issuertest.Faults
		groups      []string
	}{
		"Keycloak, roles of the realm": {"realm_access.roles", issuertest.Faults{IDToken: object{
			"typ": "ID", "azp": "hatchel", "aud": []string{"hatchel", "account"},
			"realm_access": object{"roles": []string{"finance"}},
		}}, []string{"finance"}},
		"Keycloak, roles of a client whose name has dots": {"resource_access.com.acme.app.roles",
			issuertest.Faults{IDToken: object{"resource_access": object{
				"com": object{"roles": []string{"other"}}, "com.acme.app": object{"roles": []string{"finance"}},
			}}}, []string{"finance"}},
		"Auth0, a name that is a URL": {"https://acme.example/roles", issuertest.Faults{IDToken: object{
			"https://acme.example/roles": []string{"finance"},
		}}, []string{"finance"}},
		"Okta, one group as a text": {"groups", issuertest.Faults{IDToken: object{"groups": "finance"}},
			[]string{"finance"}},
		"Entra, roles of a person with many groups": {"roles", issuertest.Faults{IDToken: object{
			"groups": nil, "hasgroups": "true", "roles": []string{"finance"},
		}}, []string{"finance"}},
		"Entra, no role of a person with many groups": {"roles", issuertest.Faults{IDToken: object{
			"groups": nil, "hasgroups": true, "_claim_names": object{"groups": "src1"},
		}}, nil},
		"Google, no groups": {"groups", issuertest.Faults{IDToken: object{"groups": nil, "hd": "acme.example"}}, nil},
		"expires_in as a text": {"groups", issuertest.Faults{Token: object{"expires_in": "3599", "ext_expires_in": 0}},
			[]string{"finance"}},
		"no expires_in, type in lower case, fewer scopes": {"groups", issuertest.Faults{Token: object{
			"expires_in": nil, "token_type": "bearer", "scope": "openid", "error": nil, "refresh_token": nil,
		}}, []string{"finance"}},
		"metadata with less and with more": {"groups", issuertest.Faults{Metadata: object{
			"code_challenge_methods_supported": nil, "response_types_supported": nil, "scopes_supported": nil,
			"prompt_values_supported": nil, "userinfo_endpoint": nil, "mtls_endpoint_aliases": object{},
			"check_session_iframe": "", "require_pushed_authorization_requests": false,
		}}, []string{"finance"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := open(t, func(s *hcl.SignIn) { s.GroupsClaim = c.groupsClaim })
			f.fake.SetFaults(c.faults)
			person, tokens := f.mustSignIn()
			if person.Subject != "ada" || !slices.Equal(person.Groups, c.groups) {
				t.Errorf("%+v", person)
			}
			if life := time.Until(tokens.AccessEnds); life < 50*time.Minute || life > time.Hour {
				t.Errorf("the access token is used for %s", life)
			}
		})
	}
}

// The issuer of some providers, such as Auth0, ends with a slash. It is compared as a text all the same.
func TestAnIssuerMayEndWithASlash(t *testing.T) {
	f := open(t, func(s *hcl.SignIn) { s.Provider += "/" })
	issuer := f.fake.URL + "/"
	f.fake.SetFaults(issuertest.Faults{
		Metadata: map[string]any{"issuer": issuer}, IDToken: map[string]any{"iss": issuer}, ResponseIssuer: issuer,
	})
	f.mustSignIn()
	f.fake.SetFaults(issuertest.Faults{IDToken: map[string]any{"iss": f.fake.URL}, ResponseIssuer: issuer})
	_, _, err := f.signIn()
	f.checkRefused(err, "did not say who you are", "is of another issuer", nil)
}

// A client that wants the person to choose an account does not cost the refresh token, for which consent is asked, nor
// the sign-in at a provider that does not let people choose one.
func TestPromptsOfClientsAreAdded(t *testing.T) {
	for _, c := range []struct {
		supported   []string // nil if the provider does not say it
		asked, want string
	}{
		{nil, "", "consent"},
		{nil, "login", "login consent"},
		{nil, "select_account", "consent"},
		{[]string{"select_account", "consent"}, "select_account", "select_account consent"},
		{[]string{"none", "login", "consent"}, "login select_account", "login consent"},
		{[]string{"none", "login"}, "select_account", ""},
	} {
		f := open(t, nil)
		f.fake.SetFaults(issuertest.Faults{Metadata: map[string]any{"prompt_values_supported": c.supported}})
		text, err := f.AuthorizationURL(t.Context(), provider.Ask{State: "s", Nonce: "n", Verifier: "v", Prompt: c.asked})
		if u, _ := url.Parse(text); err != nil || u.Query().Get("prompt") != c.want {
			t.Errorf("%+v: %s, %v", c, text, err)
		}
	}
}

// A provider without PKCE gets neither a challenge nor a verifier: it refuses one without the other (RFC 9700).
func TestAVerifierFollowsAChallenge(t *testing.T) {
	for method, want := range map[string]bool{"plain": false, "S256": true} {
		f := open(t, nil)
		f.fake.SetFaults(issuertest.Faults{Metadata: map[string]any{"code_challenge_methods_supported": []string{method}}})
		address, err := f.AuthorizationURL(t.Context(), ask)
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = f.Redeem(t.Context(), "unknown", ask.Verifier, ask.Nonce)
		f.checkRefused(err, "Begin it again", "invalid_grant", provider.ErrEnded)
		u, _ := url.Parse(address)
		if form := f.fake.TokenRequests()[0]; u.Query().Has("code_challenge") != want || form.Has("code_verifier") != want {
			t.Errorf("%s: %s, %v", method, address, form)
		}
	}
}
