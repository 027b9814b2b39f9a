package examples_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"hatchel/internal/persontest"
	"hatchel/runtime/durable/grant"
	"hatchel/runtime/durable/state"
	"hatchel/runtime/edge/auth/issuertest"
)

// providerConsole serves a console that people sign in to at a provider, and returns its address.
func providerConsole(t *testing.T, block string) (f *folder, origin string) {
	t.Helper()
	const secret = "k7Wd0aVQmT2cXe9RzB4uNhLs"
	provider := issuertest.OpenProvider(t, issuertest.ProviderClient{ID: "hatchel", Secret: secret})
	provider.SignIn(issuertest.Person{Subject: "ada", Groups: []string{"admin"}})
	listen := freeAddress(t)
	origin = "http://" + listen
	provider.SetRedirect(origin + "/oauth/callback")
	f = &folder{t: t, path: t.TempDir(), env: []string{"CLIENT_SECRET=" + secret}}
	f.args = []string{"--state", f.file("state.db"), "--listen", listen}
	f.write("main.hcl", fmt.Sprintf(`
secret "client" { env = "CLIENT_SECRET" }
auth {
  sign_in {
    url           = %q
    provider      = %q
    client_id     = "hatchel"
    client_secret = secret.client
  }
}
console {
  %s
}
tool "who" {
  description = "Who calls."
  text        = caller.subject
}
`, origin, provider.URL, block))
	f.serve()
	return f, origin
}

// signIn signs ada in at the provider from a page of the console.
func (b *browser) signIn(page string) {
	b.t.Helper()
	b.open(page)
	b.do(chromedp.Click("#provider"))
	b.await(`document.querySelector("#who")?.innerText === "ada"`)
}

// The session cookie is strict, so browsers keep it back from a redirect that began at the provider.
func TestConsoleInABrowserSignsInAtAProvider(t *testing.T) {
	t.Parallel()
	needs(t, "HATCHEL_TEST_CHROMIUM")
	f, origin := providerConsole(t, "")
	b := openBrowser(t, "http://127.0.0.1:")
	b.open(origin + "/console/sign-in")
	b.checkAccessible("the page where people sign in")
	b.signIn(origin + "/console/tools?q=who")
	if got := eval[string](b, "location.href"); got != origin+"/console/tools?q=who" {
		t.Errorf("signing in leads to %s", got)
	}
	store, err := state.Open(t.Context(), f.file("state.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	grants, err := grant.OpenWithoutKeys(t.Context(), store, grant.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := grants.Start(t.Context(), &grant.Grant{
		ID: grant.NewID(), Subject: "bob", Key: "https://provider.example", Client: "sealed", ClientKind: grant.Registered,
		ClientName: "A program with a rather long name", Redirect: "cursor://anysphere.cursor-mcp/callback",
		Resource: origin + "/mcp/invoices", Scopes: []string{"invoices:read", "invoices:pay"},
		Began: time.Now(), Ends: time.Now().Add(time.Hour), Generation: 4, Refreshed: time.Now(),
	}); err != nil {
		t.Fatal(err)
	}
	b.open(origin + "/console/sign-ins")
	if text := b.text(); !strings.Contains(text, "the console") || !strings.Contains(text, "this session") {
		t.Errorf("the page has %s", text)
	}
	b.checkAccessible("the list of sign-ins")
	for _, width := range []int{1100, 390} {
		b.resize(width)
		if wide := eval[int](b, "document.documentElement.scrollWidth"); wide > width {
			t.Errorf("the list is %d wide in a window of %d", wide, width)
		}
	}
	b.resize(1100)
	b.do(chromedp.Click(`#sign-ins td:last-child:has(.sub) a`))
	b.await(`document.querySelector("#confirm") !== null`)
	b.checkAccessible("the question")
	b.do(chromedp.Click("#confirm"))
	b.await(`location.pathname === "/console/sign-in"`)
	b.signIn(origin + "/console/sign-ins")
	b.disableScripts(true)
	b.open(origin + "/console/sign-ins")
	b.do(chromedp.Click("#who"), chromedp.Click("#sign-out button"))
	if text := run(b, chromedp.Text("#provider")); !strings.HasPrefix(text, "Sign in at 127.0.0.1:") {
		t.Errorf("after signing out: %s", text)
	}
}

// A console at an address of its own has cookies of its own, which the address of the sign-in does not get.
func TestConsoleInABrowserSignsInAtAnAddressOfItsOwn(t *testing.T) {
	t.Parallel()
	listen := freeAddress(t)
	needs(t, "HATCHEL_TEST_CHROMIUM")
	providerConsole(t, fmt.Sprintf("listen = %q", listen))
	b := openBrowser(t, "http://127.0.0.1:")
	b.signIn("http://" + listen + "/console/sign-ins")
	if got := eval[string](b, "location.href"); got != "http://"+listen+"/console/sign-ins" {
		t.Errorf("signing in leads to %s", got)
	}
}

// The program signs its person in by a browser, and then lists and ends that sign-in, which the server refuses at once.
func TestTheProgramListsAndEndsItsOwnSignIn(t *testing.T) {
	t.Parallel()
	f, origin := providerConsole(t, "")
	f.env = append(f.env, "XDG_STATE_HOME="+f.file("kept"))
	f.args = nil
	person := persontest.New(nil)
	stdout, stderr, err := f.signedIn(person, "sign-ins", "list", "--server", origin, "--json")
	var listed []struct{ ID, Subject string }
	if err != nil || json.Unmarshal([]byte(stdout), &listed) != nil || len(listed) != 1 || listed[0].Subject != "ada" {
		t.Fatalf("%v, %s%s", err, stdout, stderr)
	}
	out, err := f.command("sign-ins", "revoke", "--state", f.file("state.db"), listed[0].ID).CombinedOutput()
	if err != nil || !strings.Contains(string(out), listed[0].ID+" revoked: the command hatchel of ada") {
		t.Fatalf("%v, %s", err, out)
	}
	f.env = append(f.env, "CI=true")
	eventually(t, "the server refuses the token", func() bool {
		out, err := f.command("sign-ins", "list", "--server", origin).CombinedOutput()
		return err != nil && strings.Contains(string(out), "HATCHEL_KEY")
	})
}
