package console_test

import (
	"net/http"
	"strings"
	"testing"
)

func TestAnErrorLeadsOnlyToAPageThatThePersonMaySee(t *testing.T) {
	s := newSite(t, keysOf("vera:ops", "bob:support")+"console { allow = \"'ops' in caller.groups\" }\n"+oneTool)
	vera, bob := s.signedIn("vera"), s.signedIn("bob")
	for _, c := range []struct {
		as     *visitor
		path   string
		status int
		link   bool
	}{
		{vera, "/console/nothing", http.StatusNotFound, true},
		{vera, "/console/sessions", http.StatusForbidden, true},
		{bob, "/console/nothing", http.StatusNotFound, false},
		{bob, "/console/", http.StatusForbidden, false},
	} {
		got := c.as.get(c.path)
		if link := strings.Contains(got.body, `<a href="/console/">Overview</a>`); got.status != c.status ||
			got.find("error") == nil || got.find("sign-out") == nil || link != c.link {
			t.Errorf("%s: %d, with the link %t: %s", c.path, got.status, link, got.body)
		}
	}
	if got := s.visit().get("/console/nothing"); got.status != http.StatusSeeOther {
		t.Errorf("without a session: %d %s", got.status, got.text())
	}
}

func TestTheSignInPageHasTheCommandForItsOwnAddress(t *testing.T) {
	for name, config := range map[string]string{"keys": keysOf("vera:admin"), "none": ""} {
		s := newSite(t, config+"console {}\n"+oneTool)
		got := textOf(s.visit().get("/console/sign-in").find("command"))
		if want := "hatchel console --server '" + s.web.URL + "'"; got != want {
			t.Errorf("%s: %q, not %q", name, got, want)
		}
	}
}
