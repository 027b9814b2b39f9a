package signin_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

const declared = `client "inspector" { redirects = ["http://localhost:6274/oauth/callback"] }
`

// TestAnAccessTokenEndsItsSignIn revokes by an access token, and sends what is no token.
func TestAnAccessTokenEndsItsSignIn(t *testing.T) {
	r := openRig(t, declared, "")
	p := r.program("inspector", "http://localhost:6274/oauth/callback")
	a, other := p.signIn(), p.signIn()
	if gone := r.post("/oauth/revoke", "token", flip(a.Access), "client_id", "inspector"); gone.status != http.StatusOK {
		t.Errorf("a token that is not valid is answered with %+v", gone)
	}
	r.mustCall(a.Access, "ada")
	if gone := r.post("/oauth/revoke", "token", a.Access, "token_type_hint", "refresh_token", "client_id", "inspector"); gone.status != http.StatusOK {
		t.Errorf("the revocation is answered with %+v", gone)
	}
	if status, _ := r.call("/mcp", a.Access); status != http.StatusUnauthorized {
		t.Errorf("the token is answered with %d", status)
	}
	if next := p.refresh(a.Refresh); next.Error != "invalid_grant" {
		t.Errorf("its refresh token gives %+v", next)
	}
	r.mustCall(other.Access, "ada")
	r.load(declared+`group_names = { finance = "money" }`, "")
	if gone := r.post("/oauth/revoke", "token", other.Access, "client_id", "inspector"); gone.status != http.StatusOK {
		t.Errorf("after a reload the revocation is answered with %+v", gone)
	}
	if next := p.refresh(other.Refresh); next.Error != "invalid_grant" {
		t.Errorf("after a reload the refresh token of a sign-in that has ended gives %+v", next)
	}
}

// deadlines is a response that notes until when its request may be read.
type deadlines struct {
	*httptest.ResponseRecorder
	set []time.Time
}

func (d *deadlines) SetReadDeadline(at time.Time) error {
	d.set = append(d.set, at)
	return nil
}

// TestARequestThatWasReadMayWait looks at the deadlines of connections: one that stays would end a request while it
// waits for the provider.
func TestARequestThatWasReadMayWait(t *testing.T) {
	r := openRig(t, declared+`register { redirects = ["loopback"] }`, "")
	for path, body := range map[string]string{"/oauth/token": "grant_type=x", "/oauth/register": "{}", "/oauth/consent": "form=x"} {
		q := httptest.NewRequestWithContext(t.Context(), "POST", path, strings.NewReader(body))
		q.Host = "127.0.0.1"
		q.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		w := &deadlines{ResponseRecorder: httptest.NewRecorder()}
		r.server.ServeHTTP(w, q)
		if len(w.set) != 2 || w.set[0].IsZero() || !w.set[1].IsZero() {
			t.Errorf("%s: the deadlines are %v", path, w.set)
		}
	}
}

// TestAPersonSignsInWithAProgramThatThenCallsTools goes the whole way: consent, provider, callback, tokens, call,
// refresh, revocation.
func TestAPersonSignsInWithAProgramThatThenCallsTools(t *testing.T) {
	r := openRig(t, declared, "")
	p := r.program("inspector", "http://localhost:6274/oauth/callback")
	first := p.signIn()
	if first.Seconds < 590 || first.Seconds > 600 || first.Refresh == "" {
		t.Errorf("the first tokens are %+v", first)
	}
	if store := first.header.Get("Cache-Control"); store != "no-store" {
		t.Errorf("the tokens may be cached: %q", store)
	}
	r.mustCall(first.Access, "ada of finance")
	next := p.refresh(first.Refresh)
	if next.status != http.StatusOK || next.Refresh == first.Refresh {
		t.Fatalf("the refresh gives %+v", next)
	}
	r.mustCall(next.Access, "ada of finance")
	if again := p.refresh(first.Refresh); again.Refresh != next.Refresh {
		t.Errorf("the same token gives another one: %+v", again)
	}
	if a := r.post("/oauth/revoke", "token", next.Refresh, "client_id", "inspector"); a.status != http.StatusOK {
		t.Errorf("the revocation is answered with %+v", a)
	}
	if status, _ := r.call("/mcp", next.Access); status != http.StatusUnauthorized {
		t.Errorf("a token of a revoked sign-in is answered with %d", status)
	}
	if a := p.refresh(next.Refresh); a.Error != "invalid_grant" {
		t.Errorf("the refresh token of a revoked sign-in gives %+v", a)
	}
	want := []string{
		"consented inspector ada default", "refreshed inspector ada default", "refreshed inspector ada default",
		"revoked inspector ada ",
	}
	if got := r.records(); !slices.Equal(got, want) {
		t.Errorf("the audit log has\n%s", strings.Join(got, "\n"))
	}
}

// TestTheHomePageNeedsNoKey reads the page at / of a server where people sign in.
func TestTheHomePageNeedsNoKey(t *testing.T) {
	r := openRig(t, declared, "")
	b := newBrowser(t)
	b.header.Set("Accept", "text/html")
	text := b.send("GET", r.url+"/", nil).text
	for _, want := range []string{`id="sign-in"`, `<code id="endpoint">` + r.url + "/mcp</code>", strings.TrimPrefix(r.provider.URL, "http://")} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "HATCHEL_KEY") {
		t.Errorf("the page asks for a key:\n%s", text)
	}
}
