package examples_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"hatchel/runtime/edge/auth/issuertest"
)

// signInBrowser is a browser in front of a server whose people sign in at a provider of npm.
type signInBrowser struct {
	*browser
	issuer  string
	program *httptest.Server // what a program on the person's machine answers with
	answers chan url.Values  // that the program has got
}

// openSignIn serves tools for people who sign in, and opens a browser.
func openSignIn(t *testing.T) *signInBrowser {
	t.Helper()
	needs(t, "HATCHEL_TEST_CHROMIUM")
	s := &signInBrowser{answers: make(chan url.Values, 10)}
	s.program = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/callback" {
			s.answers <- r.URL.Query()
		}
		w.Header().Set("Content-Type", "text/html")
		w.Write([]byte("<!doctype html><html lang=en><link rel=icon href=data:,><title>Program</title><p>The program goes on."))
	}))
	t.Cleanup(s.program.Close)
	listen := freeAddress(t)
	origin := "http://" + listen
	s.issuer = issuertest.OpenNPM(t, []any{map[string]any{
		"client_id": "hatchel", "client_secret": "the secret of the server", "redirect_uris": []string{origin + "/oauth/callback"},
		"grant_types": []string{"authorization_code", "refresh_token"},
	}}, issuertest.NPMSettings{Form: true}).URL
	f := &folder{t: t, path: t.TempDir(), env: []string{"PROVIDER=the secret of the server"}}
	f.args = []string{"--state", f.file("state.db")}
	f.write("main.hcl", `
secret "provider" { env = "PROVIDER" }
server { title = "Orders" }
auth {
  sign_in {
    url           = "`+origin+`"
    provider      = "`+s.issuer+`"
    client_id     = "hatchel"
    client_secret = secret.provider
    client "loop" { redirects = ["http://127.0.0.1/callback"] }
    client "cursor" { redirects = ["cursor://anysphere.cursor-mcp/oauth/callback"] }
    scope "orders:refund" { description = "Refund orders in your name" }
  }
}
console { allow = "'finance' in caller.groups" }
tool "who" {
  description = "Who calls."
  text        = caller.subject
}
`)
	f.serve("--listen", listen)
	s.browser = openBrowser(t, origin)
	return s
}

// request returns the address of a request for authorization.
func (s *signInBrowser) request(client, redirect string) string {
	return "/oauth/authorize?" + url.Values{
		"response_type": {"code"}, "client_id": {client}, "redirect_uri": {redirect}, "state": {"the state"},
		"code_challenge": {"E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"}, "code_challenge_method": {"S256"},
		"scope": {"orders:refund"},
	}.Encode()
}

// expect drops the requests to hosts that a sign-in leads to.
func (s *signInBrowser) expect(origins ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.foreign = slices.DeleteFunc(s.foreign, func(address string) bool {
		return slices.ContainsFunc(origins, func(o string) bool { return strings.HasPrefix(address, o) })
	})
}

// signIn signs in at the provider.
func (s *signInBrowser) signIn() {
	s.t.Helper()
	s.await(`document.title === "Sign in to the provider"`)
	s.do(chromedp.SendKeys(`input[name="login"]`, "ada\r"))
}

// forgetPerson removes the session at the provider, and all other cookies.
func (s *signInBrowser) forgetPerson() {
	s.t.Helper()
	s.do(chromedp.Func(func(ctx context.Context, tab *chromedp.Target) error {
		_, err := cdp.Call(ctx, tab, network.ClearBrowserCookies, cdp.Empty{})
		return err
	}))
}

// TestPeopleSignInWithABrowser goes from the consent page over the provider to programs, in both colours and widths, and
// to the console.
func TestPeopleSignInWithABrowser(t *testing.T) {
	t.Parallel()
	s := openSignIn(t)
	for _, width := range []int64{380, 1100} {
		s.do(chromedp.EmulateViewport(width, 720))
		s.forgetPerson()
		s.open(s.request("loop", s.program.URL+"/callback"))
		text := s.text()
		for _, want := range []string{"Let this program use Orders in your name?", "a program on this computer", "Refund orders in your name"} {
			if !strings.Contains(text, want) {
				t.Errorf("the consent page does not say %q:\n%s", want, text)
			}
		}
		s.checkAccessible("the consent page")
		if wide := eval[int64](s.browser, `document.documentElement.scrollWidth`); wide > width {
			t.Errorf("the consent page is %d wide in a window of %d", wide, width)
		}
		s.do(chromedp.Click("#allow"))
		s.signIn()
		s.await(`document.title === "Program"`)
		answer := <-s.answers
		if answer.Get("code") == "" || answer.Get("state") != "the state" || answer.Get("iss") != s.origin {
			t.Errorf("the program gets %v", answer)
		}
	}

	s.open(s.request("loop", s.program.URL+"/callback"))
	s.do(chromedp.Click("#deny"))
	s.await(`document.title === "Program"`)
	if answer := <-s.answers; answer.Get("error") != "access_denied" || answer.Get("state") != "the state" {
		t.Errorf("after Deny the program gets %v", answer)
	}

	s.forgetPerson()
	s.open(s.request("cursor", "cursor://anysphere.cursor-mcp/oauth/callback"))
	s.do(chromedp.Click("#allow"))
	s.signIn()
	s.await(`document.querySelector("#continue")?.href.startsWith("cursor://")`)
	if at := eval[string](s.browser, `document.querySelector("#continue").href`); !strings.Contains(at, "code=") {
		t.Errorf("the page leads to %s", at)
	}
	s.checkAccessible("the page that opens a program")

	s.open("/oauth/callback?state=x&code=y")
	if text := s.text(); !strings.Contains(text, "This sign-in was begun in another browser") {
		t.Errorf("the page of an error says\n%s", text)
	}
	s.forget("the server responded with a status of 403")
	s.checkAccessible("the page of an error")

	s.forgetPerson()
	s.open("/console/tools")
	s.do(chromedp.Click("#provider-form button"))
	s.signIn()
	s.await(`location.pathname === "/console/tools"`)
	if who := eval[string](s.browser, `document.querySelector("#who").textContent`); who != "ada" {
		t.Errorf("%q is signed in to the console", who)
	}
	s.expect(s.issuer, s.program.URL, "cursor://")
}
