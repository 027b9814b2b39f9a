package console_test

import (
	"bufio"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"hatchel/runtime"
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
	if page := v.get("/console/reload"); page.status != http.StatusOK || page.find("load") != nil ||
		!strings.Contains(textOf(page.find("refusal")), "SIGHUP") {
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

// Whoever holds a ticket works on the machine of the server, so they see what their agents call, also as it happens.
func TestWithoutAuthenticationTheCallsOfAgentsAreShown(t *testing.T) {
	s := newSite(t, "console { try = \"call\" }\n"+twoSteps)
	for _, client := range []string{"", `{"name":"agent","version":"2"}`} {
		caller := s.callerOf("")
		caller.ClientInfo = []byte(client)
		r := &mcp.CallRequest{Name: "report", Arguments: []byte(`{"n":7,"key":"hidden-key"}`), Caller: caller}
		if _, err := s.host.CallTool(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	v := s.withTicket() // nobody has looked before
	page := v.get("/console/calls")
	if got := textOf(page.find("summary")); got != "2 calls" || page.find("own") != nil {
		t.Errorf("the page has %s", page.text())
	}
	var addresses []string
	for n := range page.find("calls").Descendants() {
		if n.Data == "a" {
			addresses = append(addresses, attr(n, "href"))
		}
	}
	one := v.get(addresses[0])
	for _, want := range []string{"(agent 2)", `"n": 7`, "second"} {
		if !strings.Contains(one.text(), want) {
			t.Errorf("the page of the call has no %q: %s", want, one.text())
		}
	}
	if strings.Contains(one.body, "hidden-key") {
		t.Error("a sensitive input is shown")
	}
	stream := v.follow()
	s.callAs("", "report", `{"n":1}`)
	if !bufio.NewScanner(stream.Body).Scan() {
		t.Error("the stream has no calls")
	}
}

// Without blocks that say otherwise, the author calls tools in the form, and sees the results that agents get.
func TestTheFlagServesTheAuthor(t *testing.T) {
	s := newSiteOf(t, twoSteps, nil, &runtime.Console{Always: true})
	v := s.withTicket()
	if v.get("/console/tools/report").find("call-button") == nil {
		t.Error("the form has no button that calls")
	}
	results := func() (n int) {
		s.callAs("", "report", `{"n":7}`)
		for link := range v.get("/console/calls").find("calls").Descendants() {
			path := attr(link, "href")
			if !strings.HasPrefix(path, "/console/calls/") {
				continue
			}
			if answer := v.get(path).find("answer"); answer != nil {
				n++
				if got := strings.Join(strings.Fields(textOf(answer)), " "); got != `n7 As JSON{ "n": 7 }` {
					t.Errorf("the answer is shown as %q", got)
				}
			}
		}
		return n
	}
	if n := results(); n != 1 {
		t.Errorf("%d calls have results", n)
	}
	s.load("events {}\n" + twoSteps)
	if n := results(); n != 1 {
		t.Errorf("with an events block, %d calls have results", n)
	}
	s.load(keysOf("eva:ops") + twoSteps)
	if s.host.Current().Console.Try != "plan" {
		t.Error("people with keys call tools")
	}
}
