package auth_test

import (
	"compress/zlib"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"hatchel/hcl"
	"hatchel/runtime/edge/auth"
	"hatchel/runtime/edge/auth/issuertest"
)

func TestKeyRotation(t *testing.T) {
	i := issuertest.Open(t)
	c, clock := authenticatorFor(t, trusting(i))
	old := i.Token(audience, nil)
	accept(t, c, bearer(old))
	i.Serve(issuertest.NewKey(t, "second", "RS256"))
	t.Run("a new key is loaded when a token names it", func(t *testing.T) {
		accept(t, c, bearer(i.Token(audience, nil)))
	})
	t.Run("a withdrawn key is refused", func(t *testing.T) { refuse(t, c, bearer(old), "401") })
	t.Run("keys are loaded again after a while", func(t *testing.T) {
		i.Serve(issuertest.NewKey(t, "third", "RS256"))
		clock.advance(16 * time.Minute)
		accept(t, c, bearer(i.Token(audience, map[string]any{"exp": clock.now().Add(time.Hour).Unix()})))
	})
}

func TestRefreshForUnknownKeysIsLimited(t *testing.T) {
	i := issuertest.Open(t)
	c, clock := authenticatorFor(t, trusting(i))
	flood := func() (requests int) {
		for n := range 100 {
			key := i.Key()
			key.ID = fmt.Sprint("unknown ", n)
			refuse(t, c, bearer(issuertest.Sign(t, key, i.Claims(audience, nil))), "401")
		}
		return i.Requests("/keys")
	}
	if n := flood(); n > 4 {
		t.Errorf("%d requests to the issuer", n)
	}
	clock.advance(10 * time.Second)
	if n := flood(); n > 5 {
		t.Errorf("%d requests to the issuer after 10 seconds", n)
	}
	accept(t, c, bearer(i.Token(audience, nil)))
}

func TestConcurrentCallersShareARefresh(t *testing.T) {
	i := issuertest.Open(t)
	c, _ := authenticatorFor(t, trusting(i))
	token, release := i.Token(audience, nil), i.Hold()
	var all, begun sync.WaitGroup
	for range 50 {
		begun.Add(1)
		all.Go(func() {
			begun.Done()
			if _, refusal := identify(c, bearer(token)); refusal != "" {
				t.Error(refusal)
			}
		})
	}
	begun.Wait()
	release()
	all.Wait()
	if n := i.Requests("/keys"); n > 2 {
		t.Errorf("%d requests to the issuer", n)
	}
}

func TestUnavailableIssuer(t *testing.T) {
	i := issuertest.Open(t)
	c, clock := authenticatorFor(t, trusting(i))
	token := i.Token(audience, map[string]any{"exp": time.Now().Add(100 * time.Hour).Unix()})
	i.Fail(http.StatusInternalServerError)
	t.Run("no token is accepted before the keys are loaded", func(t *testing.T) {
		refuse(t, c, bearer(token), "503 5")
	})
	t.Run("Probe reports it", func(t *testing.T) {
		if diags := c.Probe(t.Context()); len(diags) != 1 || !strings.Contains(diags[0].Detail, "status 500") {
			t.Errorf("%v", diags)
		}
	})
	i.Fail(0)
	accept(t, c, bearer(token))
	i.Fail(http.StatusInternalServerError)
	t.Run("loaded keys are used for a while", func(t *testing.T) {
		clock.advance(30 * time.Minute)
		accept(t, c, bearer(token))
	})
	t.Run("old keys are not used", func(t *testing.T) {
		clock.advance(2 * time.Hour)
		refuse(t, c, bearer(token), "503 5")
	})
}

func TestHangingIssuerDelaysNoKnownKey(t *testing.T) {
	i := issuertest.Open(t)
	declared := trusting(i)
	declared.JWKS = i.URL + "/keys"
	c, clock := authenticatorFor(t, declared)
	accept(t, c, bearer(i.Token(audience, nil)))
	before, release := i.Requests("/keys"), i.Hold()
	defer release()
	clock.advance(20 * time.Minute)
	token := i.Token(audience, map[string]any{"exp": clock.now().Add(time.Hour).Unix()})
	for range 20 {
		accept(t, c, bearer(token))
	}
	if n := i.Requests("/keys") - before; n > 2 {
		t.Errorf("callers waited for %d requests until they failed", n)
	}
}

func TestReleaseCancelsRefresh(t *testing.T) {
	i := issuertest.Open(t)
	declared := trusting(i)
	declared.JWKS = i.URL + "/keys"
	var release []func() error
	options := options(t, new(clock))
	options.Defer = func(f func() error) { release = append(release, f) }
	c := auth.New(t.Context(), &hcl.Auth{Issuers: []*hcl.JWT{&declared}}, options)
	defer i.Hold()()
	ended := make(chan string, 1)
	go func() {
		_, refusal := identify(c, bearer(i.Token(audience, nil)))
		ended <- refusal
	}()
	for i.Requests("/keys") == 0 {
		runtime.Gosched()
	}
	for _, f := range release {
		if err := f(); err != nil {
			t.Error(err)
		}
	}
	if refusal := <-ended; refusal != "503 5" {
		t.Errorf("%q", refusal)
	}
}

func TestUnusableKeysAreSkipped(t *testing.T) {
	i := issuertest.Open(t)
	for name, raw := range map[string]string{
		"an empty body":    ``,
		"no object":        `[]`,
		"no keys":          `{"keys":[]}`,
		"a symmetric key":  `{"keys":[{"kty":"oct","kid":"first","k":"c2VjcmV0"}]}`,
		"too large a body": `{"keys":["` + strings.Repeat("x", 2<<20) + `"]}`,
		"unknown types":    `{"keys":[1,{"kty":"later"},{"kty":"RSA","kid":"first","n":"AQAB","e":"AQAB"}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			i.ServeRaw([]byte(raw))
			c, _ := authenticatorFor(t, trusting(i))
			if got, _ := identify(c, bearer(i.Token(audience, nil))); got != nil {
				t.Errorf("identity %v", got)
			}
		})
	}
}

func TestCertificatesOfKeysAreNotRead(t *testing.T) {
	i := issuertest.Open(t)
	public, err := json.Marshal(jose.JSONWebKey{Key: i.Key().Private.Public(), KeyID: i.Key().ID})
	if err != nil {
		t.Fatal(err)
	}
	const certificate = `,"x5c":["AAAA"],"x5t":"AA","x5t#S256":7,"x5u":"%"}`
	i.ServeRaw([]byte(`{"keys":[` + strings.TrimSuffix(string(public), "}") + certificate + `]}`))
	c, _ := authenticatorFor(t, trusting(i))
	accept(t, c, bearer(i.Token(audience, nil)))
}

func TestDiscovery(t *testing.T) {
	i := issuertest.Open(t)
	for _, path := range []string{"/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"} {
		t.Run("finds the metadata at "+path, func(t *testing.T) {
			i.DescribeAt(path)
			c, _ := authenticatorFor(t, trusting(i))
			if diags := c.Probe(t.Context()); diags != nil {
				t.Errorf("%v", diags)
			}
		})
	}
	t.Run("rejects metadata of another issuer", func(t *testing.T) {
		other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprintf(w, `{"issuer":"https://id.example","jwks_uri":"%s/keys"}`, i.URL)
		}))
		defer other.Close()
		c, _ := authenticatorFor(t, hcl.JWT{Issuer: other.URL, Audience: audience, Algorithms: []string{"RS256"}})
		if diags := c.Probe(t.Context()); len(diags) != 1 || !strings.Contains(diags[0].Detail, "another issuer") {
			t.Errorf("%v", diags)
		}
	})
	t.Run("reads keys that are compressed and have a byte order mark", func(t *testing.T) {
		compressing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			resp, err := http.Get(i.URL + r.URL.Path)
			if err != nil {
				t.Error(err)
				return
			}
			defer resp.Body.Close()
			w.Header().Set("Content-Encoding", "deflate")
			z := zlib.NewWriter(w)
			io.WriteString(z, "\ufeff")
			io.Copy(z, resp.Body)
			z.Close()
		}))
		defer compressing.Close()
		declared := trusting(i)
		declared.JWKS = compressing.URL + "/keys"
		if c, _ := authenticatorFor(t, declared); c.Probe(t.Context()) != nil {
			t.Error("the keys are not read")
		}
	})
	t.Run("is not used when the URL of the keys is declared", func(t *testing.T) {
		i.DescribeAt("/nowhere")
		declared := trusting(i)
		declared.JWKS = i.URL + "/keys"
		if c, _ := authenticatorFor(t, declared); c.Probe(t.Context()) != nil {
			t.Error("the keys are searched elsewhere")
		}
	})
}

func TestReload(t *testing.T) {
	i := issuertest.Open(t)
	declared, o := trusting(i), options(t, new(clock))
	stricter := declared
	stricter.RequiredScopes = []string{"tools"}
	withIssuer := func(j *hcl.JWT) *auth.Authenticator {
		return auth.New(t.Context(), &hcl.Auth{Issuers: []*hcl.JWT{j}}, o)
	}
	identity := accept(t, withIssuer(&declared), bearer(i.Token(audience, nil)))
	t.Run("keeps the keys of an unchanged issuer", func(t *testing.T) {
		accept(t, withIssuer(&declared), bearer(i.Token(audience, nil)))
		if n := i.Requests("/keys"); n != 1 {
			t.Errorf("%d requests to the issuer", n)
		}
	})
	t.Run("keeps the identities of an unchanged issuer", func(t *testing.T) {
		if !withIssuer(&declared).StillValid(identity) {
			t.Error("the identity is not valid any more")
		}
	})
	t.Run("ends the identities of a changed issuer", func(t *testing.T) {
		if withIssuer(&stricter).StillValid(identity) {
			t.Error("the identity is still valid")
		}
	})
}
