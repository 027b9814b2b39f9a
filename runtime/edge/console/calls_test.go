package console_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

const twoSteps = `
tool "report" {
  description = "Two steps."
  input "n" { type = integer }
  input "key" {
    type      = optional(string)
    sensitive = true
  }
  step "first" {
    wait { for = "5ms" }
  }
  step "second" {
    wait { for = "10ms" }
  }
  step "third" {
    when = "input.n > 10"
    fail { message = "too many" }
  }
  result = "{n: input.n}"
}
`

func TestTheLatestCallsAreListedAndOneIsShown(t *testing.T) {
	s := newSite(t, keysOf("vera:admin", "bob:callers")+"console {\n trace_url = \"https://tempo.example/{trace_id}\"\n}\n"+
		"events { results = \"redacted\" }\n"+audited+twoSteps)
	vera := s.signedIn("vera")
	if got := vera.get("/console/calls"); got.status != 200 || textOf(got.find("summary")) != "0 calls" {
		t.Fatalf("at first: %d %s", got.status, got.text())
	}
	s.callAs("bob", "report", `{"n":1,"key":"hidden-key"}`)
	s.callAs("bob", "report", `{"n":11}`)
	page := vera.get("/console/calls")
	rows := textOf(page.find("calls"))
	if strings.Index(rows, "failed") > strings.Index(rows, "ok") || strings.Count(rows, "second") != 2 || strings.Count(rows, "bob") != 2 {
		t.Errorf("the calls are %s", rows)
	}
	if got := textOf(vera.get("/console/calls?outcome=problems").find("calls")); strings.Count(got, "report") != 1 || !strings.Contains(got, "too many") {
		t.Errorf("the failed ones are %s", got)
	}
	one := vera.get(linkIn(page.find("calls"))) // the oldest
	for _, want := range []string{"second", `"n": 1`, "(secret)", "bob", "Audit records"} {
		if !strings.Contains(one.text(), want) {
			t.Errorf("the page of the call has no %q: %s", want, one.text())
		}
	}
	if strings.Contains(one.body, "hidden-key") {
		t.Error("a sensitive input is shown")
	}
	if n := strings.Count(one.body, "<rect"); n != 4 { // with the step that was skipped
		t.Errorf("the timeline has %d bars", n)
	}
	if got := attr(one.find("again"), "href"); !strings.HasPrefix(got, "/console/tools/report?arguments=%7B") {
		t.Errorf("the call is made again by %q", got)
	}
	if got := vera.get("/console/calls/none"); got.status != http.StatusNotFound {
		t.Errorf("a call that is not kept: %d", got.status)
	}
}

// TestTheElementsOfEachAreInTheTimeline has one element fail, and another one whose key is a sensitive input.
func TestTheElementsOfEachAreInTheTimeline(t *testing.T) {
	s := newSite(t, keysOf("vera:admin", "bob:callers")+"console {}\n"+`
tool "inner" {
  description = "Fails for ben."
  input "name" { type = string }
  step "s" {
    when = "input.name == 'ben'"
    fail { message = "ben is away" }
  }
  text = "done"
}
tool "score" {
  description = "Scores people."
  input "names" { type = list(string) }
  input "secret" {
    type      = string
    sensitive = true
  }
  step "scored" {
    each     = concat(input.names, [input.secret])
    key      = each.value
    on_error = "continue"
    tool "inner" { name = each.value }
  }
  text = "done"
}
`)
	vera := s.signedIn("vera")
	s.callAs("bob", "score", `{"names":["ann","ben","cyd"],"secret":"hidden-name"}`)
	calls := vera.get("/console/calls").find("calls")
	page := vera.get(linkIn(calls))
	var got []string
	for n := range page.find("steps").Descendants() {
		if n.Data == "tr" && attr(n, "class") == "element" {
			got = append(got, textOf(n))
		}
	}
	if len(got) != 4 || !strings.HasPrefix(got[0], "annok") || !strings.HasPrefix(got[1], "benfailed") || !strings.Contains(got[1], "ben is away") {
		t.Errorf("the elements are %q", got)
	}
	if strings.Contains(page.body, "hidden-name") {
		t.Error("the key of an element shows a sensitive input")
	}
}

// follow opens the stream of calls, for at most 20 seconds.
func (v *visitor) follow() *http.Response {
	v.t.Helper()
	ctx, cancel := context.WithTimeout(v.t.Context(), 20*time.Second)
	v.t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, v.web.URL+"/console/events", nil)
	if err != nil {
		v.t.Fatal(err)
	}
	res, err := v.client.Do(r)
	if err != nil || res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != "text/event-stream" {
		v.t.Fatal(res, err)
	}
	v.t.Cleanup(func() { res.Body.Close() })
	return res
}

func TestAPageFollowsCalls(t *testing.T) {
	s := newSite(t, keysOf("vera:admin", "bob:callers")+"console {}\nevents {}\n"+twoSteps)
	vera := s.signedIn("vera")
	res := vera.follow()
	s.callAs("bob", "report", `{"n":1}`)
	var got []string
	for in := bufio.NewScanner(res.Body); len(got) < 5 && in.Scan(); {
		if kind, ok := strings.CutPrefix(in.Text(), "event: "); ok {
			got = append(got, kind)
		}
	}
	if want := "tool_call tool_step tool_step tool_step tool_result"; strings.Join(got, " ") != want {
		t.Errorf("the events are %v", got)
	}
}

func TestTheConsoleShowsCallsWithoutAnEventsBlock(t *testing.T) {
	s := newSite(t, keysOf("vera:admin", "bob:callers")+"console {}\n"+twoSteps)
	vera := s.signedIn("vera")
	vera.get("/console/")
	s.callAs("bob", "report", `{"n":1}`)
	page := vera.get("/console/calls")
	if got := textOf(page.find("calls")); !strings.Contains(got, "bob") || page.find("own") != nil {
		t.Errorf("an admin sees %s", page.text())
	}
	if s.host.Operator().HasEvents() {
		t.Error("the console has others follow events")
	}
	if got := vera.follow(); got.StatusCode != http.StatusOK {
		t.Errorf("the stream: %d", got.StatusCode)
	}
}

func TestSomebodyWhoMayNotFollowOthersFollowsTheirOwnCalls(t *testing.T) {
	for _, events := range []string{"", "events {}\n"} {
		s := newSite(t, keysOf("vera:ops", "bob:callers")+people+events+twoSteps)
		vera := s.signedIn("vera")
		vera.get("/console/calls")
		s.callAs("bob", "report", `{"n":1}`)
		s.callAs("vera", "report", `{"n":1}`)
		page := vera.get("/console/calls")
		if got := textOf(page.find("calls")); strings.Contains(got, "bob") || !strings.Contains(got, "vera") ||
			!strings.Contains(textOf(page.find("own")), "events { allow") {
			t.Errorf("%q: vera sees %s", events, page.text())
		}
	}
}

func TestAReloadEndsTheStreamOfSomebodyWhoMayNoLongerLook(t *testing.T) {
	rest := keysOf("vera:ops") + "events { allow = \"true\" }\n" + twoSteps
	s := newSite(t, people+rest)
	vera := s.signedIn("vera")
	for _, after := range []string{"console { allow = \"'dev' in caller.groups\" }\n", "console {}\n", ""} {
		s.load(people + rest)
		res := vera.follow()
		s.load(after + rest)
		if _, err := io.ReadAll(res.Body); err != nil {
			t.Errorf("%q: the stream goes on: %v", after, err)
		}
	}
}

func TestSigningOutEndsTheStreamsOfTheSession(t *testing.T) {
	s := newSite(t, keysOf("vera:admin")+"console {}\n"+oneTool)
	vera, other := s.signedIn("vera"), s.signedIn("vera")
	first, second, others := vera.follow(), vera.follow(), other.follow()
	vera.post("/console/sign-out", url.Values{"token": {vera.get("/console/").token("/console/sign-out")}})
	for i, stream := range []*http.Response{first, second} {
		if _, err := io.ReadAll(stream.Body); err != nil {
			t.Errorf("stream %d goes on: %v", i, err)
		}
	}
	s.callAs("vera", "refund", `{"order":1}`)
	if !bufio.NewScanner(others.Body).Scan() {
		t.Error("the stream of another session has ended")
	}
}

func TestTheTabsOfASessionShareOneStream(t *testing.T) {
	s := newSite(t, keysOf("vera:admin")+"console {}\n"+oneTool)
	share := func(v *visitor, path string) string { return attr(v.get(path).find("content"), "data-share") }
	vera, again := s.signedIn("vera"), s.signedIn("vera")
	name := share(vera, "/console/calls")
	if name == "" || share(vera, "/console/calls?tool=refund") != name {
		t.Error("two tabs do not share the stream")
	}
	if share(again, "/console/calls") == name {
		t.Error("two sessions share a stream")
	}
}
