package server

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"hatchel/runtime/durable/grant"
)

const bobsSignInKey = "key-of-bob-0123456789"

// signInAuth lets ann and bob in with keys, and others at a provider that is not asked.
var signInAuth = fmt.Sprintf(`
auth {
  api_key "ann" {
    sha256 = "%x"
    groups = ["admin"]
  }
  api_key "bob" { sha256 = "%x" }
  sign_in {
    url            = "https://tools.example"
    provider       = "https://provider.example"
    client_id      = "hatchel"
    assertion_file = "/run/token-of-hatchel"
  }
}
`, sha256.Sum256([]byte(namedKey)), sha256.Sum256([]byte(bobsSignInKey)))

// startSignIn stores a sign-in of a caller with an API key.
func startSignIn(s *namedServer, name string) string {
	s.t.Helper()
	grants, err := s.Host.Operator().State.Grants(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	g := &grant.Grant{
		ID: grant.NewID(), Subject: name, Key: name, Client: "https://claude.ai/metadata", ClientKind: grant.Document,
		Began: time.Now(), Ends: time.Now().Add(time.Hour),
	}
	if err := grants.Start(s.t.Context(), g); err != nil {
		s.t.Fatal(err)
	}
	return g.ID
}

func TestCallersListAndEndTheirSignInsOverHTTP(t *testing.T) {
	s := serveNamed(t, atLoopback, signInAuth+namedTools)
	ofAnn, ofBob, second := startSignIn(s, "ann"), startSignIn(s, "bob"), startSignIn(s, "bob")
	web := httptest.NewServer(s.Server)
	defer web.Close()
	ann, bob := NewClient(web.URL, namedKey, "test"), NewClient(web.URL, bobsSignInKey, "test")
	defer ann.Close()
	defer bob.Close()
	ids := func(c *Client, q grant.Query) (out string) {
		t.Helper()
		for {
			page, next, err := c.ListSignIns(t.Context(), q)
			if err != nil || len(page) > q.Limit {
				t.Fatal(len(page), err)
			}
			for _, found := range page {
				out += found.ID + " "
			}
			if q.After = next; next == "" {
				return out
			}
		}
	}
	if got := ids(ann, grant.Query{Limit: 2}); !strings.Contains(got, ofAnn) || !strings.Contains(got, ofBob) || !strings.Contains(got, second) {
		t.Errorf("an admin sees %s", got)
	}
	if got := ids(bob, grant.Query{Limit: 1}); strings.Contains(got, ofAnn) || !strings.Contains(got, ofBob) || !strings.Contains(got, second) {
		t.Errorf("bob sees %s", got)
	}
	if got := ids(bob, grant.Query{Limit: 1, Filter: grant.Filter{Subject: "ann"}}); got != "" {
		t.Errorf("bob sees of ann %s", got)
	}
	if got := ids(ann, grant.Query{Limit: 9, Filter: grant.Filter{Subject: "ann", Client: "claude.ai"}}); got != ofAnn+" " {
		t.Errorf("of ann: %s", got)
	}
	if _, err := bob.EndSignIn(t.Context(), ofAnn); !errors.Is(err, grant.ErrNotFound) {
		t.Errorf("bob ends that of ann: %v", err)
	}
	ended, err := bob.EndSignIn(t.Context(), ofBob)
	if err != nil || ended.ID != ofBob || ended.Client.Title() != "claude.ai" {
		t.Errorf("bob ends his: %+v, %v", ended, err)
	}
	if _, err := bob.EndSignIn(t.Context(), ofBob); !errors.Is(err, grant.ErrNotFound) {
		t.Errorf("a second time: %v", err)
	}
	if _, err := ann.EndSignIn(t.Context(), second); err != nil {
		t.Errorf("an admin ends that of bob: %v", err)
	}
	for _, c := range []struct {
		method, path, key string
		status            int
	}{
		{"GET", "/sign-ins", "", 401},
		{"POST", "/sign-ins", namedKey, 405},
		{"GET", "/sign-ins?limit=0", namedKey, 422},
		{"GET", "/sign-ins?limit=1001", namedKey, 422},
		{"GET", "/sign-ins?after=x", namedKey, 422},
		{"GET", "/sign-ins?other=x", namedKey, 422},
		{"GET", "/sign-ins/", namedKey, 404},
		{"GET", "/sign-ins/" + ofAnn, namedKey, 200},
		{"GET", "/sign-ins/" + ofAnn, bobsSignInKey, 404},
		{"GET", "/sign-ins/" + ofAnn + "/revoke", namedKey, 405},
		{"POST", "/sign-ins/" + ofAnn + "/other", namedKey, 404},
		{"DELETE", "/sign-ins/" + ofAnn, namedKey, 405},
	} {
		r := httptest.NewRequest(c.method, c.path, nil)
		r.Host = "localhost"
		if c.key != "" {
			r.Header.Set("Authorization", "Bearer "+c.key)
		}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if w.Code != c.status {
			t.Errorf("%s %s: %d, not %d: %s", c.method, c.path, w.Code, c.status, w.Body)
		}
	}
	foreign := httptest.NewRequest("POST", "/sign-ins/"+ofAnn+"/revoke", nil)
	foreign.Host = "localhost"
	foreign.Header.Set("Authorization", "Bearer "+namedKey)
	foreign.Header.Set("Origin", "https://evil.example")
	w := httptest.NewRecorder()
	if s.ServeHTTP(w, foreign); w.Code != http.StatusForbidden {
		t.Errorf("of a page of another site: %d %s", w.Code, w.Body)
	}
}

func TestWithoutASignInBlockTheServerSaysThatThereAreNoSignIns(t *testing.T) {
	s := serveNamed(t, atLoopback, namedAuth+namedTools)
	web := httptest.NewServer(s.Server)
	defer web.Close()
	ann := NewClient(web.URL, namedKey, "test")
	defer ann.Close()
	_, _, err := ann.ListSignIns(t.Context(), grant.Query{Limit: 1})
	if err == nil || !strings.Contains(err.Error(), "no sign_in block") {
		t.Error(err)
	}
}
