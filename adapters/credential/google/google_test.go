package google_test

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"hatchel/adapters/credential/cloudtest"
	"hatchel/adapters/credential/google"
)

// The texts that no error may have.
const (
	accessToken = "ya29.CANARY-access"
	ownToken    = "ya29.CANARY-own"
	subject     = "eyJ.CANARY-subject.sig"
	canaryBody  = "CANARY-body"
)

const (
	tokenHost = "oauth2.googleapis.com:443"
	stsHost   = "sts.googleapis.com:443"
	iamHost   = "iamcredentials.googleapis.com:443"
	metadata  = "169.254.169.254:80"
	email     = "reader@project.iam.gserviceaccount.com"
	pool      = "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/k"
	actAs     = "https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/" + email + ":generateAccessToken"
	jwtType   = "urn:ietf:params:oauth:token-type:jwt"
	scope     = google.ScopeSQLLogin
)

var signingKey = sync.OnceValue(func() *rsa.PrivateKey {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return key
})

// members are those of a credential file.
type members map[string]any

func (m members) with(name string, v any) members {
	m = maps.Clone(m)
	if m[name] = v; v == nil {
		delete(m, name)
	}
	return m
}

func serviceAccount(t *testing.T) members {
	der, err := x509.MarshalPKCS8PrivateKey(signingKey())
	if err != nil {
		t.Fatal(err)
	}
	return members{
		"type": "service_account", "project_id": "project", "private_key_id": "key-1", "client_email": email,
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})),
		"auth_uri":    "https://accounts.google.com/o/oauth2/auth", "token_uri": "https://oauth2.googleapis.com/token",
		"universe_domain": "googleapis.com",
	}
}

func federated(source members) members {
	return members{
		"type": "external_account", "audience": pool, "subject_token_type": jwtType,
		"token_url": "https://sts.googleapis.com/v1/token", "credential_source": source,
		"token_info_url": "https://sts.googleapis.com/v1/introspect", "service_account_impersonation_url": actAs,
	}
}

// write writes a file and returns the environment that names it.
func (m members) write(t *testing.T) map[string]string {
	t.Helper()
	raw, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]string{"GOOGLE_APPLICATION_CREDENTIALS": write(t, string(raw))}
}

func write(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func open(t *testing.T, f *cloudtest.Fake, env map[string]string) *google.Source {
	return google.NewSource(cloudtest.Fetches(t), f.Cloud(env), scope)
}

func answer(w http.ResponseWriter, v members) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

// verify checks an assertion without the library that made it, and returns its claims.
func verify(t *testing.T, assertion string) (claims map[string]any) {
	t.Helper()
	parts := strings.Split(assertion, ".")
	if len(parts) != 3 {
		t.Fatalf("an assertion of %d parts", len(parts))
	}
	var header map[string]any
	for i, v := range []any{&header, &claims} {
		raw, err := base64.RawURLEncoding.DecodeString(parts[i])
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(raw, v); err != nil {
			t.Fatal(err)
		}
	}
	signature, err := base64.RawURLEncoding.DecodeString(parts[2])
	digest := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	if err == nil {
		err = rsa.VerifyPKCS1v15(&signingKey().PublicKey, crypto.SHA256, digest[:], signature)
	}
	if err != nil || header["alg"] != "RS256" || header["kid"] != "key-1" {
		t.Errorf("signature: %v, header %v", err, header)
	}
	return claims
}

func TestAServiceAccountKeySignsAnAssertion(t *testing.T) {
	f := cloudtest.New(t)
	f.Serve(tokenHost, func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		if r.Method != "POST" || r.URL.Path != "/token" || r.Host != "oauth2.googleapis.com" ||
			r.PostForm.Get("grant_type") != "urn:ietf:params:oauth:grant-type:jwt-bearer" || len(r.PostForm) != 2 {
			cloudtest.Unexpected(t, w, "%s %s%s %v", r.Method, r.Host, r.URL, r.PostForm)
			return
		}
		claims := verify(t, r.PostForm.Get("assertion"))
		issued, _ := claims["iat"].(float64)
		expires, _ := claims["exp"].(float64)
		now := float64(time.Now().Unix())
		if claims["iss"] != email || claims["aud"] != "https://oauth2.googleapis.com/token" || claims["scope"] != scope ||
			issued > now || issued < now-60 || expires != issued+3600 || claims["sub"] != nil {
			t.Errorf("claims %v", claims)
		}
		answer(w, members{"access_token": accessToken, "token_type": "Bearer", "expires_in": 3599})
	})
	s := open(t, f, serviceAccount(t).write(t))
	if s.Identity() != "" || s.Status().Valid || len(f.Dialed()) != 0 {
		t.Error("a source begins before a token is needed")
	}
	token, err := s.Password(t.Context(), "10.0.0.1:5432", "reader@project.iam")
	if token != accessToken || err != nil {
		t.Errorf("%q, %v", token, err)
	}
	if got := s.Identity(); got != email+" (service account key)" {
		t.Errorf("identity %q", got)
	}
	if left := time.Until(s.Status().Expires); left < 59*time.Minute || left > time.Hour {
		t.Errorf("the token ends in %s", left)
	}
}

// TestMetadataGivesTheTokenOfTheMachine is GKE, Cloud Run and Compute Engine.
func TestMetadataGivesTheTokenOfTheMachine(t *testing.T) {
	f := cloudtest.New(t)
	f.Serve(metadata, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Metadata-Flavor") != "Google" || r.Header.Get("X-Forwarded-For") != "" ||
			r.URL.Path != "/computeMetadata/v1/instance/service-accounts/default/token" ||
			r.URL.Query().Get("scopes") != scope || len(r.URL.Query()) != 1 {
			cloudtest.Unexpected(t, w, "%s with %v", r.URL, r.Header)
			return
		}
		w.Header().Set("Metadata-Flavor", "Google")
		answer(w, members{"access_token": accessToken, "token_type": "Bearer", "expires_in": 300})
	})
	s := open(t, f, nil)
	if token, err := s.Token(t.Context()); token != accessToken || err != nil {
		t.Errorf("%q, %v", token, err)
	}
	if got := s.Identity(); got != "service account of the machine (metadata server)" {
		t.Errorf("identity %q", got)
	}
}

// TestFederationExchangesATokenOfAnotherIssuer is Kubernetes outside of Google, GitHub Actions, Azure and the like.
func TestFederationExchangesATokenOfAnotherIssuer(t *testing.T) {
	for name, source := range map[string]func(f *cloudtest.Fake) members{
		"a file": func(*cloudtest.Fake) members { return members{"file": write(t, subject+"\n")} },
		"a file of JSON": func(*cloudtest.Fake) members {
			return members{
				"file":   write(t, `{"a":1,"id_token":"`+subject+`"}`),
				"format": members{"type": "json", "subject_token_field_name": "id_token"},
			}
		},
		"GitHub Actions": func(f *cloudtest.Fake) members {
			f.Serve("run-1.actions.githubusercontent.com:443", func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Authorization") != "Bearer request-token" || r.URL.Query().Get("audience") != "x" {
					cloudtest.Unexpected(t, w, "%s with %v", r.URL, r.Header)
				}
				answer(w, members{"value": subject})
			})
			return members{
				"url":     "https://run-1.actions.githubusercontent.com/idtoken?audience=x",
				"headers": members{"Authorization": "Bearer request-token"},
				"format":  members{"type": "json", "subject_token_field_name": "value"},
			}
		},
		"Azure": func(f *cloudtest.Fake) members {
			f.Serve(metadata, func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Metadata") != "True" || r.URL.Path != "/metadata/identity/oauth2/token" {
					cloudtest.Unexpected(t, w, "%s with %v", r.URL, r.Header)
				}
				answer(w, members{"access_token": subject})
			})
			return members{
				"url":     "http://169.254.169.254/metadata/identity/oauth2/token?resource=api://x",
				"headers": members{"Metadata": "True"},
				"format":  members{"type": "json", "subject_token_field_name": "access_token"},
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := cloudtest.New(t)
			serveExchange(t, f, "https://www.googleapis.com/auth/cloud-platform", ownToken)
			f.Serve(iamHost, func(w http.ResponseWriter, r *http.Request) {
				var body struct {
					Scope    []string
					Lifetime string
				}
				raw, _ := io.ReadAll(r.Body)
				err := json.Unmarshal(raw, &body)
				if err != nil || !slices.Equal(body.Scope, []string{scope}) || body.Lifetime != "3600s" ||
					r.URL.Path != "/v1/projects/-/serviceAccounts/"+email+":generateAccessToken" ||
					r.Header.Get("Authorization") != "Bearer "+ownToken {
					cloudtest.Unexpected(t, w, "%s with %v: %s", r.URL, r.Header, raw)
					return
				}
				answer(w, members{"accessToken": accessToken, "expireTime": time.Now().Add(time.Hour).UTC()})
			})
			s := open(t, f, federated(source(f)).write(t))
			if token, err := s.Token(t.Context()); token != accessToken || err != nil {
				t.Errorf("%q, %v", token, err)
			}
			if got := s.Identity(); got != email+" (workload identity federation)" {
				t.Errorf("identity %q", got)
			}
		})
	}
	t.Run("without a service account", func(t *testing.T) {
		f := cloudtest.New(t)
		serveExchange(t, f, scope, accessToken)
		file := federated(members{"file": write(t, subject)}).with("service_account_impersonation_url", nil)
		s := open(t, f, file.write(t))
		if token, err := s.Token(t.Context()); token != accessToken || err != nil {
			t.Errorf("%q, %v", token, err)
		}
		if got := s.Identity(); got != pool[len("//iam.googleapis.com/"):]+" (workload identity federation)" {
			t.Errorf("identity %q", got)
		}
	})
}

func serveExchange(t *testing.T, f *cloudtest.Fake, scope, token string) {
	f.Serve(stsHost, func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		want := url.Values{
			"grant_type": {"urn:ietf:params:oauth:grant-type:token-exchange"}, "audience": {pool}, "scope": {scope},
			"requested_token_type": {"urn:ietf:params:oauth:token-type:access_token"},
			"subject_token":        {subject}, "subject_token_type": {jwtType},
		}
		if r.Method != "POST" || r.URL.Path != "/v1/token" || r.PostForm.Encode() != want.Encode() ||
			r.Header.Get("Authorization") != "" {
			cloudtest.Unexpected(t, w, "%s %s with %v", r.Method, r.URL, r.PostForm)
			return
		}
		answer(w, members{"access_token": token, "token_type": "Bearer", "expires_in": 3600, "issued_token_type": "x"})
	})
}

// TestACredentialFileNamesOnlyHostsOfGoogle shows that a prepared file gets neither an assertion nor a token, and that
// files of people and of programs are refused before anything is asked.
func TestACredentialFileNamesOnlyHostsOfGoogle(t *testing.T) {
	file := federated(members{"file": write(t, subject)})
	files := map[string]string{}
	for _, address := range strings.Fields(`
		https://sts.googleapis.com.evil.example/v1/token https://evil.example/v1/token http://sts.googleapis.com/v1/token
		https://sts.googleapis.com@evil.example/v1/token https://sts.googleapis.com:8443/v1/token
		https://stsXgoogleapis.com/v1/token https://storage.googleapis.com/v1/token https://sts.googleapis.com/v1/token?x=
		https://sts.googleapis.com/v1/token/../../evil https://sts.evil.googleapis.com/v1/token
		https://sts.googleapis.com\@evil.example/v1/token https://sts.googleapis.com#evil.example/v1/token
		https://sts..rep.googleapis.com/v1/token https://STS.googleapis.com/v1/token //sts.googleapis.com/v1/token`) {
		files[string(mustJSON(file.with("token_url", address)))] = "its token_url is not"
		files[string(mustJSON(serviceAccount(t).with("token_uri", address)))] = "its token_uri is not"
		for _, service := range []string{"sts", "iamcredentials"} {
			of := strings.ReplaceAll(address, "sts", service)
			of = strings.ReplaceAll(of, "/v1/token", "/v1/projects/-/serviceAccounts/"+email+":generateAccessToken")
			files[string(mustJSON(file.with("service_account_impersonation_url", of)))] = "its service_account_impersonation_url"
		}
	}
	files[string(mustJSON(file.with("token_url", "https://sts.googleapis.com/v1/token\n")))] = "its token_url is not"
	for _, address := range strings.Fields(`
		https://evil.example/token http://evil.example/token http://169.254.169.254.evil.example/
		https://169.254.169.254/ http://x@169.254.169.254/ http://10.0.0.1/ http://8.8.8.8/ file:///etc/passwd
		https://actions.githubusercontent.com/ https://x.actions.githubusercontent.com.evil.example/
		https://xactions.githubusercontent.com/ https://x.actions.githubusercontent.com:444/ ftp://127.0.0.1/
		http://metadata.google.internal/ http://[fe80::1%25eth0]/ http://2130706433/ http://0x7f.1/`) {
		files[string(mustJSON(file.with("credential_source", members{"url": address})))] = "its credential_source.url is neither"
	}
	for want, m := range map[string]members{
		"its type authorized_user is of a person's gcloud":               {"type": "authorized_user", "refresh_token": canaryBody},
		"its type impersonated_service_account is of a person's":         {"type": "impersonated_service_account"},
		"its type is neither service_account nor":                        {"type": canaryBody},
		"its credential_source is a program, and no program is run":      file.with("credential_source", members{"executable": members{"command": canaryBody}}),
		"its credential_source is a certificate":                         file.with("credential_source", members{"certificate": members{}}),
		"its credential_source is AWS":                                   file.with("credential_source", members{"environment_id": "aws1", "url": "http://169.254.169.254/"}),
		"its credential_source must have either file or url":             file.with("credential_source", nil),
		"its credential_source.format.type is neither":                   file.with("credential_source", members{"file": "x", "format": members{"type": "xml"}}),
		"its credential_source.format has no subject_token_field_name":   file.with("credential_source", members{"file": "x", "format": members{"type": "json"}}),
		"it is of workforce identity federation":                         file.with("workforce_pool_user_project", "1"),
		"it has no audience":                                             file.with("audience", nil),
		"its universe_domain is not googleapis.com":                      serviceAccount(t).with("universe_domain", "evil.example"),
		"it has no client_email":                                         serviceAccount(t).with("client_email", nil),
		"its private_key is no RSA key in PEM":                           serviceAccount(t).with("private_key", canaryBody),
		"it is no credential file of Google: a JSON object whose type i": {"type": members{"a": canaryBody}},
	} {
		files[string(mustJSON(m))] = want
	}
	files[canaryBody] = "it is no credential file of Google"
	for text, want := range files {
		f := cloudtest.New(t)
		s := open(t, f, map[string]string{"GOOGLE_APPLICATION_CREDENTIALS": write(t, text)})
		_, err := s.Token(t.Context())
		if err == nil || !strings.HasPrefix(err.Error(), "signing in failed: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\n%v", text, err)
		}
		cloudtest.CheckNoSecret(t, err)
		if dialed := f.Dialed(); len(dialed) != 0 {
			t.Errorf("%s\ndialed %q", text, dialed)
		}
	}
}

func mustJSON(m members) []byte {
	raw, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	return raw
}

// TestTheFirstConfiguredSourceIsTheOnlyOne shows that a key that fails does not become the identity of the machine.
func TestTheFirstConfiguredSourceIsTheOnlyOne(t *testing.T) {
	directory := t.TempDir()
	for _, c := range []struct{ name, want string }{
		{filepath.Join(directory, "none.json"), "none.json does not exist"},
		{directory, "is not a regular file"},
		{write(t, " \n"), "is empty"},
		{string(mustJSON(serviceAccount(t).with("private_key_id", "CANARY"))), "GOOGLE_APPLICATION_CREDENTIALS does not exist"},
		{"CANARY.json", "GOOGLE_APPLICATION_CREDENTIALS does not exist"},
		{write(t, strings.Repeat("x", 65<<10)), "has more than 64 KiB"},
	} {
		f := cloudtest.New(t)
		f.Serve(metadata, func(w http.ResponseWriter, r *http.Request) {
			cloudtest.Unexpected(t, w, "the metadata server was asked")
		})
		_, err := open(t, f, map[string]string{"GOOGLE_APPLICATION_CREDENTIALS": c.name}).Token(t.Context())
		if err == nil || !strings.Contains(err.Error(), "signing in failed: the file of GOOGLE_APPLICATION_CREDENTIALS") ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
		cloudtest.CheckNoSecret(t, err)
	}
}

// TestFailuresHaveAStatusAndNoText shows each failure of each service.
func TestFailuresHaveAStatusAndNoText(t *testing.T) {
	type handler = http.HandlerFunc
	status := func(code int, body string) handler {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Metadata-Flavor", "Google")
			w.WriteHeader(code)
			fmt.Fprint(w, body)
		}
	}
	const refused = `{"error":"invalid_grant","error_description":"` + canaryBody + `"}`
	const denied = `{"error":{"code":403,"status":"PERMISSION_DENIED","message":"` + canaryBody + `"}}`
	const alone = "no Google credential: GOOGLE_APPLICATION_CREDENTIALS is not set, the metadata server "
	for _, c := range []struct {
		env     map[string]string
		at      string
		answers handler
		want    string
	}{
		{nil, "", nil, alone + `is not reachable: the host "169.254.169.254:80" does not exist (3 attempts)`},
		{nil, metadata, status(404, canaryBody), alone + "answered 404 Not Found, this machine has no service account"},
		{nil, metadata, status(403, canaryBody), alone + "answered 403 Forbidden"},
		{nil, metadata, status(503, canaryBody), alone + "answered 503 Service Unavailable (3 attempts)"},
		{nil, metadata, status(200, canaryBody), alone + "answered something else than a JSON object with a token"},
		{nil, metadata, status(200, `{"access_token":"a b","expires_in":1}`), alone + "answered without an access_token"},
		{nil, metadata, status(200, `{"access_token":"`+accessToken+`","token_type":"Bearer"}`), alone + "answered a token without expires_in, or one that has expired"},
		{nil, metadata, status(200, `{"access_token":"`+accessToken+`","token_type":"Bearer","expires_in":0}`), alone + "answered a token without expires_in, or one that has expired"},
		{nil, metadata, status(200, `{"access_token":"`+accessToken+`","token_type":"mac","expires_in":9}`), alone + "answered a token of another type than Bearer"},
		{nil, metadata, status(200, strings.Repeat(" ", 65<<10)), alone + "answered more than 64 KiB"},
		{nil, metadata, func(w http.ResponseWriter, r *http.Request) {
			answer(w, members{"access_token": accessToken, "token_type": "Bearer", "expires_in": 60})
		}, alone + "answered without the header Metadata-Flavor: Google, so it is not that of Google"},
		{nil, metadata, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Metadata-Flavor", "Google")
			http.Redirect(w, r, "http://evil.example/"+canaryBody, http.StatusFound)
		}, alone + "answered 302 Found, a redirect, which is not followed"},
		{serviceAccount(t).write(t), tokenHost, status(400, refused), "the token service of Google answered 400 Bad Request, invalid_grant"},
		{serviceAccount(t).write(t), tokenHost, status(400, `{"error":"`+canaryBody+`"}`), "the token service of Google answered 400 Bad Request"},
		{serviceAccount(t).write(t), tokenHost, status(401, canaryBody), "the token service of Google answered 401 Unauthorized"},
		{federated(members{"file": write(t, subject)}).write(t), stsHost, status(400, refused), "the security token service of Google answered 400 Bad Request, invalid_grant"},
		{federated(members{"file": write(t, subject)}).write(t), iamHost, status(403, denied), "the IAM credentials service of Google answered 403 Forbidden, PERMISSION_DENIED, does the workload have roles/iam.workloadIdentityUser on the service account?"},
		{federated(members{"file": write(t, subject)}).write(t), iamHost, status(200, `{"accessToken":"`+accessToken+`","expireTime":"`+canaryBody+`"}`), "the IAM credentials service of Google answered without an accessToken and its expireTime"},
		{federated(members{"file": write(t, subject)}).write(t), iamHost, status(200, `{"accessToken":"`+accessToken+`","expireTime":"2020-01-01T00:00:00Z"}`), "the IAM credentials service of Google answered a token without expireTime, or one that has expired"},
		{federated(members{"file": write(t, "CANARY two words")}).write(t), "", nil, "the file of credential_source has no token: it is empty, longer than 32 KiB, or has a space or another character than the printable ones of ASCII"},
		{federated(members{"url": "http://127.0.0.1:9/" + canaryBody}).write(t), "127.0.0.1:9", status(500, canaryBody), "credential_source.url answered 500 Internal Server Error (3 attempts)"},
	} {
		t.Run(c.want, func(t *testing.T) {
			f := cloudtest.New(t)
			if c.at == iamHost {
				serveExchange(t, f, "https://www.googleapis.com/auth/cloud-platform", ownToken)
			}
			if c.at != "" {
				f.Serve(c.at, c.answers)
			}
			_, err := open(t, f, c.env).Token(t.Context())
			if err == nil || err.Error() != "signing in failed: "+c.want {
				t.Errorf("%v", err)
			}
			cloudtest.CheckNoSecret(t, err)
		})
	}
}

// TestManyCallsFetchOneToken shows that calls at the start share a fetch, and succeed while the source is down.
func TestManyCallsFetchOneToken(t *testing.T) {
	var fetched atomic.Int64
	f := cloudtest.New(t)
	f.Serve(metadata, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Metadata-Flavor", "Google")
		if fetched.Add(1) > 1 {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		answer(w, members{"access_token": accessToken, "token_type": "Bearer", "expires_in": 3600})
	})
	s := open(t, f, nil)
	for range 2 {
		var calls sync.WaitGroup
		for range 100 {
			calls.Go(func() {
				if token, err := s.Token(t.Context()); token != accessToken || err != nil {
					t.Errorf("%q, %v", token, err)
				}
			})
		}
		calls.Wait()
	}
	s.Invalidate("another token")
	if _, err := s.Token(t.Context()); err != nil || fetched.Load() != 1 {
		t.Errorf("%d fetches, %v", fetched.Load(), err)
	}
	s.Invalidate(accessToken)
	if _, err := s.Token(t.Context()); err == nil || fetched.Load() != 2 || s.Status().Failure == nil {
		t.Errorf("%d fetches, %v", fetched.Load(), err)
	}
}
