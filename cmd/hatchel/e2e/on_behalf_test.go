package e2e_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"hatchel/internal/proxytest"
	"hatchel/runtime/edge/auth/issuertest"
)

const (
	entraHost      = "login.microsoftonline.com"
	entraTenant    = "72f988bf-86f1-41af-91ab-2d7cd011db47"
	entraIssuer    = "https://" + entraHost + "/" + entraTenant + "/v2.0"
	entraClient    = "6a1c0f5e-2b1d-4c55-9a38-0d8f4c1f7a10"
	entraSecret    = "the secret of hatchel at its tenant"
	entraTokenPath = "/" + entraTenant + "/oauth2/v2.0/token"
)

// onBehalfConfig is a server whose people sign in at a tenant, and which asks a service in their name.
const onBehalfConfig = `
secret "state_key" { env = "STATE_KEY" }
secret "entra" { env = "ENTRA" }
secret "robot" { env = "ROBOT" }
state {
  sqlite = "state.db"
  key    = secret.state_key
}
audit { file = "audit.jsonl" }
auth {
  api_key "robot" { secret = secret.robot }
  sign_in {
    url           = "$URL"
    provider      = "$ISSUER"
    client_id     = "$CLIENT"
    client_secret = secret.entra
    client_auth   = "body"
    scopes        = ["openid", "offline_access", "api://$CLIENT/access_as_user"]
    register { redirects = ["loopback"] }
  }
}
connection "http" "graph" {
  base_url = "$GRAPH"
  auth {
    entra {
      tenant        = "$TENANT"
      client_id     = "$CLIENT"
      client_secret = secret.entra
      scope         = "https://graph.microsoft.com/User.Read"
      on_behalf_of  = true
    }
  }
}
tool "me" {
  description = "Who the service says that calls."
  http "graph" {
    get = "/me"
    as  = "text"
  }
}
`

// tenant is a provider of npm at the address of Entra, for processes that reach it through a proxy.
type tenant struct {
	*issuertest.NPM
	proxy, authority string // the URL of the proxy, and the file of the certificate authority
	transport        http.RoundTripper

	mu     sync.Mutex
	tokens []string // of token requests and their responses; guarded by mu
}

// openTenant starts the provider, at which a server with an origin is a client.
func openTenant(t *testing.T, origin string) *tenant {
	t.Helper()
	n := &tenant{NPM: issuertest.OpenNPM(t, []map[string]any{{
		"client_id": entraClient, "client_secret": entraSecret, "token_endpoint_auth_method": "client_secret_post",
		"redirect_uris": []string{origin + "/oauth/callback"},
		"grant_types":   []string{"authorization_code", "refresh_token", "urn:ietf:params:oauth:grant-type:jwt-bearer"},
	}}, issuertest.NPMSettings{Issuer: entraIssuer, TokenPath: entraTokenPath})}
	to, err := url.Parse(n.URL)
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewUnstartedServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Path = strings.TrimPrefix(r.Out.URL.Path, "/"+entraTenant+"/v2.0")
			r.SetURL(to)
			r.Out.Header.Set("X-Forwarded-Host", r.In.Host)
			r.Out.Header.Set("X-Forwarded-Proto", "https")
			if r.In.URL.Path == entraTokenPath {
				n.keepForm(r.Out)
			}
		},
		ModifyResponse: n.keepTokens,
	})
	dir, authority := t.TempDir(), issuertest.NewAuthority(t, "tenant")
	authority.WriteOwn(dir, "ca.pem")
	pair := authority.Issue(dir, "tenant", &x509.Certificate{DNSNames: []string{entraHost}})
	web.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
	web.StartTLS()
	t.Cleanup(web.Close)
	roots := x509.NewCertPool()
	roots.AddCert(authority.Certificate)
	n.transport = &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: roots},
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, web.Listener.Addr().String())
		},
	}
	n.proxy = proxytest.StartTunnels(t, entraHost+":443", web.Listener.Addr().String())
	n.authority = filepath.Join(dir, "ca.pem")
	return n
}

func (n *tenant) keep(tokens ...string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, token := range tokens {
		if token != "" {
			n.tokens = append(n.tokens, token)
		}
	}
}

func (n *tenant) keepForm(r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(strings.NewReader(string(body)))
	form, _ := url.ParseQuery(string(body))
	n.keep(form.Get("assertion"), form.Get("refresh_token"), form.Get("code"))
}

func (n *tenant) keepTokens(res *http.Response) error {
	if res.Request.URL.Path != entraTokenPath {
		return nil
	}
	body, err := io.ReadAll(res.Body)
	res.Body.Close()
	res.Body = io.NopCloser(strings.NewReader(string(body)))
	var r map[string]any
	_ = json.Unmarshal(body, &r)
	for _, name := range []string{"access_token", "refresh_token", "id_token"} {
		text, _ := r[name].(string)
		n.keep(text)
	}
	return err
}

// graph answers who a token is about, and keeps the tokens that it was sent.
type graph struct {
	mu   sync.Mutex
	seen []string // guarded by mu
}

func (g *graph) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, token, _ := strings.Cut(r.Header.Get("Authorization"), "Bearer ")
	g.mu.Lock()
	g.seen = append(g.seen, token)
	g.mu.Unlock()
	parts := strings.Split(token, ".")
	var claims struct{ Sub, Aud, Iss string }
	if len(parts) == 3 {
		payload, _ := base64.RawURLEncoding.DecodeString(parts[1])
		_ = json.Unmarshal(payload, &claims)
	}
	if claims.Aud != "https://graph.microsoft.com" || claims.Iss != entraIssuer {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	fmt.Fprint(w, "I know ", claims.Sub)
}

// People sign in at a tenant of Entra with a program, and a service that the server asks for them sees each of them. The
// tokens of the provider and of the service leave no trace.
func TestAServiceOfTheTenantSeesWhoHasSignedIn(t *testing.T) {
	t.Parallel()
	s := newSignInServer(t, 1)
	n, service := openTenant(t, s.url), new(graph)
	web := httptest.NewServer(service)
	t.Cleanup(web.Close)
	s.elsewhere = n.transport
	config := strings.NewReplacer("$URL", s.url, "$ISSUER", entraIssuer, "$CLIENT", entraClient, "$TENANT", entraTenant, "$GRAPH", web.URL).
		Replace(onBehalfConfig)
	if err := os.WriteFile(filepath.Join(s.dir, "tools.hcl"), []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	const robot = "the-key-of-the-robot-0123456789abcdef"
	s.environ = []string{
		"STATE_KEY=" + keyOfState("first"), "ENTRA=" + entraSecret, "ROBOT=" + robot, "HTTPS_PROXY=" + n.proxy, "SSL_CERT_FILE=" + n.authority,
	}
	s.start(0, s.dir)
	s.client = s.register()
	persons := map[string]map[string]any{"ada": {}, "bob": {}}
	ask := func(token string) string {
		t.Helper()
		status, body, err := readCall(s.RoundTrip(s.newCall(t.Context(), "me", token)))
		if err != nil || status != http.StatusOK {
			t.Fatalf("%d %s %v", status, body, err)
		}
		return body
	}
	for who := range persons {
		n.SetPersons(who, persons)
		first := s.mustSignIn()
		for _, token := range []string{first.Access, first.Access, s.mustRefresh(first.Refresh).Access} {
			if body := ask(token); !strings.Contains(body, "I know "+who) {
				t.Errorf("%s is answered %s", who, body)
			}
		}
	}
	if body := ask(robot); !strings.Contains(body, "this caller has none") || !strings.Contains(body, `"isError":true`) {
		t.Errorf("a key is answered %s", body)
	}
	if len(service.seen) != 6 {
		t.Errorf("the service was asked %d times", len(service.seen))
	}
	r := s.take(0)
	r.terminate(t)
	r.awaitEnd(t)
	kept := map[string]string{"the log": r.log.String()}
	for _, name := range []string{"audit.jsonl", "state.db"} {
		text, err := os.ReadFile(filepath.Join(s.dir, name))
		if err != nil {
			t.Fatal(err)
		}
		kept[name] = string(text)
	}
	if len(n.tokens) < 8 {
		t.Errorf("the provider has issued %d tokens", len(n.tokens))
	}
	for _, token := range append(n.tokens, service.seen...) {
		for where, text := range kept {
			if strings.Contains(text, token[len(token)/2:]) {
				t.Errorf("%s has a token of the provider", where)
			}
		}
	}
}
