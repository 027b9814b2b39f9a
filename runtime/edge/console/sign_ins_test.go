package console_test

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hatchel/internal/sampletest"
	"hatchel/runtime/durable/grant"
)

// signInConfig is an auth block with keys and a sign_in block.
func signInConfig(names ...string) string {
	return strings.TrimSuffix(keysOf(names...), "}\n") + `sign_in {
	url           = "https://tools.example"
	provider      = "https://provider.example"
	client_id     = "hatchel"
	assertion_file = "/run/token-of-hatchel"
}
}
`
}

// addSignIn stores a sign-in of a caller with an API key.
func (s *site) addSignIn(name string, g grant.Grant) string {
	s.t.Helper()
	grants, err := s.host.Operator().State.Grants(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	g.ID, g.Subject, g.Key, g.Resource = grant.NewID(), name, name, "https://tools.example/mcp"
	if g.Began.IsZero() {
		g.Began = time.Now().Add(-time.Hour)
	}
	g.Ends = g.Began.Add(12 * time.Hour)
	if err := grants.Start(s.t.Context(), &g); err != nil {
		s.t.Fatal(err)
	}
	return g.ID
}

var (
	claude = grant.Grant{ClientKind: grant.Document, Client: "https://claude.ai/oauth/metadata", ClientName: "Claude", Scopes: []string{"invoices:pay"}}
	cursor = grant.Grant{ClientKind: grant.Registered, Client: "the sealed registration", ClientName: "Cursor", Redirect: "http://127.0.0.1:5000/cb"}
)

func TestSignInsAreEndedByTheirOwnerAndByAdmins(t *testing.T) {
	s := newSite(t, signInConfig("ada:admin", "bob:callers", "zoe:callers")+people+audited+oneTool)
	first, second := s.addSignIn("bob", claude), s.addSignIn("bob", cursor)
	ofZoe := s.addSignIn("zoe", claude)
	ada, bob := s.signedIn("ada"), s.signedIn("bob")
	if got := bob.get("/console/"); got.header.Get("Location") != "/console/sign-ins" {
		t.Errorf("who may see nothing else is led to %q: %d", got.header.Get("Location"), got.status)
	}
	own, all := bob.get("/console/sign-ins"), ada.get("/console/sign-ins")
	for _, want := range []string{"claude.ai", "calls itself Claude", "Cursor", "nobody has checked this name", "a program on the computer",
		"invoices:pay", "https://tools.example/mcp", "never", "11 h left"} {
		if !strings.Contains(textOf(own.find("sign-ins")), want) {
			t.Errorf("the list has no %q: %s", want, own.text())
		}
	}
	if strings.Contains(own.body, "zoe") || strings.Contains(own.body, ofZoe) || strings.Contains(own.body, "the sealed registration") {
		t.Errorf("bob sees %s", own.body)
	}
	for _, want := range []string{"bob", "zoe", "3 sign-ins of everybody"} {
		if !strings.Contains(all.text(), want) {
			t.Errorf("an admin sees no %q: %s", want, all.text())
		}
	}
	filtered := ada.get("/console/sign-ins?subject=bob&client=claude.ai").text()
	if !strings.Contains(filtered, "1 sign-in of everybody") || !strings.Contains(ada.get("/console/sign-ins?client=none").text(), "No sign-in matches") {
		t.Errorf("the filter: %s", filtered)
	}
	path := "/console/sign-ins/" + first + "/revoke"
	foreign := "/console/sign-ins/" + ofZoe + "/revoke"
	question := bob.get(path)
	token := question.token(path)
	for _, got := range []*reply{
		bob.post(path, url.Values{}), bob.post("/console/sign-ins/"+second+"/revoke", url.Values{"token": {token}}),
		ada.post(path, url.Values{"token": {token}}),
	} {
		if got.status != http.StatusForbidden {
			t.Errorf("without the token of the form: %d", got.status)
		}
	}
	if got := bob.get(foreign); got.status != http.StatusNotFound {
		t.Errorf("the sign-in of somebody else: %d", got.status)
	}
	if got := bob.post(path, url.Values{"token": {token}}); got.status != http.StatusSeeOther || got.header.Get("Location") != "/console/sign-ins" {
		t.Errorf("the end: %d %s", got.status, got.text())
	}
	if got := bob.get("/console/sign-ins"); !strings.Contains(got.text(), "1 sign-in of yours") || strings.Contains(got.body, first) {
		t.Errorf("afterwards: %s", got.text())
	}
	grants, err := s.host.Operator().State.Grants(t.Context())
	if err != nil || !grants.Revoked(first) || grants.Revoked(second) {
		t.Errorf("revoked: %v", err)
	}
	form := url.Values{"token": {ada.get(foreign).token(foreign)}}
	if got := ada.post(foreign, form); got.status != http.StatusSeeOther || !grants.Revoked(ofZoe) {
		t.Errorf("an admin: %d %s", got.status, got.text())
	}
	if got := ada.post(foreign, form); got.status != http.StatusNotFound {
		t.Errorf("a second time: %d", got.status)
	}
	records := s.signedIn("ada").get("/console/sign-ins")
	if records.status != http.StatusOK {
		t.Error(records.status)
	}
	record, err := os.ReadFile(filepath.Join(s.dir, "audit.jsonl"))
	if text := string(record); err != nil || !strings.Contains(text, ofZoe) || !strings.Contains(text, `"subject":"ada"`) || !strings.Contains(text, first) {
		t.Errorf("the audit log: %s", text)
	} else if !strings.Contains(text, `"event":"sign_in","id":"`+ofZoe+`","kind":"client"`) {
		t.Errorf("the record is not that of the sign-in: %s", text)
	}
}

func TestWithoutASignInBlockThereAreNoSignIns(t *testing.T) {
	s := newSite(t, keysOf("ada:admin")+"console {}\n"+oneTool)
	ada := s.signedIn("ada")
	if got := ada.get("/console/sign-ins"); got.status != http.StatusForbidden || !strings.Contains(got.text(), "no sign_in block") {
		t.Errorf("%d %s", got.status, got.text())
	}
	if strings.Contains(ada.get("/console/").body, "/console/sign-ins") {
		t.Error("the menu has an entry")
	}
	if got := s.visit().get("/console/sign-in"); got.find("provider-form") != nil {
		t.Error("the page offers a provider")
	}
	if got := s.visit().post("/console/sign-in/provider", url.Values{}); got.status != http.StatusNotFound {
		t.Errorf("%d", got.status)
	}
}

func TestNobodyIsSignedInAtFirstAndThePageSaysWhatToDo(t *testing.T) {
	s := newSite(t, signInConfig("bob:callers")+people+oneTool)
	if got := s.signedIn("bob").get("/console/sign-ins"); !strings.Contains(textOf(got.find("none")), "Add the server to a client") {
		t.Errorf("%d %s", got.status, got.text())
	}
}

func TestSignInsAreListedByPages(t *testing.T) {
	s := newSite(t, signInConfig("ada:admin")+"console {}\n"+oneTool)
	for i := range 101 {
		g := claude
		g.Began = time.Now().Add(time.Duration(i-200) * time.Second)
		s.addSignIn(fmt.Sprintf("person%d", i%20), g)
	}
	ada := s.signedIn("ada")
	first := ada.get("/console/sign-ins?client=claude.ai")
	next := attr(first.find("after"), "href")
	if n := strings.Count(first.body, "End…"); n != 100 || !strings.Contains(next, "client=claude.ai") {
		t.Errorf("%d rows, next %q", n, next)
	}
	if second := ada.get(next); strings.Count(second.body, "End…") != 1 || second.find("after") != nil {
		t.Errorf("the second page: %s", second.text())
	}
	if got := ada.get("/console/sign-ins?after=none"); got.status != http.StatusSeeOther {
		t.Errorf("a wrong place: %d", got.status)
	}
}

func TestClientsAndPeopleOfSignInsAreTexts(t *testing.T) {
	s := newSite(t, signInConfig("ada:admin")+"console {}\n"+oneTool)
	ada := s.signedIn("ada")
	for _, text := range sampletest.Of(t, 40, hostileTexts()) {
		g := grant.Grant{ClientKind: grant.Registered, Client: text, ClientName: text, Redirect: text, Scopes: []string{text}}
		id := s.addSignIn(text, g)
		list, question := ada.get("/console/sign-ins?client="+url.QueryEscape(text)), ada.get("/console/sign-ins/"+id+"/revoke")
		for _, page := range []*reply{list, question} {
			if page.status != http.StatusOK || strings.Contains(strings.ToLower(shapeOf(page.page)), "hostile") || strings.ContainsAny(page.body, unseen) {
				t.Errorf("with %q: %d %s", text, page.status, page.body)
			}
		}
	}
}
