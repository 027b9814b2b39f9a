package auth_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"hatchel/hcl"
	"hatchel/runtime/auth"
	"hatchel/runtime/auth/issuertest"
)

func TestKeyRotation(t *testing.T) {
	i := issuertest.Open(t)
	source := trusting(i)
	c, clock := knowing(t, &hcl.Auth{Issuers: []*hcl.JWT{&source}})
	before := i.Token(audience, nil)
	if _, refused := asked(c, bearer(before)); refused != "" {
		t.Fatal(refused)
	}
	i.Serve(issuertest.NewKey(t, "second", "RS256"))
	if _, refused := asked(c, bearer(i.Token(audience, nil))); refused != "" {
		t.Errorf("the new key: %s", refused)
	}
	if _, refused := asked(c, bearer(before)); refused == "" {
		t.Error("the key that was taken back is taken")
	}
	i.Serve(issuertest.NewKey(t, "third", "RS256"))
	clock.advance(16 * time.Minute)
	if _, refused := asked(c, bearer(i.Token(audience, map[string]any{"exp": clock.now().Add(time.Hour).Unix()}))); refused != "" {
		t.Errorf("the key after a while: %s", refused)
	}
}

func TestRefreshForUnknownKeysIsLimited(t *testing.T) {
	i := issuertest.Open(t)
	source := trusting(i)
	c, clock := knowing(t, &hcl.Auth{Issuers: []*hcl.JWT{&source}})
	flood := func() {
		for n := range 100 {
			key := i.Key()
			key.ID = fmt.Sprint("unknown ", n)
			if got, _ := asked(c, bearer(issuertest.Sign(t, key, i.Claims(audience, nil)))); got != nil {
				t.Error("it is taken")
			}
		}
	}
	flood()
	if n := i.Asked("/keys"); n > 4 {
		t.Errorf("the issuer was asked %d times", n)
	}
	clock.advance(10 * time.Second)
	flood()
	if n := i.Asked("/keys"); n > 5 {
		t.Errorf("the issuer was asked %d times", n)
	}
	if _, refused := asked(c, bearer(i.Token(audience, nil))); refused != "" {
		t.Errorf("who has a good token is refused: %s", refused)
	}
}

func TestConcurrentCallersShareARefresh(t *testing.T) {
	i := issuertest.Open(t)
	source := trusting(i)
	c, _ := knowing(t, &hcl.Auth{Issuers: []*hcl.JWT{&source}})
	token, release := i.Token(audience, nil), i.Hold()
	var all, begun sync.WaitGroup
	for range 50 {
		begun.Add(1)
		all.Go(func() {
			begun.Done()
			if _, refused := asked(c, bearer(token)); refused != "" {
				t.Error(refused)
			}
		})
	}
	begun.Wait()
	release()
	all.Wait()
	if n := i.Asked("/keys"); n > 2 {
		t.Errorf("the issuer was asked %d times", n)
	}
}

func TestUnavailableIssuer(t *testing.T) {
	i := issuertest.Open(t)
	source := trusting(i)
	c, clock := knowing(t, &hcl.Auth{Issuers: []*hcl.JWT{&source}})
	i.Fail(http.StatusInternalServerError)
	if got, refused := asked(c, bearer(i.Token(audience, nil))); got != nil || refused != "503 5" {
		t.Errorf("%v, %s", got, refused)
	}
	if diags := c.Probe(t.Context()); len(diags) != 1 || !strings.Contains(diags[0].Detail, "status 500") {
		t.Errorf("%v", diags)
	}
	i.Fail(0)
	if got, refused := asked(c, bearer(i.Token(audience, nil))); got == nil {
		t.Fatal(refused)
	}
	i.Fail(http.StatusInternalServerError)
	forever := map[string]any{"exp": time.Now().Add(100 * time.Hour).Unix()}
	clock.advance(30 * time.Minute)
	if _, refused := asked(c, bearer(i.Token(audience, forever))); refused != "" {
		t.Errorf("while its keys are not old: %s", refused)
	}
	clock.advance(2 * time.Hour)
	if _, refused := asked(c, bearer(i.Token(audience, forever))); refused != "503 5" {
		t.Errorf("when its keys are old: %s", refused)
	}
}

func TestHangingIssuerDelaysNoKnownKey(t *testing.T) {
	i := issuertest.Open(t)
	source := trusting(i)
	source.JWKS = i.URL + "/keys"
	c, clock := knowing(t, &hcl.Auth{Issuers: []*hcl.JWT{&source}})
	if _, refused := asked(c, bearer(i.Token(audience, nil))); refused != "" {
		t.Fatal(refused)
	}
	before, release := i.Asked("/keys"), i.Hold()
	defer release()
	clock.advance(20 * time.Minute)
	token := i.Token(audience, map[string]any{"exp": clock.now().Add(time.Hour).Unix()})
	for range 20 {
		if _, refused := asked(c, bearer(token)); refused != "" {
			t.Fatal(refused)
		}
	}
	if n := i.Asked("/keys") - before; n > 2 {
		t.Errorf("%d attempts were waited for until they failed", n)
	}
}

func TestReleaseCancelsRefresh(t *testing.T) {
	i := issuertest.Open(t)
	source := trusting(i)
	source.JWKS = i.URL + "/keys"
	var undo []func() error
	c := new(clock)
	options := options(t, c)
	options.Defer = func(f func() error) { undo = append(undo, f) }
	callers := auth.New(&hcl.Auth{Issuers: []*hcl.JWT{&source}}, options)
	release := i.Hold()
	defer release()
	ended := make(chan string, 1)
	go func() {
		_, refused := asked(callers, bearer(i.Token(audience, nil)))
		ended <- refused
	}()
	for i.Asked("/keys") == 0 {
		runtime.Gosched()
	}
	for _, f := range undo {
		if err := f(); err != nil {
			t.Error(err)
		}
	}
	if refused := <-ended; refused != "503 5" {
		t.Errorf("%q", refused)
	}
}

func TestUnusableKeysAreSkipped(t *testing.T) {
	i := issuertest.Open(t)
	for what, raw := range map[string]string{
		"an empty body": ``, "no object": `[]`, "no keys": `{"keys":[]}`, "a symmetric key": `{"keys":[{"kty":"oct","kid":"first","k":"c2VjcmV0"}]}`,
		"too large a body": `{"keys":["` + strings.Repeat("x", 2<<20) + `"]}`,
		"unknown types":    `{"keys":[1,{"kty":"later"},{"kty":"RSA","kid":"first","n":"AQAB","e":"AQAB"}]}`,
	} {
		t.Run(what, func(t *testing.T) {
			i.ServeRaw([]byte(raw))
			source := trusting(i)
			c, _ := knowing(t, &hcl.Auth{Issuers: []*hcl.JWT{&source}})
			if got, refused := asked(c, bearer(i.Token(audience, nil))); got != nil || strings.HasPrefix(refused, "200") {
				t.Errorf("identity %v, refusal %s", got, refused)
			}
		})
	}
}

func TestDiscovery(t *testing.T) {
	i := issuertest.Open(t)
	for _, path := range []string{"/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"} {
		i.DescribeAt(path)
		source := trusting(i)
		c, _ := knowing(t, &hcl.Auth{Issuers: []*hcl.JWT{&source}})
		if diags := c.Probe(t.Context()); diags != nil {
			t.Errorf("%s: %v", path, diags)
		}
	}
	pretender := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"issuer":"https://id.example","jwks_uri":"%s/keys"}`, i.URL)
	}))
	defer pretender.Close()
	c, _ := knowing(t, &hcl.Auth{Issuers: []*hcl.JWT{{Issuer: pretender.URL, Audience: audience, Algorithms: []string{"RS256"}}}})
	if diags := c.Probe(t.Context()); len(diags) != 1 || !strings.Contains(diags[0].Detail, "another issuer") {
		t.Errorf("%v", diags)
	}
	i.DescribeAt("/nowhere")
	source := trusting(i)
	source.JWKS = i.URL + "/keys"
	if c, _ = knowing(t, &hcl.Auth{Issuers: []*hcl.JWT{&source}}); c.Probe(t.Context()) != nil {
		t.Error("keys whose address is declared are looked for elsewhere")
	}
}

func TestReloadKeepsKeysOfUnchangedIssuer(t *testing.T) {
	i := issuertest.Open(t)
	source, clock := trusting(i), new(clock)
	o := options(t, clock)
	first := auth.New(&hcl.Auth{Issuers: []*hcl.JWT{&source}}, o)
	who, _ := asked(first, bearer(i.Token(audience, nil)))
	stricter := source
	stricter.RequiredScopes = []string{"tools"}
	second, third := auth.New(&hcl.Auth{Issuers: []*hcl.JWT{&source}}, o), auth.New(&hcl.Auth{Issuers: []*hcl.JWT{&stricter}}, o)
	asked(second, bearer(i.Token(audience, nil)))
	if n := i.Asked("/keys"); n != 1 {
		t.Errorf("it was asked %d times", n)
	}
	if !second.Stands(who) || third.Stands(who) {
		t.Errorf("who was known stands where nothing has changed: %t, and where tokens take more: %t", second.Stands(who), third.Stands(who))
	}
}
