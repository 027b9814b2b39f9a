package entra_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"hatchel/adapters"
	"hatchel/adapters/credential"
	"hatchel/adapters/credential/cloudtest"
	"hatchel/adapters/credential/entra"
)

const (
	userRead = "https://graph.microsoft.com/User.Read https://graph.microsoft.com/Mail.Read"
	issuer   = "https://login.microsoftonline.com/" + tenant + "/v2.0"
)

// tokenOf returns a text with the form of a token of an issuer.
func tokenOf(issuer any) string {
	raw, _ := json.Marshal(map[string]any{"iss": issuer, "sub": "ada"})
	return "eyJhbGciOiJSUzI1NiJ9." + base64.RawURLEncoding.EncodeToString(raw) + ".CANARY"
}

// TestEachApplicationActsOnBehalfOfCallers has each credential of an application, in each cloud.
func TestEachApplicationActsOnBehalfOfCallers(t *testing.T) {
	dir := t.TempDir()
	key, certificate := newCertificate(t, dir, "client.pem")
	seen := map[string]bool{}
	app := entra.Identity{Tenant: tenant, ClientID: client}
	with := func(change func(i *entra.Identity)) entra.Identity {
		i := app
		change(&i)
		return i
	}
	isAssertion := func(r *http.Request) bool { return r.PostFormValue("client_assertion") == assertion }
	for name, c := range map[string]struct {
		identity entra.Identity
		env      map[string]string
		hostport string
		issuer   string
		proves   func(r *http.Request) bool
	}{
		"a secret": {with(func(i *entra.Identity) { i.ClientSecret = secret }), nil, public, issuer,
			func(r *http.Request) bool { return r.PostFormValue("client_secret") == secret }},
		"a key": {with(func(i *entra.Identity) { i.Key, i.Certificate = keyText(t, key), "client.pem" }), nil, public, issuer,
			func(r *http.Request) bool {
				verify(t, r.PostFormValue("client_assertion"), &key.PublicKey, certificate, "https://"+r.Host+r.URL.Path, seen)
				return true
			}},
		"a file": {with(func(i *entra.Identity) { i.AssertionFile = write(t, assertion) }), nil, public, issuer, isAssertion},
		"AKS":    {entra.Identity{}, workload(t), public, "https://sts.windows.net/" + tenant + "/", isAssertion},
		"AKS of the government": {entra.Identity{}, workload(t, "AZURE_AUTHORITY_HOST", "https://login.microsoftonline.us"),
			"login.microsoftonline.us:443", "https://login.microsoftonline.us/" + tenant + "/v2.0", isAssertion},
		"China": {with(func(i *entra.Identity) { i.ClientSecret, i.Cloud = secret, "china" }), nil, "login.chinacloudapi.cn:443",
			"https://login.partner.microsoftonline.cn/" + tenant + "/v2.0",
			func(r *http.Request) bool { return r.PostFormValue("client_secret") == secret }},
	} {
		t.Run(name, func(t *testing.T) {
			caller := credential.Caller{Owner: "ada", Token: tokenOf(c.issuer)}
			var fetched atomic.Int64
			f := cloudtest.New(t)
			f.Serve(c.hostport, func(w http.ResponseWriter, r *http.Request) {
				fetched.Add(1)
				_ = r.ParseForm()
				if r.URL.String() != "/"+tenant+"/oauth2/v2.0/token" || r.PostForm.Get("assertion") != caller.Token ||
					r.PostForm.Get("grant_type") != "urn:ietf:params:oauth:grant-type:jwt-bearer" || r.PostForm.Get("client_id") != client ||
					r.PostForm.Get("requested_token_use") != "on_behalf_of" || r.PostForm.Get("scope") != userRead || !c.proves(r) {
					cloudtest.Unexpected(t, w, "%s %v", r.URL, r.PostForm)
					return
				}
				answer(w, map[string]any{"token_type": "Bearer", "expires_in": 3599, "access_token": accessToken})
			})
			b := &entra.Bearer{Identity: c.identity, Scope: userRead, OnBehalfOf: true}
			s, err := entra.NewOnBehalf(cloudtest.Fetches(t), f.Cloud(c.env), b, adapters.Env{Dir: dir})
			if err != nil {
				t.Fatal(err)
			}
			for range 3 {
				if token, err := s.Token(t.Context(), caller); token != accessToken || err != nil {
					t.Errorf("%q, %v", token, err)
				}
			}
			if !b.AcceptsIssuer(c.issuer) {
				t.Error("a load refuses the issuer")
			}
			for _, other := range []any{"https://id.example", nil, 7, strings.Replace(c.issuer, tenant, client, 1), c.issuer + "/"} {
				_, err := s.Token(t.Context(), credential.Caller{Owner: "ada", Token: tokenOf(other)})
				if err == nil || !strings.Contains(err.Error(), "nothing was sent") {
					t.Errorf("%v: %v", other, err)
				}
				cloudtest.CheckNoSecret(t, err)
			}
			if n := fetched.Load(); n != 1 {
				t.Errorf("%d fetches", n)
			}
		})
	}
}

// TestATokenOfATenantByItsDomainIsOfAnyTenant shows what is known of a tenant without its id: the cloud.
func TestATokenOfATenantByItsDomainIsOfAnyTenant(t *testing.T) {
	b := &entra.Bearer{Identity: entra.Identity{Tenant: "contoso.example"}}
	for issuer, want := range map[string]bool{
		issuer: true, "https://sts.windows.net/" + tenant + "/": true, "https://login.microsoftonline.com/contoso.example/v2.0": false,
		"https://login.microsoftonline.com/common/v2.0": false, "https://id.example/" + tenant + "/v2.0": false,
		"https://login.microsoftonline.us/" + tenant + "/v2.0": true, // the cloud may be that of AZURE_AUTHORITY_HOST
		"http://login.microsoftonline.com/" + tenant + "/v2.0": false, "https://login.microsoftonline.com/" + tenant: false,
		"https://sts.windows.net/" + tenant: false, "https://sts.windows.net/" + tenant + "/v2.0": false,
	} {
		if got := b.AcceptsIssuer(issuer); got != want {
			t.Errorf("%s: %v", issuer, got)
		}
	}
	b.Cloud = "china"
	if b.AcceptsIssuer(issuer) || !b.AcceptsIssuer("https://login.partner.microsoftonline.cn/"+tenant+"/v2.0") {
		t.Error("a block of a cloud takes tokens of another one")
	}
}

// TestASignInNeedsAScopeOfTheApplication has the scopes of sign_in, by which the provider chooses whom the token is for.
func TestASignInNeedsAScopeOfTheApplication(t *testing.T) {
	b := &entra.Bearer{Identity: entra.Identity{Tenant: tenant, ClientID: client}}
	for scope, want := range map[string]bool{
		"api://" + client + "/access_as_user": true, "api://" + strings.ToUpper(client) + "/.default": true, client + "/.default": true,
		"api://tools.example/read": true, "https://contoso.example/tools/read": true,
		"openid": false, "offline_access": false, "User.Read": false, "https://graph.microsoft.com/User.Read": false,
		"https://graph.microsoft.us/User.Read": false, "api://" + tenant + "/read": false, "/read": false,
	} {
		if got := b.AcceptsScopes([]string{"openid", scope, "profile"}); got != want {
			t.Errorf("%s: %v", scope, got)
		}
	}
}

// TestAScopeIsThatOfAnApplicationOrOfCallers checks the argument.
func TestAScopeIsThatOfAnApplicationOrOfCallers(t *testing.T) {
	for scope, want := range map[string]string{ // with the line to write; empty for one that is accepted
		"https://graph.microsoft.com/.default": "", "https://management.azure.com//.default": "", "api://x/.default": "",
		"https://graph.microsoft.com/User.Read": `scope = "https://graph.microsoft.com/.default"`,
		"https://vault.azure.net":               `scope = "https://vault.azure.net/.default"`,
		"User.Read":                             `scope = "https://graph.microsoft.com/.default"`,
		"/.default":                             `scope = "https://graph.microsoft.com/.default"`,
		"":                                      "scope = ", "a b/.default": "scope = ",
	} {
		var checks adapters.Checks
		(&entra.Bearer{Scope: scope}).Check(&checks)
		if err := checks.Err(); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", scope, err)
		}
	}
	for scope, ok := range map[string]bool{
		userRead: true, "User.Read": true, "api://x/.default": true, "": false, " User.Read": false, "a  b": false, `a"b`: false, "a\tb": false,
	} {
		var checks adapters.Checks
		(&entra.Bearer{Scope: scope, OnBehalfOf: true}).Check(&checks)
		if err := checks.Err(); (err == nil) != ok {
			t.Errorf("%q: %v", scope, err)
		}
	}
}

// TestATokenOnBehalfOfACallerIsUsedWhileEntraDoesNotAnswer has a token that was valid, and a sign-in that has ended.
func TestATokenOnBehalfOfACallerIsUsedWhileEntraDoesNotAnswer(t *testing.T) {
	var fetched atomic.Int64
	f := cloudtest.New(t)
	f.Serve(public, func(w http.ResponseWriter, r *http.Request) {
		if fetched.Add(1) == 1 {
			answer(w, map[string]any{"token_type": "Bearer", "expires_in": 3599, "access_token": accessToken})
			return
		}
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"error": "invalid_grant", "error_codes": [50173], "error_description": %q}`, canaryBody)
	})
	b := &entra.Bearer{Identity: entra.Identity{Tenant: tenant, ClientID: client, ClientSecret: secret}, Scope: userRead, OnBehalfOf: true}
	s, err := entra.NewOnBehalf(cloudtest.Fetches(t), f.Cloud(nil), b, adapters.Env{})
	if err != nil {
		t.Fatal(err)
	}
	caller := credential.Caller{Owner: "ada", Token: tokenOf(issuer)}
	deadline := time.Now().Add(10 * time.Second)
	for range 2 {
		if token, err := s.Token(t.Context(), caller); token != accessToken || err != nil || time.Now().After(deadline) {
			t.Errorf("%q, %v", token, err)
		}
		s.Invalidate(caller, "another token")
	}
	s.Invalidate(caller, accessToken)
	if _, err := s.Token(t.Context(), caller); !errors.Is(err, entra.ErrSignInAgain) || fetched.Load() != 2 {
		t.Errorf("%v after %d fetches", err, fetched.Load())
	}
	cloudtest.CheckNoSecret(t, err)
}
