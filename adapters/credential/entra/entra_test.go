package entra_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"hatchel/adapters"
	"hatchel/adapters/credential/cloudtest"
	"hatchel/adapters/credential/entra"
	"hatchel/hcl"
)

// The texts that no error may have.
const (
	accessToken = "eyJ.CANARY-access.sig"
	assertion   = "eyJ.CANARY-assertion.sig"
	secret      = "CANARY~secret"
	header      = "CANARY-header"
	canaryBody  = "CANARY-body"
)

const (
	tenant   = "72f988bf-86f1-41af-91ab-2d7cd011db47"
	client   = "6a1c0f5e-0000-4000-8000-000000000001"
	public   = "login.microsoftonline.com:443"
	metadata = "169.254.169.254:80"
	resource = "https://ossrdbms-aad.database.windows.net"
)

func write(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func open(t *testing.T, f *cloudtest.Fake, i entra.Identity, env map[string]string) *entra.Source {
	t.Helper()
	return openIn(t, f, &i, env, "")
}

func openIn(t *testing.T, f *cloudtest.Fake, i *entra.Identity, env map[string]string, dir string) *entra.Source {
	t.Helper()
	s, err := entra.NewSource(cloudtest.Fetches(t), f.Cloud(env), i, adapters.Env{Dir: dir}, entra.Databases)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func answer(w http.ResponseWriter, v map[string]any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

// serveTokens adds a token service of Entra, which checks the request and wants a credential.
func serveTokens(t *testing.T, f *cloudtest.Fake, hostport, scope string, credential url.Values) {
	host, _, _ := strings.Cut(hostport, ":")
	f.Serve(hostport, func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		want := url.Values{"grant_type": {"client_credentials"}, "client_id": {client}, "scope": {scope}}
		for name, values := range credential {
			want[name] = values
		}
		if r.Method != "POST" || r.Host != host || r.URL.String() != "/"+tenant+"/oauth2/v2.0/token" ||
			r.PostForm.Encode() != want.Encode() || r.Header.Get("Authorization") != "" {
			cloudtest.Unexpected(t, w, "%s %s%s with %v", r.Method, r.Host, r.URL, r.PostForm)
			return
		}
		answer(w, map[string]any{"token_type": "Bearer", "expires_in": 3599, "access_token": accessToken})
	})
}

func asAssertion(text string) url.Values {
	const kind = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
	return url.Values{"client_assertion": {text}, "client_assertion_type": {kind}}
}

// serveManaged adds a service of managed identities.
func serveManaged(t *testing.T, f *cloudtest.Fake, hostport, path string, header [2]string, query url.Values, ends map[string]any) {
	f.Serve(hostport, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != "GET" || r.URL.Path != path || r.Header.Get(header[0]) != header[1] ||
			r.URL.Query().Encode() != query.Encode() {
			cloudtest.Unexpected(t, w, "%s %s with %v", r.Method, r.URL, r.Header)
			return
		}
		ends["access_token"], ends["token_type"] = accessToken, "Bearer"
		answer(w, ends)
	})
}

// TestAKeySignsAnAssertion verifies the assertion without the library that made it.
func TestAKeySignsAnAssertion(t *testing.T) {
	dir := t.TempDir()
	key, certificate := newCertificate(t, dir, "client.pem")
	seen := map[string]bool{}
	f := cloudtest.New(t)
	f.Serve(public, func(w http.ResponseWriter, r *http.Request) {
		address := "https://" + r.Host + r.URL.Path
		if r.PostFormValue("client_assertion_type") != asAssertion("")["client_assertion_type"][0] ||
			r.PostFormValue("client_id") != client || r.PostFormValue("client_secret") != "" {
			cloudtest.Unexpected(t, w, "%v", r.PostForm)
			return
		}
		verify(t, r.PostFormValue("client_assertion"), &key.PublicKey, certificate, address, seen)
		answer(w, map[string]any{"token_type": "Bearer", "expires_in": 3599, "access_token": accessToken})
	})
	identity := entra.Identity{Tenant: tenant, ClientID: client, Key: keyText(t, key), Certificate: "client.pem"}
	s := openIn(t, f, &identity, workload(t), dir)
	for range 2 {
		if token, err := s.Token(t.Context()); token != accessToken || err != nil {
			t.Errorf("%q, %v", token, err)
		}
		s.Invalidate(accessToken)
	}
	if got := s.Identity(); got != "application "+client+" (key)" || len(seen) != 2 {
		t.Errorf("identity %q, %d assertions", got, len(seen))
	}
	newCertificate(t, dir, "other.pem")
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for want, i := range map[string]entra.Identity{
		`The certificate in "other.pem" is that of another key.`: {Key: identity.Key, Certificate: "other.pem"},
		`"none.pem" cannot be read.`:                             {Key: identity.Key, Certificate: "none.pem"},
		"The key cannot sign with PS256":                         {Key: keyText(t, ec), Certificate: "client.pem"},
		"The key is neither PEM":                                 {Key: secret, Certificate: "client.pem"},
	} {
		_, err := entra.NewSource(cloudtest.Fetches(t), f.Cloud(nil), &i, adapters.Env{Dir: dir}, entra.Databases)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, not %s", err, want)
		}
		cloudtest.CheckNoSecret(t, err)
		inspected := adapters.Env{Dir: dir, Inspect: true}
		if _, err := entra.NewSource(cloudtest.Fetches(t), f.Cloud(nil), &i, inspected, entra.Databases); err != nil {
			t.Errorf("a load that reads no secret: %v", err)
		}
	}
}

func keyText(t *testing.T, key any) hcl.SecretText {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return hcl.SecretText(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
}

// newCertificate writes a certificate of a new key, and returns the key and the DER of the certificate.
func newCertificate(t *testing.T, dir, name string) (*rsa.PrivateKey, []byte) {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
		t.Fatal(err)
	}
	return key, der
}

func verify(t *testing.T, text string, key *rsa.PublicKey, certificate []byte, audience string, seen map[string]bool) {
	t.Helper()
	parts := strings.Split(text, ".")
	if len(parts) != 3 {
		t.Fatalf("an assertion of %d parts", len(parts))
	}
	var header, claims map[string]any
	for i, v := range []any{&header, &claims} {
		raw, err := base64.RawURLEncoding.DecodeString(parts[i])
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(raw, v); err != nil {
			t.Fatal(err)
		}
	}
	thumbprint := sha256.Sum256(certificate)
	if header["alg"] != "PS256" || header["x5t#S256"] != base64.RawURLEncoding.EncodeToString(thumbprint[:]) {
		t.Errorf("header %v", header)
	}
	signature, err := base64.RawURLEncoding.DecodeString(parts[2])
	digest := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	if err == nil {
		err = rsa.VerifyPSS(key, crypto.SHA256, digest[:], signature, nil)
	}
	issued, _ := claims["iat"].(float64)
	expires, _ := claims["exp"].(float64)
	id, _ := claims["jti"].(string)
	if err != nil || claims["iss"] != client || claims["sub"] != client || claims["aud"] != audience || id == "" ||
		seen[id] || expires-issued != 60 || time.Since(time.Unix(int64(issued), 0)) > time.Minute {
		t.Errorf("%v: claims %v", err, claims)
	}
	seen[id] = true
}

// workload is the environment of a pod of AKS.
func workload(t *testing.T, changes ...string) map[string]string {
	env := map[string]string{
		"AZURE_FEDERATED_TOKEN_FILE": write(t, assertion+"\n"), "AZURE_TENANT_ID": tenant, "AZURE_CLIENT_ID": client,
		"AZURE_AUTHORITY_HOST": "https://login.microsoftonline.com/",
	}
	for i := 0; i < len(changes); i += 2 {
		env[changes[i]] = changes[i+1]
	}
	return env
}

// TestTheFirstConfiguredSourceGivesTheToken has each source, with those after it configured, too.
func TestTheFirstConfiguredSourceGivesTheToken(t *testing.T) {
	const sidecar = "127.0.0.1:42356"
	service := func(t *testing.T, changes ...string) map[string]string {
		changes = append(changes, "AZURE_FEDERATED_TOKEN_FILE", "", "IDENTITY_ENDPOINT", "http://"+sidecar+"/msi/token",
			"IDENTITY_HEADER", header)
		return workload(t, changes...)
	}
	const other = "6a1c0f5e-0000-4000-8000-000000000002"
	for name, c := range map[string]struct {
		env      map[string]string
		identity entra.Identity
		serve    func(f *cloudtest.Fake)
		want     string
	}{
		"a client secret": {
			service(t, "AZURE_FEDERATED_TOKEN_FILE", "x", "AZURE_CLIENT_ID", other, "AZURE_TENANT_ID", "other.example"),
			entra.Identity{Tenant: tenant, ClientID: client, ClientSecret: secret},
			func(f *cloudtest.Fake) {
				serveTokens(t, f, public, resource+"/.default", url.Values{"client_secret": {secret}})
			},
			"application " + client + " (client secret)",
		},
		"an assertion file": {
			service(t), entra.Identity{Tenant: tenant, ClientID: client, AssertionFile: write(t, assertion)},
			func(f *cloudtest.Fake) { serveTokens(t, f, public, resource+"/.default", asAssertion(assertion)) },
			"application " + client + " (assertion file)",
		},
		"AKS": {
			workload(t, "IDENTITY_ENDPOINT", "http://"+sidecar+"/msi/token", "IDENTITY_HEADER", header), entra.Identity{},
			func(f *cloudtest.Fake) { serveTokens(t, f, public, resource+"/.default", asAssertion(assertion)) },
			"application " + client + " (workload identity)",
		},
		"AKS with another application": {
			workload(t, "AZURE_CLIENT_ID", other, "AZURE_TENANT_ID", ""), entra.Identity{Tenant: tenant, ClientID: client},
			func(f *cloudtest.Fake) { serveTokens(t, f, public, resource+"/.default", asAssertion(assertion)) },
			"application " + client + " (workload identity)",
		},
		"AKS of a national cloud": {
			workload(t, "AZURE_AUTHORITY_HOST", "https://login.microsoftonline.us"), entra.Identity{},
			func(f *cloudtest.Fake) {
				serveTokens(t, f, "login.microsoftonline.us:443",
					"https://ossrdbms-aad.database.usgovcloudapi.net/.default", asAssertion(assertion))
			},
			"application " + client + " (workload identity)",
		},
		"the cloud of the block": {
			workload(t), entra.Identity{Cloud: "china"},
			func(f *cloudtest.Fake) {
				serveTokens(t, f, "login.chinacloudapi.cn:443", "https://ossrdbms-aad.database.chinacloudapi.cn/.default",
					asAssertion(assertion))
			},
			"application " + client + " (workload identity)",
		},
		"App Service": {
			service(t, "AZURE_CLIENT_ID", ""), entra.Identity{},
			func(f *cloudtest.Fake) {
				query := url.Values{"api-version": {"2019-08-01"}, "resource": {resource}}
				ends := map[string]any{"expires_on": strconv.FormatInt(time.Now().Add(time.Hour).Unix(), 10)}
				serveManaged(t, f, sidecar, "/msi/token", [2]string{"X-Identity-Header", header}, query, ends)
			},
			"managed identity (App Service)",
		},
		"App Service with a user-assigned identity": {
			service(t), entra.Identity{},
			func(f *cloudtest.Fake) {
				query := url.Values{"api-version": {"2019-08-01"}, "resource": {resource}, "client_id": {client}}
				ends := map[string]any{"expires_on": time.Now().Add(time.Hour).Unix()}
				serveManaged(t, f, sidecar, "/msi/token", [2]string{"X-Identity-Header", header}, query, ends)
			},
			"managed identity " + client + " (App Service)",
		},
		"a virtual machine": {
			nil, entra.Identity{ClientID: client},
			func(f *cloudtest.Fake) {
				query := url.Values{"api-version": {"2018-02-01"}, "resource": {resource}, "client_id": {client}}
				ends := map[string]any{"expires_in": "3600", "expires_on": "1", "ext_expires_in": "1"}
				serveManaged(t, f, metadata, "/metadata/identity/oauth2/token", [2]string{"Metadata", "true"}, query, ends)
			},
			"managed identity " + client + " (instance metadata)",
		},
		"a virtual machine of a national cloud": {
			nil, entra.Identity{Cloud: "usgovernment"},
			func(f *cloudtest.Fake) {
				query := url.Values{
					"api-version": {"2018-02-01"}, "resource": {"https://ossrdbms-aad.database.usgovcloudapi.net"},
				}
				ends := map[string]any{"expires_in": "3600"}
				serveManaged(t, f, metadata, "/metadata/identity/oauth2/token", [2]string{"Metadata", "true"}, query, ends)
			},
			"managed identity (instance metadata)",
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := cloudtest.New(t)
			c.serve(f)
			s := open(t, f, c.identity, c.env)
			if s.Identity() != "" || s.Status().Valid || len(f.Dialed()) != 0 {
				t.Error("a source begins before a token is needed")
			}
			token, err := s.Password(t.Context(), "db.postgres.database.azure.com:5432", "reader")
			if token != accessToken || err != nil {
				t.Errorf("%q, %v", token, err)
			}
			if got := s.Identity(); got != c.want {
				t.Errorf("identity %q", got)
			}
			if left := time.Until(s.Status().Expires); left < 58*time.Minute || left > time.Hour {
				t.Errorf("the token ends in %s", left)
			}
		})
	}
}

// TestAWrongEnvironmentIsRefusedBeforeARequest shows that a prepared environment gets no credential.
func TestAWrongEnvironmentIsRefusedBeforeARequest(t *testing.T) {
	type env = map[string]string
	var cases []struct {
		env  env
		want string
	}
	add := func(e env, want string) {
		cases = append(cases, struct {
			env  env
			want string
		}{e, want})
	}
	for _, address := range strings.Fields(`https://evil.example https://login.microsoftonline.com.evil.example/
		http://login.microsoftonline.com/ https://login.microsoftonline.com:8443/ https://x@login.microsoftonline.com/
		https://login.microsoftonline.com/x login.microsoftonline.com https://login.microsoftonline.com@evil.example/
		https://login.microsoftonline.com/?a= https://login.microsoftonline.com#x //login.microsoftonline.com :%`) {
		add(workload(t, "AZURE_AUTHORITY_HOST", address), "AZURE_AUTHORITY_HOST is not the address of a cloud of Microsoft")
	}
	for _, address := range strings.Fields(`http://evil.example/msi https://127.0.0.1/msi http://8.8.8.8/msi
		http://169.254.169.254@evil.example/ http://x@127.0.0.1/ http://127.0.0.1/?x=1 http://127.0.0.1/#x
		http://[fe80::1%25eth0]/ http://localhost.evil.example/ ftp://127.0.0.1/ :% http://2130706433/`) {
		add(env{"IDENTITY_ENDPOINT": address, "IDENTITY_HEADER": header}, "IDENTITY_ENDPOINT is not an address of this machine")
	}
	const endpoint = "http://127.0.0.1:1/msi/token"
	add(env{"IDENTITY_ENDPOINT": endpoint, "IDENTITY_HEADER": header + "\r\nX: y"}, "IDENTITY_ENDPOINT is not an address")
	add(env{"IDENTITY_ENDPOINT": endpoint}, "IDENTITY_ENDPOINT is set without IDENTITY_HEADER, as by Azure Arc")
	add(env{"IDENTITY_ENDPOINT": endpoint, "IDENTITY_HEADER": header, "IDENTITY_SERVER_THUMBPRINT": "x"}, "as by Service Fabric")
	add(workload(t, "AZURE_TENANT_ID", ""), "neither AZURE_TENANT_ID nor tenant of the block")
	add(workload(t, "AZURE_CLIENT_ID", ""), "neither AZURE_CLIENT_ID nor client_id of the block")
	for _, name := range []string{"common", "Organizations", "a/../b", "a/b", "..", "a..b", "a?b", "-", "a b"} {
		add(workload(t, "AZURE_TENANT_ID", name), "AZURE_TENANT_ID is neither the id of a tenant nor one of its domains")
		var checks adapters.Checks
		(&entra.Identity{Tenant: name}).Check(&checks)
		if checks.Err() == nil {
			t.Errorf("the tenant %q is accepted", name)
		}
	}
	for _, c := range cases {
		f := cloudtest.New(t)
		s := open(t, f, entra.Identity{}, c.env)
		_, err := s.Token(t.Context())
		if err == nil || !strings.HasPrefix(err.Error(), "signing in failed: ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v\n%v", c.env, err)
		}
		cloudtest.CheckNoSecret(t, err)
		if dialed := f.Dialed(); len(dialed) != 0 {
			t.Errorf("%v: dialed %q", c.env, dialed)
		}
	}
}

// TestAnApplicationNeedsItsTenantAndClient checks the arguments of a block.
func TestAnApplicationNeedsItsTenantAndClient(t *testing.T) {
	for _, i := range []*entra.Identity{
		{ClientSecret: secret}, {ClientSecret: secret, Tenant: tenant}, {AssertionFile: "token", ClientID: client},
		{Key: secret, Certificate: "client.pem"},
	} {
		var checks adapters.Checks
		i.Check(&checks)
		if err := checks.Err(); err == nil || !strings.Contains(err.Error(), "the block needs the tenant and the client_id") {
			t.Errorf("%v", err)
		}
	}
	for _, i := range []*entra.Identity{
		{Tenant: tenant, ClientID: client, Key: secret},
		{Tenant: tenant, ClientID: client, ClientSecret: secret, Certificate: "client.pem"},
	} {
		var checks adapters.Checks
		i.Check(&checks)
		if err := checks.Err(); err == nil || !strings.Contains(err.Error(), "certificate") {
			t.Errorf("%v", err)
		}
	}
	for _, i := range []*entra.Identity{
		{}, {Tenant: "contoso.onmicrosoft.com"}, {ClientID: client}, {ClientSecret: secret, Tenant: tenant, ClientID: client},
	} {
		var checks adapters.Checks
		i.Check(&checks)
		if err := checks.Err(); err != nil {
			t.Errorf("%v", err)
		}
	}
}

// TestFailuresHaveAStatusAndNoText shows each failure of each service, none of which falls through to another source.
func TestFailuresHaveAStatusAndNoText(t *testing.T) {
	status := func(code int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(code)
			fmt.Fprint(w, body)
		}
	}
	app := entra.Identity{Tenant: tenant, ClientID: client, ClientSecret: secret}
	at := func(code int) string {
		return fmt.Sprintf(`{"error":"invalid_client","error_codes":[%d],"error_description":"%s"}`, code, canaryBody)
	}
	const alone = "no Entra credential: the block has none, AZURE_FEDERATED_TOKEN_FILE and IDENTITY_ENDPOINT are not set, " +
		"the instance metadata "
	const service = "the token service of Microsoft Entra "
	sidecar := map[string]string{"IDENTITY_ENDPOINT": "http://localhost:1/msi/token", "IDENTITY_HEADER": header}
	for _, c := range []struct {
		identity entra.Identity
		env      map[string]string
		hostport string
		answers  http.HandlerFunc
		want     string
	}{
		{app, nil, public, status(401, at(7000215)), service + "answered 401 Unauthorized, invalid_client, AADSTS7000215: the client secret is wrong"},
		{app, nil, public, status(401, at(7000222)), service + "answered 401 Unauthorized, invalid_client, AADSTS7000222: the client secret has expired"},
		{app, nil, public, status(400, at(123456)), service + "answered 400 Bad Request, invalid_client, AADSTS123456"},
		{app, nil, public, status(400, `{"error":"`+canaryBody+`","error_codes":["`+canaryBody+`"]}`), service + "answered 400 Bad Request"},
		{app, nil, public, status(500, canaryBody), service + "answered 500 Internal Server Error (3 attempts)"},
		{app, nil, public, status(302, canaryBody), service + "answered 302 Found, a redirect, which is not followed"},
		{app, nil, public, status(200, canaryBody), service + "answered something else than a JSON object with a token"},
		{app, nil, public, status(200, `{"access_token":"`+accessToken+`","token_type":"pop","expires_in":1}`), service + "answered a token of another type than Bearer"},
		{app, nil, public, status(200, `{"access_token":"`+accessToken+`","token_type":"Bearer"}`), service + "answered a token without its end, or one that has expired"},
		{app, nil, public, status(200, `{"access_token":"","token_type":"Bearer","expires_in":1}`), service + "answered without an access_token"},
		{app, nil, "", nil, service + `is not reachable: the host "` + public + `" does not exist (3 attempts)`},
		{entra.Identity{}, workload(t, "AZURE_FEDERATED_TOKEN_FILE", "/none/token"), "", nil, "the file of AZURE_FEDERATED_TOKEN_FILE /none/token does not exist"},
		{entra.Identity{}, workload(t, "AZURE_FEDERATED_TOKEN_FILE", assertion), "", nil, "the file of AZURE_FEDERATED_TOKEN_FILE does not exist"},
		{entra.Identity{}, workload(t), public, status(401, at(700213)), service + "answered 401 Unauthorized, invalid_client, AADSTS700213: no federated credential of the application matches the subject of the assertion"},
		{entra.Identity{}, sidecar, "localhost:1", status(400, canaryBody), "the endpoint of IDENTITY_ENDPOINT answered 400 Bad Request, there is no managed identity, or not that of client_id, or there are several and client_id is not set"},
		{entra.Identity{}, sidecar, "localhost:1", status(200, `{"access_token":"`+accessToken+`","token_type":"Bearer","expires_on":"1"}`), "the endpoint of IDENTITY_ENDPOINT answered a token without its end, or one that has expired"},
		{entra.Identity{}, sidecar, "localhost:1", status(307, canaryBody), "the endpoint of IDENTITY_ENDPOINT answered 307 Temporary Redirect, a redirect, which is not followed"},
		{entra.Identity{}, nil, metadata, status(429, canaryBody), alone + "answered 429 Too Many Requests (3 attempts)"},
		{entra.Identity{}, nil, metadata, status(404, canaryBody), alone + "answered 404 Not Found"},
		{entra.Identity{}, nil, metadata, status(200, strings.Repeat("x", 65<<10)), alone + "answered more than 64 KiB"},
		{entra.Identity{}, nil, "", nil, alone + `is not reachable: the host "169.254.169.254:80" does not exist (3 attempts)`},
	} {
		t.Run(c.want, func(t *testing.T) {
			f := cloudtest.New(t)
			if c.hostport != "" {
				f.Serve(c.hostport, c.answers)
			}
			_, err := open(t, f, c.identity, c.env).Token(t.Context())
			if err == nil || err.Error() != "signing in failed: "+c.want {
				t.Errorf("%v", err)
			}
			cloudtest.CheckNoSecret(t, err)
			for _, dialed := range f.Dialed() {
				if c.hostport != "" && dialed != c.hostport {
					t.Errorf("%s was asked", dialed)
				}
			}
		})
	}
}

// TestAnAssertionFileIsReadAtEachFetch shows that a projected token may change while the server runs, and that calls
// share a fetch.
func TestAnAssertionFileIsReadAtEachFetch(t *testing.T) {
	var fetched atomic.Int64
	f := cloudtest.New(t)
	f.Serve(public, func(w http.ResponseWriter, r *http.Request) {
		n := fetched.Add(1)
		if want := fmt.Sprint("assertion-", n); r.PostFormValue("client_assertion") != want {
			t.Errorf("the assertion %q, not %q", r.PostFormValue("client_assertion"), want)
		}
		answer(w, map[string]any{"token_type": "Bearer", "expires_in": 3599, "access_token": fmt.Sprint("token-", n)})
	})
	dir := t.TempDir()
	identity := entra.Identity{Tenant: tenant, ClientID: client, AssertionFile: "token"} // in the directory
	s := openIn(t, f, &identity, nil, dir)
	for n := 1; n <= 2; n++ {
		if err := os.WriteFile(filepath.Join(dir, "token"), fmt.Appendf(nil, "assertion-%d\n", n), 0o600); err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprint("token-", n)
		var calls sync.WaitGroup
		for range 100 {
			calls.Go(func() {
				if token, err := s.Token(t.Context()); token != want || err != nil {
					t.Errorf("%q, %v", token, err)
				}
			})
		}
		calls.Wait()
		s.Invalidate(want)
	}
	if n := fetched.Load(); n != 2 {
		t.Errorf("%d fetches", n)
	}
}
