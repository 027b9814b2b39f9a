package http_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	nethttp "net/http"
	"net/http/cookiejar"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hatchel/adapters/adaptertest"
	"hatchel/adapters/credential/cloudtest"
	"hatchel/runtime/edge/auth/issuertest"
)

// tenantIssuer is the issuer of the tenant, at which a proxy serves the provider.
const tenantIssuer = "https://login.microsoftonline.com/" + tenant + "/v2.0"

// openTenant starts a provider that others have written, at the address that Entra has.
func openTenant(t *testing.T, clients []map[string]any) (*issuertest.NPM, *cloudtest.Fake) {
	npm := issuertest.OpenNPM(t, clients, issuertest.NPMSettings{Issuer: tenantIssuer, TokenPath: "/" + tenant + "/oauth2/v2.0/token"})
	to, err := url.Parse(npm.URL)
	if err != nil {
		t.Fatal(err)
	}
	f := cloudtest.New(t)
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		r.Out.Header.Set("X-Forwarded-Host", r.In.Host)
		r.Out.Header.Set("X-Forwarded-Proto", "https")
	}}
	f.Serve(entraAddress, proxy.ServeHTTP)
	return npm, f
}

// signIn signs the current person in with a program, and returns the access token for an audience.
func signIn(t *testing.T, npm *issuertest.NPM, audience string) string {
	t.Helper()
	const back, verifier = "http://127.0.0.1/back", "a verifier of at least forty-three characters, as PKCE wants"
	safe := base64.RawURLEncoding.EncodeToString([]byte(verifier))
	challenge := sha256.Sum256([]byte(safe))
	jar, _ := cookiejar.New(nil)
	var code string
	browser := &nethttp.Client{Jar: jar, CheckRedirect: func(r *nethttp.Request, _ []*nethttp.Request) error {
		if strings.HasPrefix(r.URL.String(), back) {
			code = r.URL.Query().Get("code")
			return nethttp.ErrUseLastResponse
		}
		return nil
	}}
	resp, err := browser.Get(npm.URL + "/auth?" + url.Values{
		"response_type": {"code"}, "client_id": {"program"}, "redirect_uri": {back}, "scope": {"openid read"}, "resource": {audience},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(challenge[:])}, "code_challenge_method": {"S256"},
	}.Encode())
	if err != nil {
		t.Fatal(err)
	}
	page, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	if code == "" {
		t.Fatalf("the provider answers %s: %s", resp.Status, page)
	}
	resp, err = browser.PostForm(npm.URL+"/"+tenant+"/oauth2/v2.0/token", url.Values{
		"grant_type": {"authorization_code"}, "client_id": {"program"}, "code": {code}, "redirect_uri": {back},
		"code_verifier": {safe}, "resource": {audience},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var r struct {
		AccessToken string `json:"access_token"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&r); err != nil || r.AccessToken == "" {
		t.Fatalf("%s, %v", resp.Status, err)
	}
	return r.AccessToken
}

// publicKey returns the key of the provider.
func publicKey(t *testing.T, npm *issuertest.NPM) *rsa.PublicKey {
	t.Helper()
	resp, err := nethttp.Get(npm.URL + "/jwks")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var set struct{ Keys []struct{ Kty, N string } }
	if err := json.NewDecoder(resp.Body).Decode(&set); err != nil {
		t.Fatal(err)
	}
	for _, k := range set.Keys {
		if raw, err := base64.RawURLEncoding.DecodeString(k.N); k.Kty == "RSA" && err == nil {
			return &rsa.PublicKey{N: new(big.Int).SetBytes(raw), E: 65537}
		}
	}
	t.Fatalf("no key in %+v", set)
	return nil
}

// TestAProviderOfOthersIssuesTokensOnBehalfOfCallers has two people and both credentials of an application, and a service
// that verifies the tokens itself.
func TestAProviderOfOthersIssuesTokensOnBehalfOfCallers(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err == nil {
		text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
		err = os.WriteFile(filepath.Join(dir, "client.pem"), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	jwk := map[string]any{"kty": "RSA", "n": base64.RawURLEncoding.EncodeToString(key.N.Bytes()), "e": "AQAB"}
	for name, c := range map[string]struct {
		arguments, secret string
		client            map[string]any
	}{
		"by its secret": {"client_secret = secret.key", "s3cret-k3y", map[string]any{
			"client_secret": "s3cret-k3y", "token_endpoint_auth_method": "client_secret_post",
		}},
		"by its key": {"key = secret.key\ncertificate = \"client.pem\"", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})),
			map[string]any{
				"token_endpoint_auth_method": "private_key_jwt", "token_endpoint_auth_signing_alg": "PS256",
				"jwks": map[string]any{"keys": []any{jwk}},
			}},
	} {
		t.Run(name, func(t *testing.T) {
			c.client["client_id"], c.client["redirect_uris"], c.client["response_types"] = application, []string{}, []string{}
			c.client["grant_types"] = []string{"urn:ietf:params:oauth:grant-type:jwt-bearer"}
			npm, f := openTenant(t, []map[string]any{c.client, {
				"client_id": "program", "redirect_uris": []string{"http://127.0.0.1/back"}, "application_type": "native",
				"token_endpoint_auth_method": "none",
			}})
			public := publicKey(t, npm)
			s := serve(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
				_, claims, err := verifyJWT(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), public)
				if err != nil || claims["aud"] != "https://graph.microsoft.com" || claims["scope"] != "User.Read" || claims["iss"] != tenantIssuer {
					t.Errorf("%v: %v", err, claims)
				}
				fmt.Fprint(w, claims["sub"])
			})
			src := sourceInCloud(f, nil, s.URL, onBehalf(c.arguments))
			src.Env["KEY"], src.Dir = c.secret, dir
			b := adaptertest.Bind(t, src)
			persons := map[string]map[string]any{"ada": {}, "bob": {}}
			for who := range persons {
				npm.SetPersons(who, persons)
				token := signIn(t, npm, "api://"+application)
				for range 2 {
					if got, err := callAs(t, b, t.Context(), who, token, inAnHour()); err != nil || got != who {
						t.Errorf("%s: %q, %v", who, got, err)
					}
				}
			}
			other := signIn(t, npm, "api://11111111-2b1d-4c55-9a38-0d8f4c1f7a10")
			_, err := callAs(t, b, t.Context(), "ada", other, inAnHour())
			wantPart(t, wantFault(t, err).Message, "AADSTS500131: the caller's token is for another application")
			_, err = callAs(t, b, t.Context(), "ada", other[:len(other)-8]+"AAAAAAAA", inAnHour())
			wantPart(t, wantFault(t, err).Message, "AADSTS50013: the caller's token is for another application")
			if n := s.count(); n != 4 {
				t.Errorf("%d requests", n)
			}
		})
	}
}
