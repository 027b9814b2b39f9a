// Package issuertest is an authorization server for tests: it signs tokens, and serves its metadata and
// its keys.
package issuertest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/golang-jwt/jwt/v5"
)

// Issuer is an authorization server. Its methods may be called concurrently.
type Issuer struct {
	URL string

	t testing.TB

	mu        sync.Mutex
	keys      []Key            // guarded by mu
	asked     map[string]int   // number of requests by path; guarded by mu
	discovery string           // path of the metadata; guarded by mu
	status    int              // of every response; 0 for none; guarded by mu
	raw       []byte           // served instead of the keys; guarded by mu
	held      chan struct{}    // for which responses wait; guarded by mu
	exchange  Exchange         // guarded by mu
	clock     func() time.Time // guarded by mu

	describe func() map[string]any                             // the metadata; called with mu held; guarded by mu
	more     func(w http.ResponseWriter, r *http.Request) bool // answers a request, or reports false; guarded by mu
}

// Key is a key pair for signatures.
type Key struct {
	ID        string
	Algorithm string
	Private   crypto.Signer
}

// Open starts an issuer with one key, "first". It ends with the test.
func Open(t testing.TB) *Issuer {
	t.Helper()
	return openWith(t, "RS256")
}

// openWith starts an issuer whose key is for an algorithm.
func openWith(t testing.TB, algorithm string) *Issuer {
	t.Helper()
	i := &Issuer{t: t, asked: map[string]int{}, discovery: "/.well-known/oauth-authorization-server", clock: time.Now}
	i.describe = func() map[string]any { return map[string]any{"issuer": i.URL, "jwks_uri": i.URL + "/keys"} }
	web := httptest.NewServer(http.HandlerFunc(i.serve))
	t.Cleanup(web.Close)
	i.URL = web.URL
	i.Serve(NewKey(t, "first", algorithm))
	return i
}

// NewKey generates a key for RS256, ES256 or EdDSA.
func NewKey(t testing.TB, id, algorithm string) Key {
	t.Helper()
	k := Key{ID: id, Algorithm: algorithm}
	var err error
	switch algorithm {
	case "ES256":
		k.Private, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	case "EdDSA":
		_, k.Private, err = ed25519.GenerateKey(rand.Reader)
	default:
		k.Private, err = rsa.GenerateKey(rand.Reader, 2048)
	}
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// Serve replaces the keys that are served.
func (i *Issuer) Serve(keys ...Key) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.keys = keys
}

// Key returns the first of the keys that are served.
func (i *Issuer) Key() Key {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.keys[0]
}

// Fail makes every response have this status, until it is called with 0.
func (i *Issuer) Fail(status int) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.status = status
}

// ServeRaw serves these bytes instead of the keys, until it is called with nil.
func (i *Issuer) ServeRaw(b []byte) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.raw = b
}

// Hold delays all responses until release is called.
func (i *Issuer) Hold() (release func()) {
	held := make(chan struct{})
	i.mu.Lock()
	i.held = held
	i.mu.Unlock()
	return func() {
		i.mu.Lock()
		i.held = nil
		i.mu.Unlock()
		close(held)
	}
}

// DescribeAt sets the path of the metadata.
func (i *Issuer) DescribeAt(path string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.discovery = path
}

// SetClock sets the clock by which tokens are issued.
func (i *Issuer) SetClock(now func() time.Time) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.clock = now
}

// Requests returns the number of requests for a path. The keys are at "/keys".
func (i *Issuer) Requests(path string) int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.asked[path]
}

func (i *Issuer) serve(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	i.asked[r.URL.Path]++
	held, more := i.held, i.more
	i.mu.Unlock()
	if held != nil {
		<-held
	}
	if more != nil && more(w, r) {
		return
	}
	if r.URL.Path == "/token" {
		i.serveExchange(w, r)
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	switch {
	case i.status != 0:
		w.WriteHeader(i.status)
	case r.URL.Path == i.discovery:
		json.NewEncoder(w).Encode(i.describe())
	case r.URL.Path != "/keys":
		w.WriteHeader(http.StatusNotFound)
	case i.raw != nil:
		w.Write(i.raw)
	default:
		set := jose.JSONWebKeySet{}
		for _, k := range i.keys {
			public := jose.JSONWebKey{Key: k.Private.Public(), KeyID: k.ID, Algorithm: k.Algorithm, Use: "sig"}
			set.Keys = append(set.Keys, public)
		}
		json.NewEncoder(w).Encode(set)
	}
}

// Claims returns the claims of a valid token of ada for an audience. The others are added or replace
// them; a nil one is removed.
func (i *Issuer) Claims(audience string, others map[string]any) jwt.MapClaims {
	i.mu.Lock()
	now := i.clock()
	i.mu.Unlock()
	c := jwt.MapClaims{"iss": i.URL, "sub": "ada", "aud": audience, "iat": now.Unix(), "exp": now.Add(time.Hour).Unix()}
	maps.Copy(c, others)
	maps.DeleteFunc(c, func(_ string, v any) bool { return v == nil })
	return c
}

// Token returns a token with these claims, signed with the first key.
func (i *Issuer) Token(audience string, others map[string]any) string {
	i.t.Helper()
	return Sign(i.t, i.Key(), i.Claims(audience, others))
}

// Sign returns a token signed with any key.
func Sign(t testing.TB, k Key, claims jwt.MapClaims) string {
	t.Helper()
	return SignAs(t, "JWT", k, claims)
}

// SignAs returns a token of a type, signed with any key.
func SignAs(t testing.TB, typ any, k Key, claims jwt.MapClaims) string {
	t.Helper()
	token := jwt.NewWithClaims(jwt.GetSigningMethod(k.Algorithm), claims)
	token.Header["typ"] = typ
	if k.ID != "" {
		token.Header["kid"] = k.ID
	}
	text, err := token.SignedString(k.Private)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// Unsigned returns a token with "alg": "none".
func Unsigned(t testing.TB, claims jwt.MapClaims) string {
	t.Helper()
	text, err := jwt.NewWithClaims(jwt.SigningMethodNone, claims).SignedString(jwt.UnsafeAllowNoneSignatureType)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// Confused returns a token signed by HMAC with the public key of k as the secret.
func Confused(t testing.TB, k Key, claims jwt.MapClaims) string {
	t.Helper()
	token := jwt.NewWithClaims(jwt.SigningMethodHS256, claims)
	token.Header["kid"] = k.ID
	text, err := token.SignedString(publicPEM(t, k))
	if err != nil {
		t.Fatal(err)
	}
	return text
}
