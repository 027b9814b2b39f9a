package examples_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/go-jose/go-jose/v4"

	"hatchel/runtime/edge/auth/issuertest"
)

// openProvider starts an OpenID provider with clients, and returns its URL.
func openProvider(t *testing.T, clients any) string {
	t.Helper()
	return issuertest.OpenNPM(t, clients, issuertest.NPMSettings{}).URL
}

// introspecting is a service that asks the provider whether tokens are valid.
type introspecting struct{ issuer string }

func (s *introspecting) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	form := url.Values{"token": {token}, "client_id": {"service"}, "client_secret": {"the secret of the service"}}
	resp, err := http.PostForm(s.issuer+"/token/introspection", form)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer resp.Body.Close()
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.Copy(w, resp.Body)
}

// A provider that others have written accepts the assertions of each kind of key, and no other ones.
func TestAnOpenIDProviderAuthenticatesTheServerByItsKey(t *testing.T) {
	needs(t, "HATCHEL_TEST_PROVIDER")
	t.Parallel()
	keys := map[string]crypto.Signer{}
	var errs [5]error
	keys["rsa"], errs[0] = rsa.GenerateKey(rand.Reader, 2048)
	keys["p256"], errs[1] = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	keys["p384"], errs[2] = ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	_, keys["ed25519"], errs[3] = ed25519.GenerateKey(rand.Reader)
	keys["stranger"], errs[4] = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
	clients := []map[string]any{{
		"client_id": "service", "client_secret": "the secret of the service", "redirect_uris": []string{},
		"response_types": []string{}, "grant_types": []string{}, "token_endpoint_auth_method": "client_secret_post",
	}}
	client := func(id, key, algorithm string) {
		clients = append(clients, map[string]any{
			"client_id": id, "redirect_uris": []string{}, "response_types": []string{}, "scope": "read",
			"grant_types": []string{"client_credentials"}, "token_endpoint_auth_method": "private_key_jwt",
			"token_endpoint_auth_signing_alg": algorithm,
			"jwks":                            jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: keys[key].Public(), KeyID: key, Use: "sig"}}},
		})
	}
	connections := []struct{ name, key, algorithm, more string }{
		{"rsa", "rsa", "RS256", ""},
		{"pss", "rsa", "PS256", `key_algorithm = "PS256"`},
		{"p256", "p256", "ES256", `key_id = "p256"`},
		{"p384", "p384", "ES384", `assertion_audience = "ISSUER"`},
		{"ed25519", "ed25519", "EdDSA", ""},
		{"rfc9864", "ed25519", "Ed25519", `key_algorithm = "Ed25519"`},
		{"stranger", "p256", "ES256", ""},
	}
	for _, c := range connections {
		client(c.name, c.key, c.algorithm)
	}
	issuer := openProvider(t, clients)
	service := httptest.NewServer(&introspecting{issuer})
	defer service.Close()
	f := &folder{t: t, path: t.TempDir()}
	var text strings.Builder
	for _, c := range connections {
		key := c.key
		if c.name == "stranger" {
			key = "stranger"
		}
		der, err := x509.MarshalPKCS8PrivateKey(keys[key])
		if err != nil {
			t.Fatal(err)
		}
		f.env = append(f.env, strings.ToUpper(c.name)+"="+string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})))
		fmt.Fprintf(&text, `
			secret %[1]q { env = %[2]q }
			connection "http" %[1]q {
			  base_url = %[3]q
			  auth {
			    oauth2 {
			      token_url   = "%[4]s/token"
			      client_id   = %[1]q
			      client_auth = "private_key_jwt"
			      key         = secret.%[1]s
			      scopes      = ["read"]
			      %[5]s
			    }
			  }
			}
			tool %[1]q {
			  description = "As whom the service is called."
			  http %[1]q { get = "/" }
			  result = "{active: output.body.active, client: output.body.client_id, scope: output.body.scope}"
			}
		`, c.name, strings.ToUpper(c.name), service.URL, issuer, strings.ReplaceAll(c.more, "ISSUER", issuer))
	}
	f.write("main.hcl", text.String())
	for _, c := range connections {
		out, err := f.command("call", ".", c.name).CombinedOutput()
		want := fmt.Sprintf(`"client":%q,"scope":"read"`, c.name)
		if c.name == "stranger" {
			want = "signing in failed: the token server returned 401 Unauthorized, invalid_client"
		}
		if got := strings.ReplaceAll(strings.ReplaceAll(string(out), "\n", ""), " ", ""); !strings.Contains(got, strings.ReplaceAll(want, " ", "")) || (err == nil) != (c.name != "stranger") {
			t.Errorf("%s: %v, %s", c.name, err, out)
		}
	}
}
