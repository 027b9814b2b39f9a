package client_test

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/golang-jwt/jwt/v5"

	"hatchel/hcl"
	"hatchel/runtime/edge/signin/client"
)

const assertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"

// tokenRequest returns a parsed request to the token endpoint.
func tokenRequest(t *testing.T, form url.Values, authorization string) *http.Request {
	t.Helper()
	r := httptest.NewRequest("POST", "https://tools.example/oauth/token", strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if authorization != "" {
		r.Header.Set("Authorization", authorization)
	}
	if err := r.ParseForm(); err != nil {
		t.Fatal(err)
	}
	return r
}

func basic(id, secret string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(url.QueryEscape(id)+":"+url.QueryEscape(secret)))
}

// usedOnce returns a Use that knows what was used.
func usedOnce() client.Use {
	used := map[string]time.Time{}
	return func(_ context.Context, token string, until time.Time) (bool, error) {
		_, before := used[token]
		used[token] = until
		return !before, nil
	}
}

// authenticate names the client of a request and authenticates it, as the token endpoint does.
func authenticate(t *testing.T, clients *client.Clients, r *http.Request, use client.Use) *client.Error {
	t.Helper()
	id, refused := client.IDOf(r)
	if refused != nil {
		return refused
	}
	c, err := clients.Find(t.Context(), id, "192.0.2.1")
	if err != nil {
		t.Fatal(err)
	}
	return clients.Authenticate(t.Context(), c, r, use)
}

func TestAConfidentialClientNeedsItsSecret(t *testing.T) {
	s := declaration()
	s.Clients = []*hcl.SignInClient{
		{Name: "ci & co", Secret: "s3cret: +%é", Confidential: true},
		{Name: "public"},
		{Name: "unread", Confidential: true}, // its secret was not read
	}
	clients := newClients(t, s, nil)
	form := func(pairs ...string) url.Values {
		f := url.Values{"grant_type": {"authorization_code"}}
		for i := 0; i < len(pairs); i += 2 {
			f.Add(pairs[i], pairs[i+1])
		}
		return f
	}
	const id, secret = "ci & co", "s3cret: +%é"
	for name, c := range map[string]struct {
		form   url.Values
		header string
		want   string // code, and basic; empty for accepted
	}{
		"basic":                     {form(), basic(id, secret), ""},
		"basic in lower case":       {form(), "basic" + strings.TrimPrefix(basic(id, secret), "Basic"), ""},
		"basic and client_id":       {form("client_id", id), basic(id, secret), ""},
		"post":                      {form("client_id", id, "client_secret", secret), "", ""},
		"public":                    {form("client_id", "public"), "", ""},
		"public, empty secret":      {form("client_id", "public", "client_secret", ""), "", ""},
		"public, empty assertion":   {form("client_id", "public", "client_assertion", "", "client_assertion_type", ""), "", ""},
		"public, basic without one": {form(), basic("public", ""), ""},
		"no secret":                 {form("client_id", id), "", "invalid_client"},
		"empty secret":              {form("client_id", id, "client_secret", ""), "", "invalid_client"},
		"wrong secret":              {form("client_id", id, "client_secret", secret+" "), "", "invalid_client"},
		"wrong basic":               {form(), basic(id, "x"), "invalid_client basic"},
		"unencoded basic": {form(), "Basic " + base64.StdEncoding.EncodeToString([]byte(id+":"+secret)),
			""}, // as the TypeScript SDK sends it
		"basic of another":       {form("client_id", id), basic("public", ""), "invalid_request"},
		"two secrets":            {form("client_id", id, "client_secret", secret), basic(id, secret), "invalid_request"},
		"client_id twice":        {form("client_id", id, "client_id", id, "client_secret", secret), "", "invalid_request"},
		"secret twice":           {form("client_id", id, "client_secret", secret, "client_secret", "x"), "", "invalid_request"},
		"no base64":              {form(), "Basic ***", "invalid_client basic"},
		"no colon":               {form(), "Basic eA==", "invalid_client basic"},
		"bearer":                 {form("client_id", id), "Bearer x", "invalid_request"},
		"no client":              {form(), "", "invalid_client"},
		"public with a secret":   {form("client_id", "public", "client_secret", "x"), "", "invalid_client"},
		"secret that is unread":  {form("client_id", "unread", "client_secret", ""), "", "invalid_client"},
		"basic that is unread":   {form(), basic("unread", ""), "invalid_client basic"},
		"assertion for a secret": {form("client_id", id, "client_assertion", "a.b.c", "client_assertion_type", assertionType), "", "invalid_client"},
	} {
		refused := authenticate(t, clients, tokenRequest(t, c.form, c.header), usedOnce())
		got := ""
		if refused != nil {
			if got = refused.Code; refused.Basic {
				got += " basic"
			}
			if strings.Contains(refused.Text, secret) || (refused.Status == 401) != (refused.Code == "invalid_client") {
				t.Errorf("%s: %+v", name, refused)
			}
		}
		if got != c.want {
			t.Errorf("%s: %q, not %q", name, got, c.want)
		}
	}
	r := tokenRequest(t, form(), "")
	r.URL.RawQuery = "client_id=ci&client_secret=x"
	if refused := authenticate(t, clients, r, usedOnce()); refused == nil || refused.Code != "invalid_request" {
		t.Errorf("a credential in the address: %v", refused)
	}
	public, _ := clients.Find(t.Context(), "public", "")
	for _, other := range []string{client.Command, "unread", id} {
		r = tokenRequest(t, form("client_id", other), "")
		if refused := clients.Authenticate(t.Context(), public, r, usedOnce()); refused == nil || refused.Code != "invalid_client" {
			t.Errorf("%s with the code of a public client: %v", other, refused)
		}
	}
	r = tokenRequest(t, form(), basic(id, secret))
	if refused := clients.Authenticate(t.Context(), public, r, usedOnce()); refused == nil || refused.Code != "invalid_client" {
		t.Errorf("a client with the code of another one: %v", refused)
	}
}

// signer signs assertions of one key.
type signer struct {
	method jwt.SigningMethod
	key    crypto.Signer
	id     string
}

func newSigner(id string) signer {
	key, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	return signer{jwt.SigningMethodES256, key, id}
}

// set returns the JWK set of the key.
func (s signer) set() string {
	text, _ := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: s.key.Public(), KeyID: s.id, Use: "sig"}}})
	return string(text)
}

func (s signer) sign(claims jwt.MapClaims, header map[string]any) string {
	token := jwt.NewWithClaims(s.method, claims)
	token.Header["kid"] = s.id
	for name, value := range header {
		token.Header[name] = value
	}
	text, _ := token.SignedString(s.key)
	return text
}

func assertionForm(text string) url.Values {
	return url.Values{"client_assertion": {text}, "client_assertion_type": {assertionType}}
}

// TestAnAssertionOfAClientIsVerified tries each fault of an assertion, with a client that is declared and one that a
// document describes.
func TestAnAssertionOfAClientIsVerified(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		own, other := newSigner("1"), newSigner("1")
		_, edKey, _ := ed25519.GenerateKey(rand.Reader)
		ed := signer{jwt.SigningMethodEdDSA, edKey, "ed"}
		site := newSite(t, serveText(`{"client_id":"`+documentID+`","redirect_uris":["http://localhost/"],
			"token_endpoint_auth_method":"private_key_jwt","jwks":`+own.set()+`}`))
		s := declaration()
		s.Clients = []*hcl.SignInClient{
			{Name: "ci", Keys: own.set(), Confidential: true}, {Name: "ed", Keys: ed.set(), Confidential: true},
			{Name: "broken", Keys: "{}", Confidential: true},
		}
		clients := newClients(t, s, site.documents)
		now := time.Now()
		claims := func(id string, changes ...any) jwt.MapClaims {
			c := jwt.MapClaims{"iss": id, "sub": id, "aud": "https://tools.example", "exp": now.Add(time.Minute).Unix(),
				"iat": now.Unix(), "jti": rand.Text()}
			for i := 0; i < len(changes); i += 2 {
				if name := changes[i].(string); changes[i+1] == nil {
					delete(c, name)
				} else {
					c[name] = changes[i+1]
				}
			}
			return c
		}
		hmac := jwt.NewWithClaims(jwt.SigningMethodHS256, claims("ci"))
		hmacText, _ := hmac.SignedString([]byte(own.set()))
		none, _ := jwt.NewWithClaims(jwt.SigningMethodNone, claims("ci")).SignedString(jwt.UnsafeAllowNoneSignatureType)
		minutes := func(n int) int64 { return now.Add(time.Duration(n) * time.Minute).Unix() }
		good := own.sign(claims("ci"), nil)
		for name, c := range map[string]struct{ text, want string }{
			"valid":                     {own.sign(claims("ci"), nil), ""},
			"of a document":             {own.sign(claims(documentID), nil), ""},
			"Ed25519":                   {ed.sign(claims("ed"), nil), ""},
			"for the token endpoint":    {own.sign(claims("ci", "aud", "https://tools.example/oauth/token"), nil), ""},
			"for both":                  {own.sign(claims("ci", "aud", []string{"https://tools.example", "https://tools.example/oauth/token"}), nil), ""},
			"no key id":                 {own.sign(claims("ci"), map[string]any{"kid": ""}), ""},
			"no iat":                    {own.sign(claims("ci", "iat", nil), nil), ""},
			"ten minutes":               {own.sign(claims("ci", "exp", minutes(10)), nil), ""},
			"an hour":                   {own.sign(claims("ci", "exp", minutes(60)), nil), "more than 10 minutes"},
			"expired":                   {own.sign(claims("ci", "exp", minutes(-2)), nil), "expired"},
			"no exp":                    {own.sign(claims("ci", "exp", nil), nil), "required claim"},
			"exp as a text":             {own.sign(claims("ci", "exp", "tomorrow"), nil), "not accepted"},
			"of the future":             {own.sign(claims("ci", "iat", minutes(5), "exp", minutes(8)), nil), "not valid yet"},
			"not before":                {own.sign(claims("ci", "nbf", minutes(5), "exp", minutes(8)), nil), "not valid yet"},
			"no jti":                    {own.sign(claims("ci", "jti", nil), nil), "jti"},
			"jti as a number":           {own.sign(claims("ci", "jti", 7), nil), "jti"},
			"long jti":                  {own.sign(claims("ci", "jti", strings.Repeat("a", 600)), nil), "jti"},
			"no aud":                    {own.sign(claims("ci", "aud", nil), nil), "aud must be"},
			"empty aud":                 {own.sign(claims("ci", "aud", []string{}), nil), "aud must be"},
			"foreign aud":               {own.sign(claims("ci", "aud", "https://evil.example"), nil), "aud must be"},
			"foreign aud besides":       {own.sign(claims("ci", "aud", []string{"https://tools.example", "https://evil.example"}), nil), "aud must be"},
			"aud with a slash":          {own.sign(claims("ci", "aud", "https://tools.example/"), nil), ""}, // of the Python package
			"aud with two slashes":      {own.sign(claims("ci", "aud", "https://tools.example//"), nil), "aud must be"},
			"aud with http":             {own.sign(claims("ci", "aud", "http://tools.example"), nil), "aud must be"},
			"aud in capitals":           {own.sign(claims("ci", "aud", "https://TOOLS.example"), nil), "aud must be"},
			"aud of another host":       {own.sign(claims("ci", "aud", "https://tools.example/mcp"), nil), "aud must be"},
			"foreign iss":               {own.sign(claims("ci", "iss", "other"), nil), "iss and sub"},
			"no iss":                    {own.sign(claims("ci", "iss", nil), nil), "required claim"},
			"key of another client":     {own.sign(claims("ed"), nil), "not accepted"},
			"another key, same id":      {other.sign(claims("ci"), nil), "signature"},
			"unknown key id":            {own.sign(claims("ci"), map[string]any{"kid": "x"}), "not accepted"},
			"HMAC with the public key":  {hmacText, "algorithm"},
			"none":                      {none, "algorithm"},
			"an extension":              {own.sign(claims("ci"), map[string]any{"crit": []string{"x"}, "x": 1}), "extension"},
			"a key in its header":       {other.sign(claims("ci"), map[string]any{"jwk": json.RawMessage(other.set())}), "signature"},
			"a client with broken keys": {own.sign(claims("broken"), nil), "not accepted"},
			"changed":                   {good[:len(good)-6] + "AAAAAA", "signature"},
			"no token":                  {"a.b", "no JSON Web Token"},
			"no sub":                    {own.sign(claims("ci", "sub", nil), nil), "no sub"},
		} {
			refused := authenticate(t, clients, tokenRequest(t, assertionForm(c.text), ""), usedOnce())
			switch {
			case c.want == "" && refused != nil, c.want != "" && (refused == nil || !strings.Contains(refused.Text, c.want)):
				t.Errorf("%s: %v", name, refused)
			case refused != nil && (refused.Status != 401 || refused.Code != "invalid_client"):
				t.Errorf("%s: %+v", name, refused)
			}
		}

		// An assertion is used once, also by two clients with the same jti.
		use := usedOnce()
		text := own.sign(claims("ci", "jti", "same"), nil)
		if refused := authenticate(t, clients, tokenRequest(t, assertionForm(text), ""), use); refused != nil {
			t.Error(refused)
		}
		if refused := authenticate(t, clients, tokenRequest(t, assertionForm(text), ""), use); refused == nil ||
			!strings.Contains(refused.Text, "used before") {
			t.Errorf("a replay: %v", refused)
		}
		text = own.sign(claims(documentID, "jti", "same"), nil)
		if refused := authenticate(t, clients, tokenRequest(t, assertionForm(text), ""), use); refused != nil {
			t.Error(refused)
		}
		var until time.Time
		down := func(_ context.Context, _ string, at time.Time) (bool, error) {
			until = at
			return false, errors.New("state")
		}
		text = own.sign(claims("ci"), nil)
		refused := authenticate(t, clients, tokenRequest(t, assertionForm(text), ""), down)
		if refused == nil || refused.Status != 503 || until.Before(now.Add(2*time.Minute)) {
			t.Errorf("without the state: %v, until %s", refused, until)
		}

		// A request has one credential, and a client with keys needs its own kind.
		for name, form := range map[string]url.Values{
			"a secret":        {"client_id": {"ci"}, "client_secret": {"x"}},
			"nothing":         {"client_id": {"ci"}},
			"another type":    {"client_assertion": {text}, "client_assertion_type": {"urn:ietf:params:oauth:client-assertion-type:saml2-bearer"}},
			"no type":         {"client_assertion": {text}},
			"no assertion":    {"client_id": {"ci"}, "client_assertion_type": {assertionType}},
			"another client":  {"client_id": {"ed"}, "client_assertion": {text}, "client_assertion_type": {assertionType}},
			"two credentials": {"client_assertion": {text}, "client_assertion_type": {assertionType}, "client_secret": {"x"}},
			"two assertions":  {"client_assertion": {text, text}, "client_assertion_type": {assertionType}},
		} {
			if authenticate(t, clients, tokenRequest(t, form, ""), usedOnce()) == nil {
				t.Errorf("%s is accepted", name)
			}
		}

		// The keys of a grant are those of its beginning, whatever the document has now.
		c, err := clients.Find(t.Context(), documentID, "192.0.2.1")
		if err != nil {
			t.Fatal(err)
		}
		resumed, err := clients.Resume(client.Kept{ID: documentID, Redirect: "http://localhost:1/", Keys: c.Keys})
		if err != nil || !resumed.IsConfidential() {
			t.Fatal(resumed, err)
		}
		for text, want := range map[string]bool{own.sign(claims(documentID), nil): true, other.sign(claims(documentID), nil): false} {
			r := tokenRequest(t, assertionForm(text), "")
			if refused := clients.Authenticate(t.Context(), resumed, r, usedOnce()); (refused == nil) != want {
				t.Error(refused)
			}
		}
	})
}

// TestKeysOfADocumentMayBeElsewhere requests them from an admitted host, under the rules of documents.
func TestKeysOfADocumentMayBeElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		own := newSigner("1")
		site := newSite(t, func(w http.ResponseWriter, r *http.Request) {
			if r.Host == "keys.example.com" && r.URL.Path == "/jwks" {
				w.Header().Set("Content-Type", "application/jwk-set+json")
				w.Write([]byte(strings.Replace(own.set(), `"use"`, `"note":"`+strings.Repeat("a", 5000)+`","use"`, 1)))
				return
			}
			serveText(`{"client_id":"`+documentID+`","redirect_uris":["http://localhost/"],
				"token_endpoint_auth_method":"private_key_jwt","jwks_uri":"https://keys.example.com/jwks"}`)(w, r)
		})
		s := declaration()
		s.Documents = []string{"example.com", "keys.example.com"}
		c, err := newClients(t, s, site.documents).Find(t.Context(), documentID, "192.0.2.1")
		if err != nil || site.requests.Load() != 2 {
			t.Fatal(c, err, site.log)
		}
		if text := string(c.Keys); len(text) > 250 || strings.Contains(text, "x5c") || !strings.Contains(text, `"kid":"1"`) {
			t.Errorf("a grant would keep %s", text)
		}
		s.Documents = []string{"example.com"}
		if _, err := newClients(t, s, site.documents).Find(t.Context(), documentID, "192.0.2.1"); err == nil {
			t.Error("keys of a host that is admitted no more are used")
		}
	})
}

// TestKeysOfADeclaredClientMayHaveAnAddress loads them from a server of the operator.
func TestKeysOfADeclaredClientMayHaveAnAddress(t *testing.T) {
	own := newSigner("1")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte(own.set())) }))
	defer server.Close()
	s := declaration()
	s.Clients = []*hcl.SignInClient{{Name: "ci", KeysURL: server.URL, Confidential: true}}
	text := own.sign(jwt.MapClaims{"iss": "ci", "sub": "ci", "aud": "https://tools.example", "jti": "1",
		"exp": time.Now().Add(time.Minute).Unix()}, nil)
	clients := newClients(t, s, nil)
	if refused := authenticate(t, clients, tokenRequest(t, assertionForm(text), ""), usedOnce()); refused != nil {
		t.Error(refused)
	}
	s = declaration()
	s.Clients = []*hcl.SignInClient{{Name: "ci", KeysURL: server.URL + "/gone", Confidential: true}}
	server.Close()
	if refused := authenticate(t, newClients(t, s, nil), tokenRequest(t, assertionForm(text), ""), usedOnce()); refused == nil ||
		refused.Status != 503 {
		t.Error(refused)
	}
}
