package console_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"hatchel/runtime/edge/mcp"
)

func TestWithoutAuthenticationThereIsOnlyWhatNeedsNoIdentity(t *testing.T) {
	s := newNotes(t, "console { try = \"call\" }\nevents {}\n"+twoSteps)
	a, said := s.ask("note", `{"text":"new"}`)
	v := s.withTicket()
	overview := v.get("/console/")
	if got := strings.Fields(textOf(overview.find("menu"))); strings.Join(got, " ") != "Overview Tools Approvals (1) Calls Reload" {
		t.Errorf("the menu has %v", got)
	}
	if page := v.get("/console/reload"); page.status != http.StatusOK || page.find("load") != nil {
		t.Errorf("the last load: %d %s", page.status, page.text())
	}
	token := url.Values{"token": {overview.token("/console/sign-out")}}
	approval := "/console/approvals/" + a.ID
	for _, c := range []struct {
		method, path string
		want         int
	}{
		{"GET", "/console/tools", 200},
		{"GET", "/console/tools/report", 200},
		{"GET", "/console/approvals", 200},
		{"GET", approval, 200},
		{"GET", "/console/calls", 200},
		{"GET", "/console/calls/events", 403},
		{"GET", "/console/audit", 403},
		{"GET", "/console/policies", 403},
		{"GET", "/console/state", 403},
		{"GET", "/console/tasks", 403},
		{"GET", "/console/tasks/x", 403},
		{"GET", "/console/tasks/x/cancel", 403},
		{"GET", "/console/sessions", 403},
		{"GET", "/console/sessions/x/end", 403},
		{"POST", "/console/reload", 403},
		{"POST", approval + "/decide", 403},
		{"POST", approval + "/look", 403},
		{"POST", "/console/tasks/x/cancel", 403},
		{"POST", "/console/sessions/x/end", 403},
	} {
		got := v.do(c.method, c.path, token)
		if got.status != c.want || c.want == http.StatusForbidden && !strings.Contains(got.text(), "no authentication") {
			t.Errorf("%s %s: %d, not %d: %s", c.method, c.path, got.status, c.want, got.text())
		}
	}
	s.reject(a.ID)
	<-said
}

func TestWithoutAuthenticationTheCallsAreThoseOfTheConsole(t *testing.T) {
	s := newSite(t, "console { try = \"call\" }\nevents {}\n"+twoSteps)
	v := s.withTicket()
	v.get("/console/calls")
	for _, client := range []string{"", `{"name":"agent"}`} {
		caller := s.callerOf("")
		caller.ClientInfo = []byte(client)
		if _, err := s.host.CallTool(t.Context(), &mcp.CallRequest{Name: "report", Arguments: []byte(`{"n":7}`), Caller: caller}); err != nil {
			t.Fatal(err)
		}
	}
	form := v.get("/console/tools/report").controls("form")
	form.Set("input.n", "5")
	if got := v.post("/console/tools/report/call", form); got.status != http.StatusOK {
		t.Fatalf("the call: %d %s", got.status, got.text())
	}
	page := v.get("/console/calls")
	if got := textOf(page.find("summary")); got != "1 call" || page.find("pause") != nil {
		t.Errorf("the page has %s", page.text())
	}
	for n := range page.find("calls").Descendants() {
		if n.Data != "a" {
			continue
		}
		if one := v.get(attr(n, "href")); one.status != http.StatusOK || !strings.Contains(one.text(), `"n": 5`) {
			t.Errorf("the call: %d %s", one.status, one.text())
		}
	}
}

func TestWithoutAuthenticationACallOfAnAgentIsNotShown(t *testing.T) {
	s := newSite(t, keysOf("vera:admin")+"console {}\nevents {}\n"+twoSteps)
	vera := s.signedIn("vera")
	vera.get("/console/calls")
	s.load("console {}\nevents {}\n" + twoSteps)
	s.callAs("", "report", `{"n":7}`)
	s.load(keysOf("vera:admin") + "console {}\nevents {}\n" + twoSteps)
	var address string
	for n := range vera.get("/console/calls").find("calls").Descendants() {
		if n.Data == "a" {
			address = attr(n, "href")
		}
	}
	if got := vera.get(address); got.status != http.StatusOK {
		t.Fatalf("an admin: %d %s", got.status, got.text())
	}
	s.load("console {}\nevents {}\n" + twoSteps)
	if got := s.withTicket().get(address); got.status != http.StatusNotFound {
		t.Errorf("the holder of a ticket: %d %s", got.status, got.text())
	}
}
