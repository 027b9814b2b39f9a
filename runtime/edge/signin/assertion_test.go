package signin_test

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

const asserting = `
client "agent" {
  redirects = ["https://agent.example/callback"]
  secret    = secret.provider
}
client "other" {
  redirects = ["https://agent.example/callback"]
  secret    = secret.provider
}
client "public" { redirects = ["https://agent.example/callback"] }
scope "pay" { description = "Pay" }
scope "vote" { description = "Vote" }
`

// assertion returns an identity assertion of the provider.
func (r *rig) assertion(change map[string]any) string {
	r.t.Helper()
	now := time.Now()
	claims := jwt.MapClaims{
		"iss": r.provider.URL, "sub": "ada", "aud": r.url, "client_id": "agent", "resource": r.url + "/mcp",
		"jti": now.Format(time.RFC3339Nano), "iat": now.Unix(), "exp": now.Add(5 * time.Minute).Unix(),
		"groups": []string{"finance"}, "scope": "pay",
	}
	maps.Copy(claims, change)
	typ, ok := claims["typ"].(string)
	if !ok {
		typ = "oauth-id-jag+jwt"
	}
	delete(claims, "typ")
	maps.DeleteFunc(claims, func(_ string, v any) bool { return v == nil })
	key := r.provider.Key()
	token := jwt.NewWithClaims(jwt.GetSigningMethod(key.Algorithm), claims)
	token.Header["kid"], token.Header["typ"] = key.ID, typ
	text, err := token.SignedString(key.Private)
	if err != nil {
		r.t.Fatal(err)
	}
	return text
}

func (r *rig) exchange(assertion string, pairs ...string) *answer {
	r.t.Helper()
	return r.post("/oauth/token", append([]string{
		"grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer", "assertion", assertion,
	}, pairs...)...)
}

// TestAnAssertionOfTheProviderGivesAnAccessToken exchanges identity assertions (ID-JAG), and each that is not accepted.
func TestAnAssertionOfTheProviderGivesAnAccessToken(t *testing.T) {
	r := openRig(t, asserting+`assertions { clients = ["agent", "public"] }`, "")
	secret := []string{"client_id", "agent", "client_secret", clientSecret}
	good := r.assertion(nil)
	a := r.exchange(good, append(secret, "scope", "pay vote")...)
	if a.status != http.StatusOK || a.Refresh != "" || a.Scope != "pay" {
		t.Fatalf("the assertion gives %+v", a)
	}
	r.mustCall(a.Access, "ada of finance")
	if again := r.exchange(good, secret...); again.Error != "invalid_grant" || again.Access != "" {
		t.Errorf("the assertion gives for the second time %+v", again)
	}
	if plain := r.exchange(r.assertion(map[string]any{"resource": nil}), secret...); plain.Access == "" || plain.Scope != "pay" {
		t.Errorf("an assertion without a resource gives %+v", plain)
	}
	for name, c := range map[string]struct {
		change map[string]any
		pairs  []string
		code   string
	}{
		"another audience":   {map[string]any{"aud": "https://x.example"}, secret, "invalid_grant"},
		"another resource":   {map[string]any{"resource": "https://x.example/mcp"}, secret, "invalid_grant"},
		"another client":     {nil, []string{"client_id", "other", "client_secret", clientSecret}, "unauthorized_client"},
		"of another client":  {map[string]any{"client_id": "other"}, secret, "invalid_grant"},
		"another type":       {map[string]any{"typ": "JWT"}, secret, "invalid_grant"},
		"too long":           {map[string]any{"exp": time.Now().Add(time.Hour).Unix()}, secret, "invalid_grant"},
		"without an id":      {map[string]any{"jti": nil}, secret, "invalid_grant"},
		"a wrong secret":     {nil, []string{"client_id", "agent", "client_secret", "x"}, "invalid_client"},
		"no secret":          {nil, []string{"client_id", "agent"}, "invalid_client"},
		"a public client":    {map[string]any{"client_id": "public"}, []string{"client_id", "public"}, "invalid_client"},
		"a foreign resource": {nil, append(slices.Clone(secret), "resource", "https://x.example"), "invalid_target"},
	} {
		if a := r.exchange(r.assertion(c.change), c.pairs...); a.Error != c.code || a.Access != "" {
			t.Errorf("%s gives %+v", name, a)
		}
	}
	if other := r.post("/oauth/revoke", "token", a.Access, "client_id", "other", "client_secret", clientSecret); other.Error != "invalid_grant" {
		t.Errorf("another client that ends the token gets %+v", other)
	}
	if nobody := r.post("/oauth/revoke", "token", a.Access, "client_id", "agent"); nobody.Error != "invalid_client" {
		t.Errorf("a client without its secret that ends the token gets %+v", nobody)
	}
	r.mustCall(a.Access, "ada of finance")
	for range 2 {
		if gone := r.post("/oauth/revoke", append(secret, "token", a.Access)...); gone.status != http.StatusOK {
			t.Errorf("the end of the token is answered with %+v", gone)
		}
	}
	if status, _ := r.call("/mcp", a.Access); status != http.StatusUnauthorized {
		t.Errorf("the token that has ended is answered with %d", status)
	}
	r.load(asserting+"allow = \"'board' in caller.groups\"\nassertions {\n  clients = [\"agent\", \"public\"]\n  public = true\n}", "")
	if a := r.exchange(r.assertion(nil), secret...); a.Error != "invalid_grant" || a.Access != "" {
		t.Errorf("somebody who is not admitted gets %+v", a)
	}
	r.load(asserting+"assertions {\n  clients = [\"agent\", \"public\"]\n  public = true\n}", "")
	if a := r.exchange(r.assertion(map[string]any{"client_id": "public"}), "client_id", "public"); a.Access == "" {
		t.Errorf("a public client gets %+v", a)
	}
	records := strings.Join(r.records(), "\n")
	for _, want := range []string{"asserted agent ada default", "revoked agent", "replayed agent ada ", "refused agent ada sign_in.allow"} {
		if !strings.Contains(records, want) {
			t.Errorf("the audit log lacks %q:\n%s", want, records)
		}
	}
}

// TestAConfidentialClientAuthenticates redeems, refreshes and revokes with and without the secret.
func TestAConfidentialClientAuthenticates(t *testing.T) {
	r := openRig(t, asserting, "")
	p := r.program("agent", "https://agent.example/callback")
	code := p.code()
	for _, pairs := range [][]string{nil, {"client_secret", "wrong"}} {
		if a := p.redeem(code, pairs...); a.Error != "invalid_client" || a.status != http.StatusUnauthorized {
			t.Errorf("%v gives %+v", pairs, a)
		}
	}
	a := p.redeem(code, "client_secret", clientSecret)
	if a.Access == "" {
		t.Fatalf("with the secret the code gives %+v", a)
	}
	if next := p.refresh(a.Refresh); next.Error != "invalid_client" {
		t.Errorf("a refresh without the secret gives %+v", next)
	}
	if gone := r.post("/oauth/revoke", "token", a.Refresh, "client_id", "agent"); gone.Error != "invalid_client" {
		t.Errorf("a revocation without the secret gives %+v", gone)
	}
	if gone := r.post("/oauth/revoke", "token", a.Refresh, "client_id", "public"); gone.Error != "invalid_grant" {
		t.Errorf("a revocation by another client gives %+v", gone)
	}
	r.mustCall(a.Access, "ada")
	if next := p.refresh(a.Refresh, "client_secret", clientSecret); next.Access == "" {
		t.Errorf("a refresh with the secret gives %+v", next)
	}
}
