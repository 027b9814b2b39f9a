package http_test

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
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
	nethttp "net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"hatchel/adapters"
	"hatchel/adapters/adaptertest"
	"hatchel/hcl/mock"
)

// verifier is a token server that authenticates clients by assertions, which it verifies itself.
type verifier struct {
	*recorder
	public crypto.PublicKey // of the assertions; nil for those that are another text
	want   string           // the assertion, if there is no key

	mu       sync.Mutex
	audience string          // of the assertions; guarded by mu
	ids      map[string]bool // of the assertions; guarded by mu
	headers  []map[string]any
	tokens   int
}

func serveVerifier(t *testing.T, public crypto.PublicKey) *verifier {
	s := &verifier{public: public, ids: map[string]bool{}}
	s.recorder = serve(t, s.token)
	s.audience = s.URL + "/token"
	return s
}

func (s *verifier) token(w nethttp.ResponseWriter, r *nethttp.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.check(r); err != nil {
		w.WriteHeader(nethttp.StatusUnauthorized)
		_ = json.NewEncoder(w).Encode(map[string]any{"error": "invalid_client", "error_description": fmt.Sprint(err, ": ", r.PostForm.Encode())})
		return
	}
	s.tokens++
	fmt.Fprintf(w, `{"access_token": "token-%d", "token_type": "Bearer", "expires_in": 3600}`, s.tokens)
}

// check authenticates a client as RFC 7523 describes it.
func (s *verifier) check(r *nethttp.Request) error {
	if err := r.ParseForm(); err != nil {
		return err
	}
	text := r.PostFormValue("client_assertion")
	switch {
	case r.Header.Get("Authorization") != "" || r.PostForm.Has("client_secret"):
		return fmt.Errorf("two ways to authenticate")
	case r.PostFormValue("client_id") != "tools" || len(r.PostForm["client_assertion"]) != 1:
		return fmt.Errorf("client %s", r.PostFormValue("client_id"))
	case s.public == nil && text != s.want:
		return fmt.Errorf("another assertion")
	case r.PostFormValue("client_assertion_type") != "urn:ietf:params:oauth:client-assertion-type:jwt-bearer":
		return fmt.Errorf("another type")
	case s.public == nil:
		return nil
	}
	header, claims, err := verifyJWT(text, s.public)
	if err != nil {
		return err
	}
	id, _ := claims["jti"].(string)
	issued, _ := claims["iat"].(float64)
	expires, _ := claims["exp"].(float64)
	now := float64(time.Now().Unix())
	switch {
	case claims["iss"] != "tools" || claims["sub"] != "tools":
		return fmt.Errorf("issuer %v, subject %v", claims["iss"], claims["sub"])
	case claims["aud"] != s.audience:
		return fmt.Errorf("audience %v", claims["aud"])
	case id == "" || s.ids[id]:
		return fmt.Errorf("used twice")
	case issued > now || expires <= now || expires-issued > 60:
		return fmt.Errorf("issued %v, expires %v", issued, expires)
	}
	s.ids[id] = true
	s.headers = append(s.headers, header)
	return nil
}

// verifyJWT verifies a signature by RFC 7515 and RFC 7518 with the standard library alone.
func verifyJWT(text string, public crypto.PublicKey) (header, claims map[string]any, err error) {
	parts := strings.Split(text, ".")
	if len(parts) != 3 {
		return nil, nil, fmt.Errorf("%d parts", len(parts))
	}
	var raw [3][]byte
	for i, p := range parts {
		if raw[i], err = base64.RawURLEncoding.DecodeString(p); err != nil {
			return nil, nil, err
		}
	}
	if err := json.Unmarshal(raw[0], &header); err != nil {
		return nil, nil, err
	}
	if err := json.Unmarshal(raw[1], &claims); err != nil {
		return nil, nil, err
	}
	algorithm, signed, ok := fmt.Sprint(header["alg"]), []byte(parts[0]+"."+parts[1]), false
	sum := sha256.Sum256(signed)
	switch key := public.(type) {
	case *rsa.PublicKey:
		switch algorithm {
		case "RS256":
			ok = rsa.VerifyPKCS1v15(key, crypto.SHA256, sum[:], raw[2]) == nil
		case "PS256":
			ok = rsa.VerifyPSS(key, crypto.SHA256, sum[:], raw[2], &rsa.PSSOptions{SaltLength: 32}) == nil
		}
	case *ecdsa.PublicKey:
		if n := len(raw[2]); algorithm == "ES256" && n == 64 {
			ok = ecdsa.Verify(key, sum[:], new(big.Int).SetBytes(raw[2][:32]), new(big.Int).SetBytes(raw[2][32:]))
		}
	case ed25519.PublicKey:
		ok = algorithm == "EdDSA" && ed25519.Verify(key, signed, raw[2])
	}
	if !ok {
		return nil, nil, fmt.Errorf("no valid signature by %s", algorithm)
	}
	return header, claims, nil
}

// clientSource returns a tool whose connection gets tokens with a key or an assertion, which arguments declare.
func clientSource(service, tokens, key, arguments string) adaptertest.Source {
	src := source(service, fmt.Sprintf("  auth {\n    oauth2 {\n      token_url = %q\n      client_id = \"tools\"\n%s\n    }\n  }", tokens, arguments), "", `    get = "/"`)
	src.Env = map[string]string{"KEY": key}
	return src
}

func encodeKey(t *testing.T, key crypto.Signer) string {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
}

func newKeys(t *testing.T) (rsaKey *rsa.PrivateKey, ecKey *ecdsa.PrivateKey, edKey ed25519.PrivateKey) {
	t.Helper()
	var errs [3]error
	rsaKey, errs[0] = rsa.GenerateKey(rand.Reader, 2048)
	ecKey, errs[1] = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	_, edKey, errs[2] = ed25519.GenerateKey(rand.Reader)
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
	return rsaKey, ecKey, edKey
}

func TestAClientAuthenticatesWithItsKey(t *testing.T) {
	rsaKey, ecKey, edKey := newKeys(t)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, rsaKey.Public(), rsaKey)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(der)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "tools.pem"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, x := range map[string]struct {
		key       crypto.Signer
		arguments string
		audience  string
		header    map[string]any
	}{
		"RSA":                      {rsaKey, "", "", map[string]any{"alg": "RS256"}},
		"PSS":                      {rsaKey, `key_algorithm = "PS256"`, "", map[string]any{"alg": "PS256"}},
		"EC":                       {ecKey, "", "", map[string]any{"alg": "ES256"}},
		"Ed25519":                  {edKey, "", "", map[string]any{"alg": "EdDSA"}},
		"a method that is written": {ecKey, `client_auth = "private_key_jwt"`, "", map[string]any{"alg": "ES256"}},
		"an issuer as audience":    {rsaKey, `assertion_audience = "https://login.example"`, "https://login.example", map[string]any{"alg": "RS256"}},
		"an id":                    {rsaKey, `key_id = "2026-11"`, "", map[string]any{"alg": "RS256", "kid": "2026-11"}},
		"a certificate":            {rsaKey, `certificate = "tools.pem"`, "", map[string]any{"alg": "RS256", "x5t#S256": base64.RawURLEncoding.EncodeToString(sum[:])}},
	} {
		t.Run(name, func(t *testing.T) {
			tokens, s := serveVerifier(t, x.key.Public()), serve(t, respond(`{}`))
			if x.audience != "" {
				tokens.audience = x.audience
			}
			key := encodeKey(t, x.key)
			src := clientSource(s.URL, tokens.URL+"/token", key, "key = secret.key\n"+x.arguments)
			src.Dir = dir
			b := adaptertest.Bind(t, src)
			for range 3 {
				if _, err := b.Do(t.Context(), `{}`); err != nil {
					t.Fatal(err)
				}
			}
			if s := b.Action.(adapters.SignedIn).Credential(); s == nil || !s.Valid || s.Failure != "" || !strings.HasSuffix(s.Identity, " by its key") || time.Until(s.Expires) < 50*time.Minute {
				t.Errorf("%+v", s)
			}
			x.header["typ"] = "JWT"
			if got := s.last().Header.Get("Authorization"); got != "Bearer token-1" || len(tokens.headers) != 1 || fmt.Sprint(tokens.headers[0]) != fmt.Sprint(x.header) {
				t.Errorf("%s with %v", got, tokens.headers)
			}
			plan, err := b.Plan(t.Context(), `{}`)
			if err != nil || strings.Contains(plan, "token-1") || tokens.count() != 1 {
				t.Errorf("%v: %s", err, plan)
			}
		})
	}
}

// A token server may answer with what it was sent.
func TestAnAssertionThatIsRefusedIsNotShown(t *testing.T) {
	rsaKey, ecKey, _ := newKeys(t)
	tokens, s := serveVerifier(t, rsaKey.Public()), serve(t, respond(`{}`))
	b := adaptertest.Bind(t, clientSource(s.URL, tokens.URL+"/token", encodeKey(t, ecKey), "key = secret.key"))
	_, err := b.Do(t.Context(), `{}`)
	f := wantFault(t, err)
	if s := b.Action.(adapters.SignedIn).Credential(); s == nil || s.Valid || !strings.Contains(s.Failure, "no valid signature") || s.Identity != "" {
		t.Errorf("%+v", s)
	}
	form, _ := url.ParseQuery(tokens.last().body)
	report := fmt.Sprint(f.Message, f.Cause, b.Log.String())
	wantPart(t, f.Message, "signing in failed: the token server returned 401 Unauthorized, invalid_client: no valid signature by ES256")
	if strings.Contains(report, form.Get("client_assertion")) || s.count() != 0 {
		t.Errorf("%d requests: %s", s.count(), report)
	}
}

// An assertion lives for a minute, so that a clock which is wrong by more is the reason of a refusal.
func TestARefusedAssertionNamesAClockThatIsWrong(t *testing.T) {
	_, ecKey, _ := newKeys(t)
	for shift, want := range map[time.Duration]string{
		10 * time.Second: "", -10 * time.Second: "",
		20 * time.Minute: "the clock of this machine is 20m0s behind that of the service",
		-2 * time.Minute: "the clock of this machine is 2m0s ahead of that of the service",
	} {
		for _, arguments := range []string{"key = secret.key", "client_secret = secret.key"} {
			tokens := serve(t, func(w nethttp.ResponseWriter, _ *nethttp.Request) {
				w.Header().Set("Date", time.Now().Add(shift).UTC().Format(nethttp.TimeFormat))
				w.WriteHeader(nethttp.StatusUnauthorized)
				fmt.Fprint(w, `{"error": "invalid_client"}`)
			})
			b := adaptertest.Bind(t, clientSource("https://shop.invalid", tokens.URL, encodeKey(t, ecKey), arguments))
			_, err := b.Do(t.Context(), `{}`)
			got := wantFault(t, err).Message
			if named := strings.Contains(got, "clock"); named != (want != "" && arguments[0] == 'k') || named && !strings.Contains(got, want) {
				t.Errorf("%v, %s: %s", shift, arguments, got)
			}
		}
	}
}

// A refused token is replaced, with another assertion.
func TestEachTokenRequestHasAnAssertionOfItsOwn(t *testing.T) {
	_, ecKey, _ := newKeys(t)
	tokens := serveVerifier(t, ecKey.Public())
	s := serve(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
		if r.Header.Get("Authorization") == "Bearer token-1" {
			w.WriteHeader(nethttp.StatusUnauthorized)
		}
	})
	b := adaptertest.Bind(t, clientSource(s.URL, tokens.URL+"/token", encodeKey(t, ecKey), "key = secret.key"))
	if _, err := b.Do(t.Context(), `{}`); err != nil || len(tokens.ids) != 2 {
		t.Errorf("%v, %d assertions", err, len(tokens.ids))
	}
}

// The platform renews the file. What is wrong with it fails the call, and nothing is sent.
func TestAnAssertionFileIsReadForEachToken(t *testing.T) {
	tokens := serveVerifier(t, nil)
	s := serve(t, func(w nethttp.ResponseWriter, _ *nethttp.Request) { w.WriteHeader(nethttp.StatusUnauthorized) })
	src := clientSource(s.URL, tokens.URL, "", `assertion_file = "run/token"`)
	src.Dir = t.TempDir()
	src.HCL = strings.Replace(src.HCL, `secret "key" { env = "KEY" }`, "", 1)
	b := adaptertest.Bind(t, src)
	name := filepath.Join(src.Dir, "run", "token")
	if err := os.Mkdir(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct{ content, want string }{
		{"", "the assertion file " + name + " does not exist"},
		{" \n", "is empty"},
		{strings.Repeat("x", 64<<10+1), "has more than 64 KiB"},
		{"eyJ.one.two eyJ.three.four", "has no token"},
		{"eyJ.one.é", "has no token"},
		{"eyJ.first.assertion\n", ""},
		{"eyJ.second.assertion", ""},
	} {
		if x.content != "" {
			if err := os.WriteFile(name, []byte(x.content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		tokens.mu.Lock()
		tokens.want = strings.TrimSpace(x.content)
		before, requests := tokens.tokens, tokens.count()
		tokens.mu.Unlock()
		_, err := b.Do(t.Context(), `{}`)
		f := wantFault(t, err)
		if x.want == "" {
			if wantPart(t, f.Message, "the service returned 401"); tokens.tokens == before {
				t.Errorf("%s: no token was fetched: %v", x.content, f)
			}
			continue
		}
		wantPart(t, f.Message, "signing in failed: the assertion file ")
		wantPart(t, f.Message, x.want)
		if tokens.count() != requests || strings.Contains(f.Message, "two") {
			t.Errorf("%d requests: %s", tokens.count()-requests, f.Message)
		}
	}
}

func TestTheTypeOfAnAssertionFileIsSent(t *testing.T) {
	tokens, s := serve(t, respond(`{"access_token": "abc-token"}`)), serve(t, respond(`{}`))
	src := clientSource(s.URL, tokens.URL, "any", "assertion_file = \"token\"\nassertion_type = \"urn:ietf:params:oauth:client-assertion-type:jwt-spiffe\"")
	src.Dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(src.Dir, "token"), []byte("eyJ.a.b"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := adaptertest.Bind(t, src).Do(t.Context(), `{}`); err != nil {
		t.Fatal(err)
	}
	const want = "client_assertion=eyJ.a.b&client_assertion_type=urn%3Aietf%3Aparams%3Aoauth%3Aclient-assertion-type%3Ajwt-spiffe&client_id=tools&grant_type=client_credentials"
	if got := tokens.last().body; got != want {
		t.Errorf("%s", got)
	}
}

func TestAnExchangeAuthenticatesWithAnAssertion(t *testing.T) {
	_, ecKey, _ := newKeys(t)
	tokens, u := serveVerifier(t, ecKey.Public()), serveUpstream(t)
	service := serve(t, respond(`{}`))
	src := clientSource(service.URL, tokens.URL+"/token", encodeKey(t, ecKey), "key = secret.key\nexchange = true\naudience = \"https://shop.example\"")
	src.HCL += fmt.Sprintf("auth {\n jwt {\n issuer = %q\n audience = %q\n }\n}\n", u.URL, serverAudience)
	b := adaptertest.Bind(t, src)
	if _, err := callAs(t, b, t.Context(), "ada", u.callerToken("ada"), inAnHour()); err != nil {
		t.Fatal(err)
	}
	form, _ := url.ParseQuery(tokens.last().body)
	if form.Get("subject_token") == "" || len(tokens.ids) != 1 || service.last().Header.Get("Authorization") != "Bearer token-1" {
		t.Errorf("%v, %v", form, service.last().Header)
	}
}

func TestArgumentsOfClientsThatDoNotFitTogether(t *testing.T) {
	_, ecKey, _ := newKeys(t)
	key := encodeKey(t, ecKey)
	for arguments, want := range map[string]string{
		"": "write one of client_secret, key, assertion_file",
		"client_secret = secret.key\nkey = secret.key":                  "write one of client_secret, key, assertion_file",
		"key = secret.key\nassertion_file = \"a\"":                      "write one of client_secret, key, assertion_file",
		"key = secret.key\nclient_auth = \"basic\"":                     `Write client_auth = "private_key_jwt"`,
		"assertion_file = \"a\"\nclient_auth = \"body\"":                `Write client_auth = "private_key_jwt"`,
		"client_secret = secret.key\nclient_auth = \"private_key_jwt\"": "Write key = secret.… or assertion_file",
		"client_secret = secret.key\nkey_id = \"a\"":                    "requires key",
		"client_secret = secret.key\nkey_algorithm = \"RS256\"":         "requires key",
		"assertion_file = \"a\"\ncertificate = \"a.pem\"":               "requires key",
		"assertion_file = \"a\"\nassertion_audience = \"a\"":            "requires key",
		"key = secret.key\nassertion_type = \"urn:a\"":                  "requires assertion_file",
		"assertion_file = \"a\"\nassertion_type = \"jwt\"":              "must be a URI",
		"assertion_file = \"\"":                                         "assertion_file is empty",
		"key = secret.key\nkey_algorithm = \"RS256\"":                   "cannot sign with RS256, but with ES256",
		"key = secret.key\nkey_algorithm = \"HS256\"":                   "RS256",
		"key = secret.key\ncertificate = \"none.pem\"":                  `"none.pem" cannot be read`,
		"key = secret.key\nparams = { client_assertion = \"a\" }":       "The field client_assertion of the token request already has a value",
		"key = secret.key\nparams = { client_secret = secret.key }":     "The field client_secret of the token request already has a value",
		"key = \"${secret.key}x\"\nkey_id = \"a\"":                      "",
		"key = \"abcdefgh\"":                                            "a credential that is written here",
	} {
		src := clientSource("https://shop.example", "https://login.example/token", key, arguments)
		if want == "" {
			adaptertest.Bind(t, src)
			continue
		}
		if got := adaptertest.MustReject(t, src); !strings.Contains(got, want) || strings.Contains(got, key[40:60]) {
			t.Errorf("%s: %s, want %s", arguments, got, want)
		}
	}
	got := adaptertest.MustReject(t, clientSource("https://shop.example", "https://login.example/token", "s3cret-k3y-w0rd", "key = secret.key"))
	if wantPart(t, got, "The key is neither PEM"); strings.Contains(got, "s3cret") {
		t.Error(got)
	}
}

// A test has neither the key nor the file.
func TestMocksOfTokenServersGetAFixedAssertion(t *testing.T) {
	for _, arguments := range []string{"key = secret.key\ncertificate = \"none.pem\"", `assertion_file = "none"`} {
		var forms []string
		src := clientSource("https://shop.invalid", "https://login.invalid/token", "test-key", arguments)
		src.Mocks = &adaptertest.Mocks{Reply: func(_ context.Context, q *mock.Question) (map[string]any, error) {
			r := q.Raw.(*nethttp.Request)
			if r.Method == nethttp.MethodGet {
				return map[string]any{"json": r.Header.Get("Authorization")}, nil
			}
			forms = append(forms, fmt.Sprint(q.Sent["body"]))
			return map[string]any{"json": map[string]any{"access_token": "abc-token"}}, nil
		}}
		out, err := adaptertest.Bind(t, src).Do(t.Context(), `{}`)
		if err != nil || resolved(t, out["body"]) != "Bearer "+"abc-token" && !strings.Contains(fmt.Sprint(resolved(t, out["body"])), "Bearer") {
			t.Fatal(out, err)
		}
		if len(forms) != 1 || !strings.Contains(forms[0], "client_assertion:test-assertion") {
			t.Errorf("%s: %q", arguments, forms)
		}
	}
}
