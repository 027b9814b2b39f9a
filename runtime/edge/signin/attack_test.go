package signin_test

import (
	"context"
	"html"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"hatchel/runtime/edge/auth/issuertest"
)

const inspector = "http://localhost:6274/oauth/callback"

// begun is a sign-in that a browser has begun: its consent page, and where the provider leads after Allow.
type begun struct {
	*program
	browser *browser
	consent *page
	back    string // the callback with state and code
}

// begin signs in up to the callback, which the browser does not ask for.
func (r *rig) begin(t *testing.T) *begun {
	t.Helper()
	s := &begun{program: r.program("inspector", inspector), browser: newBrowser(t)}
	s.consent = s.browser.send("GET", s.request(), nil)
	lead := r.allow(s.browser, s.consent)
	if lead.location == "" {
		t.Fatalf("Allow leads nowhere: %d %s", lead.status, lead.says())
	}
	s.back = newBrowser(t).send("GET", lead.location, nil).location
	return s
}

const beganElsewhere = "This sign-in was begun in another browser"

// TestConsentAndCallbackBelongToTheBrowserThatBegan is the confused deputy (CVE-2026-27124): a person who has consented in one
// browser does not get a code from the provider's answer in another one, and the other way round.
func TestConsentAndCallbackBelongToTheBrowserThatBegan(t *testing.T) {
	r := openRig(t, declared, "")
	attacker, victim := r.begin(t), r.begin(t)
	refused := func(what string, p *page) {
		t.Helper()
		if p.status != http.StatusForbidden || !strings.HasPrefix(p.says(), beganElsewhere) || p.location != "" {
			t.Errorf("%s: %d %q leads to %q", what, p.status, p.says(), p.location)
		}
	}
	send := func(b *browser, form string) *page {
		return b.send("POST", r.url+"/oauth/consent", url.Values{"form": {form}, "decision": {"allow"}})
	}
	refused("the form of the attacker in a browser without cookies", send(newBrowser(t), attacker.consent.form()))
	refused("the form of the attacker in the browser of the victim", send(victim.browser, attacker.consent.form()))
	refused("the answer to the attacker in a browser without cookies", newBrowser(t).send("GET", attacker.back, nil))
	refused("the answer to the attacker in the browser of the victim", victim.browser.send("GET", attacker.back, nil))
	back, err := url.Parse(victim.back)
	if err != nil {
		t.Fatal(err)
	}
	mixed := back.Query()
	stranger, err := url.Parse(attacker.back)
	if err != nil {
		t.Fatal(err)
	}
	mixed.Set("code", stranger.Query().Get("code"))
	p := victim.browser.send("GET", r.url+"/oauth/callback?"+mixed.Encode(), nil)
	if p.status != http.StatusForbidden || strings.Contains(p.location, "code=") {
		t.Errorf("the code of another sign-in at the provider: %d %q leads to %q", p.status, p.says(), p.location)
	}
	refused("the same answer again", victim.browser.send("GET", victim.back, nil))
	if records := r.records(); strings.Contains(strings.Join(records, "\n"), "consented") {
		t.Errorf("somebody has consented:\n%s", strings.Join(records, "\n"))
	}
	own := r.begin(t)
	if p := own.browser.send("GET", own.back, nil); !strings.Contains(p.location, "code=") {
		t.Errorf("the sign-in in one browser fails: %d %q", p.status, p.says())
	}
}

// TestATextOfOneStepIsNoneOfAnother sends a form as state and a state as form, and both changed in a character.
func TestATextOfOneStepIsNoneOfAnother(t *testing.T) {
	r := openRig(t, declared, "")
	s := r.begin(t)
	form := s.consent.form()
	state := mustQuery(t, s.back).Get("state")
	for what, p := range map[string]*page{
		"a state as form":  s.browser.send("POST", r.url+"/oauth/consent", url.Values{"form": {state}, "decision": {"allow"}}),
		"a form as state":  s.browser.send("GET", r.url+"/oauth/callback?code=x&state="+form, nil),
		"a changed form":   s.browser.send("POST", r.url+"/oauth/consent", url.Values{"form": {flip(form)}, "decision": {"allow"}}),
		"a changed state":  s.browser.send("GET", r.url+"/oauth/callback?code=x&state="+flip(state), nil),
		"a missing form":   s.browser.send("POST", r.url+"/oauth/consent", url.Values{"decision": {"allow"}}),
		"a missing state":  s.browser.send("GET", r.url+"/oauth/callback?code=x", nil),
		"two states":       s.browser.send("GET", r.url+"/oauth/callback?code=x&state="+state+"&state="+state, nil),
		"a form of others": r.allow(s.browser, &page{text: `name="form" value="AAAA"`}),
	} {
		if p.status < 400 || p.location != "" {
			t.Errorf("%s: %d leads to %q", what, p.status, p.location)
		}
	}
}

func mustQuery(t *testing.T, address string) url.Values {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return u.Query()
}

// flip changes the last but two character of a text.
func flip(text string) string {
	at := len(text) - 3
	c := byte('A')
	if text[at] == c {
		c = 'B'
	}
	return text[:at] + string(c) + text[at+1:]
}

// TestAFormOfAnotherSiteIsRefused posts the consent form as a page of another site does.
func TestAFormOfAnotherSiteIsRefused(t *testing.T) {
	r := openRig(t, declared, "")
	p := r.program("inspector", inspector)
	for _, site := range []string{"cross-site", "same-site", "none", "CROSS-SITE", "x"} {
		b := newBrowser(t)
		consent := b.send("GET", p.request(), nil)
		b.header.Set("Sec-Fetch-Site", site)
		if got := r.allow(b, consent); got.status != http.StatusForbidden || got.location != "" {
			t.Errorf("%s: %d leads to %q", site, got.status, got.location)
		}
		b.header.Set("Sec-Fetch-Site", "same-origin")
		if got := r.allow(b, consent); got.status != http.StatusOK || got.location == "" {
			t.Errorf("the own page: %d %q", got.status, got.says())
		}
	}
}

// TestPagesCannotBeFramedKeptOrScripted checks the headers of all pages.
func TestPagesCannotBeFramedKeptOrScripted(t *testing.T) {
	r := openRig(t, declared, "")
	s := r.begin(t)
	for what, p := range map[string]*page{
		"consent": s.consent, "lead": r.allow(s.browser, s.consent),
		"error": s.browser.send("GET", r.url+"/oauth/authorize?client_id=none", nil),
	} {
		policy := p.header.Get("Content-Security-Policy")
		for _, want := range []string{"default-src 'none'", "frame-ancestors 'none'", "form-action 'self'", "base-uri 'none'"} {
			if !strings.Contains(policy, want) {
				t.Errorf("%s: the policy lacks %s: %s", what, want, policy)
			}
		}
		if strings.Contains(policy, "script-src") || strings.Contains(policy, "unsafe") || strings.Contains(p.text, "<script") {
			t.Errorf("%s: the page has scripts, or its policy %s", what, policy)
		}
		for name, want := range map[string]string{
			"Cache-Control": "no-store", "Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff",
			"X-Frame-Options": "DENY", "Access-Control-Allow-Origin": "",
		} {
			if got := p.header.Get(name); got != want {
				t.Errorf("%s: %s is %q", what, name, got)
			}
		}
	}
}

// TestConsentIsAskedForEverySignIn signs in twice with one browser.
func TestConsentIsAskedForEverySignIn(t *testing.T) {
	r := openRig(t, declared, "")
	p, b := r.program("inspector", inspector), newBrowser(t)
	if end := p.authorize(b); !strings.Contains(end.location, "code=") {
		t.Fatalf("the first sign-in: %d %s", end.status, end.says())
	}
	if again := b.send("GET", p.request(), nil); again.form() == "" || again.location != "" {
		t.Errorf("the second sign-in: %d leads to %q", again.status, again.location)
	}
	if silent := b.send("GET", p.request("prompt", "none"), nil); mustQuery(t, silent.location).Get("error") != "consent_required" {
		t.Errorf("prompt=none leads to %q", silent.location)
	}
}

// TestNamesOfClientsAreTexts registers clients whose names are markup, or turn the direction of what follows.
func TestNamesOfClientsAreTexts(t *testing.T) {
	r := openRig(t, `register { redirects = ["loopback", "https://claude.ai", "cursor://anysphere.cursor-mcp"] }`, "")
	for name, want := range map[string]string{
		`<img src=x onerror=alert(1)>`: `<img src=x onerror=alert(1)>`,
		"Claude\u202e!edualC":          "U+202E",
		"Cla\u200bude":                 "U+200B",
		"two\nlines":                   "two",
	} {
		c := r.register(`{"client_name":` + quote(name) + `,"redirect_uris":["http://127.0.0.1/callback"]}`)
		p := newBrowser(t).send("GET", r.program(c.ID, loopback()).request(), nil)
		shown := p.text[strings.Index(p.text, "<main"):]
		if !strings.Contains(html.UnescapeString(shown), want) || strings.Contains(shown, name) {
			t.Errorf("the name %q is shown in\n%s", name, shown)
		}
		for _, said := range []string{"calls itself", "Nobody has checked this name", "a program on this computer"} {
			if !strings.Contains(p.text, said) {
				t.Errorf("the page does not say %q", said)
			}
		}
	}
}

// TestARedirectOfNobodyIsAPage asks with clients and addresses that are not registered: the browser is led nowhere.
func TestARedirectOfNobodyIsAPage(t *testing.T) {
	r := openRig(t, declared, "")
	p := r.program("inspector", inspector)
	for _, pairs := range [][]string{
		{"redirect_uri", "https://evil.example/callback"}, {"redirect_uri", inspector + "/x"},
		{"redirect_uri", "http://localhost:6274/oauth/../oauth/callback"}, {"redirect_uri", inspector + "#f"},
		{"redirect_uri", "http://localhost.evil.example:6274/oauth/callback"},
		{"redirect_uri", "http://u@localhost:6274/oauth/callback"}, {"redirect_uri", "javascript:alert(1)"},
		{"redirect_uri", "http://127.0.0.1:6274/oauth/callback"}, {"client_id", "console"},
		{"client_id", "nobody"}, {"client_id", "https://evil.example/client"}, {"client_id", ""},
	} {
		got := newBrowser(t).send("GET", p.request(pairs...), nil)
		if got.status != http.StatusBadRequest || got.location != "" || got.form() != "" || got.says() == "" {
			t.Errorf("%v: %d leads to %q", pairs, got.status, got.location)
		}
	}
	twice := newBrowser(t).send("GET", p.request()+"&redirect_uri=https%3A%2F%2Fevil.example%2F", nil)
	if twice.status != http.StatusBadRequest || twice.location != "" {
		t.Errorf("two redirect addresses: %d leads to %q", twice.status, twice.location)
	}
	if got := newBrowser(t).send("GET", p.request("redirect_uri", "http://localhost:1234/oauth/callback"), nil); got.form() == "" {
		t.Errorf("another port of this computer: %d %s", got.status, got.says())
	}
}

// TestOverHTTPSTheCookieBelongsToTheHostAlone serves an address behind a proxy: its name is one of the server by itself,
// other names are refused, and the cookie has the prefix with which no other host can set it.
func TestOverHTTPSTheCookieBelongsToTheHostAlone(t *testing.T) {
	r := openRig(t, declared, "")
	r.url = "https://tools.example"
	r.load(declared, "")
	address, err := url.Parse(r.program("inspector", inspector).request())
	if err != nil {
		t.Fatal(err)
	}
	ask := func(host string) *httptest.ResponseRecorder {
		q := httptest.NewRequestWithContext(t.Context(), "GET", address.RequestURI(), nil)
		local := &net.TCPAddr{IP: net.IPv4(192, 0, 2, 7), Port: 8080} // other machines reach it
		q = q.WithContext(context.WithValue(q.Context(), http.LocalAddrContextKey, local))
		q.Host, q.RemoteAddr = host, "192.0.2.1:4711"
		w := httptest.NewRecorder()
		r.server.ServeHTTP(w, q)
		return w
	}
	w := ask("tools.example")
	cookies := w.Result().Cookies()
	if w.Code != http.StatusOK || len(cookies) != 1 {
		t.Fatalf("%d with %d cookies: %s", w.Code, len(cookies), w.Body)
	}
	c := cookies[0]
	if !strings.HasPrefix(c.Name, "__Host-") || !c.Secure || !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path != "/" ||
		c.Domain != "" || c.MaxAge != 600 {
		t.Errorf("the cookie is %+v", c)
	}
	if w := ask("evil.example"); w.Code != http.StatusForbidden {
		t.Errorf("another name is answered with %d", w.Code)
	}
}

// TestABrowserMayBeginManySignIns begins more than its cookies have room for: the earlier ones end.
func TestABrowserMayBeginManySignIns(t *testing.T) {
	r := openRig(t, declared, "")
	p, b := r.program("inspector", inspector), newBrowser(t)
	var pages []*page
	for range 17 {
		pages = append(pages, b.send("GET", p.request(), nil))
	}
	at, err := url.Parse(r.url)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(b.Jar.Cookies(at)); n > 16 {
		t.Errorf("the browser has %d cookies", n)
	}
	if first := r.allow(b, pages[0]); first.status != http.StatusForbidden {
		t.Errorf("the first sign-in is answered with %d", first.status)
	}
	if last := r.allow(b, pages[16]); last.location == "" {
		t.Errorf("the last sign-in is answered with %d %s", last.status, last.says())
	}
}

// TestAnAnswerIsOfTheProviderThatWasAsked changes the provider while a person is there (mix-up): neither the answer of
// the former one nor a consent for it is good for the new one.
func TestAnAnswerIsOfTheProviderThatWasAsked(t *testing.T) {
	r := openRig(t, declared, "")
	s := r.begin(t)
	asked := len(r.provider.TokenRequests())
	former := r.provider
	r.provider = issuertest.OpenProvider(t, issuertest.ProviderClient{ID: "hatchel", Secret: clientSecret, Redirect: r.url + "/oauth/callback"})
	r.load(declared, "")
	for what, p := range map[string]*page{
		"the answer": s.browser.send("GET", s.back, nil), "the consent": r.allow(s.browser, s.consent),
	} {
		if p.status != http.StatusForbidden || p.location != "" || !strings.Contains(p.says(), "signs people in elsewhere") {
			t.Errorf("%s: %d %q leads to %q", what, p.status, p.says(), p.location)
		}
	}
	if len(former.TokenRequests()) != asked || len(r.provider.TokenRequests()) != 0 {
		t.Error("a provider has got a code")
	}
}
