// Package issuertest is an authorization server as far as tests need one: it signs real tokens and
// serves its metadata and its keys.
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

// Issuer is one. Its methods may be called from any goroutine.
type Issuer struct {
	URL string

	t testing.TB

	mu        sync.Mutex
	keys      []Key          // that it serves; guarded by mu
	asked     map[string]int // by path; guarded by mu
	discovery string         // where its metadata is; guarded by mu
	status    int            // that it answers with, when it is not well; guarded by mu
	raw       []byte         // that it serves instead of its keys; guarded by mu
	held      chan struct{}  // that answers wait for; guarded by mu
	exchange  Exchange       // guarded by mu
}

// Key is a key of an issuer, or of somebody else.
type Key struct {
	ID        string
	Algorithm string
	Private   crypto.Signer
}

// Open starts an issuer that has one key, "first".
func Open(t testing.TB) *Issuer {
	t.Helper()
	i := &Issuer{t: t, asked: map[string]int{}, discovery: "/.well-known/oauth-authorization-server"}
	web := httptest.NewServer(http.HandlerFunc(i.serve))
	t.Cleanup(web.Close)
	i.URL = web.URL
	i.Serve(NewKey(t, "first", "RS256"))
	return i
}

// NewKey makes a key for an algorithm.
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

// Key is the first of the keys that are served.
func (i *Issuer) Key() Key {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.keys[0]
}

// Fail has every answer be one with this status; 0 makes the issuer well again.
func (i *Issuer) Fail(status int) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.status = status
}

// ServeRaw has these bytes be served instead of the keys; nil serves the keys again.
func (i *Issuer) ServeRaw(b []byte) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.raw = b
}

// Hold has answers wait until release is called.
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

// DescribeAt says where the metadata is.
func (i *Issuer) DescribeAt(path string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.discovery = path
}

// Asked is how often a path was asked for; "/keys" is that of the keys.
func (i *Issuer) Asked(path string) int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.asked[path]
}

func (i *Issuer) serve(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	i.asked[r.URL.Path]++
	held := i.held
	i.mu.Unlock()
	if held != nil {
		<-held
	}
	if r.URL.Path == "/token" {
		i.exchanges(w, r)
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	switch {
	case i.status != 0:
		w.WriteHeader(i.status)
	case r.URL.Path == i.discovery:
		json.NewEncoder(w).Encode(map[string]any{"issuer": i.URL, "jwks_uri": i.URL + "/keys"})
	case r.URL.Path != "/keys":
		w.WriteHeader(http.StatusNotFound)
	case i.raw != nil:
		w.Write(i.raw)
	default:
		set := jose.JSONWebKeySet{}
		for _, k := range i.keys {
			set.Keys = append(set.Keys, jose.JSONWebKey{Key: k.Private.Public(), KeyID: k.ID, Algorithm: k.Algorithm,
				Use: "sig"})
		}
		json.NewEncoder(w).Encode(set)
	}
}

// Claims are those of a good token of ada for an audience, with others over them; one that is nil
// is left out.
func (i *Issuer) Claims(audience string, others map[string]any) jwt.MapClaims {
	now := time.Now()
	c := jwt.MapClaims{"iss": i.URL, "sub": "ada", "aud": audience, "iat": now.Unix(), "exp": now.Add(time.Hour).Unix()}
	maps.Copy(c, others)
	maps.DeleteFunc(c, func(_ string, v any) bool { return v == nil })
	return c
}

// Token signs a token of ada with the first key.
func (i *Issuer) Token(audience string, others map[string]any) string {
	i.t.Helper()
	return Sign(i.t, i.Key(), i.Claims(audience, others))
}

// Sign signs claims with a key, whoever's that is.
func Sign(t testing.TB, k Key, claims jwt.MapClaims) string {
	t.Helper()
	token := jwt.NewWithClaims(jwt.GetSigningMethod(k.Algorithm), claims)
	if k.ID != "" {
		token.Header["kid"] = k.ID
	}
	text, err := token.SignedString(k.Private)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// Unsigned are claims under "alg": "none".
func Unsigned(t testing.TB, claims jwt.MapClaims) string {
	t.Helper()
	text, err := jwt.NewWithClaims(jwt.SigningMethodNone, claims).SignedString(jwt.UnsafeAllowNoneSignatureType)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// Confused is a token whose HMAC was made with the public key of k, which everybody has.
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
