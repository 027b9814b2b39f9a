package console_test

import (
	"net/http"
	"strings"
	"testing"
)

const partlyFailing = `
tool "inner" {
  description = "Fails for 2."
  input "n" { type = integer }
  step "s" {
    when = "input.n == 2"
    fail { message = "no such person" }
  }
  text = "done"
}
tool "score" {
  description = "Asks for three."
  step "s" {
    each     = { ann = 1, ben = 2, cid = 3 }
    on_error = "continue"
    tool "inner" { n = each.value }
  }
  text = "done"
}
`

// TestACallThatHasFailedInPartIsShownAsOne tries a tool, and looks for its call in the list, on its page and in the
// charts.
func TestACallThatHasFailedInPartIsShownAsOne(t *testing.T) {
	s := newSite(t, "console { try = \"call\" }\nevents {}\ntelemetry {\n  metrics {}\n}\n"+partlyFailing)
	v := s.withTicket()
	v.get("/console/calls")
	const failure = `the element with the key "ben": no such person`
	got := v.post("/console/tools/score/call", v.get("/console/tools/score").controls("form"))
	if got.status != http.StatusOK || !strings.Contains(got.text(), "partial") || !strings.Contains(got.text(), "1 of 3 failed: "+failure) {
		t.Errorf("the call: %d %s", got.status, got.text())
	}
	list := v.get("/console/calls?outcome=problems")
	if text := textOf(list.find("calls")); !strings.Contains(text, "partial") || !strings.Contains(text, failure) {
		t.Errorf("the list of failed calls has %s", list.text())
	}
	for n := range list.find("calls").Descendants() {
		if n.Data == "a" && !strings.HasPrefix(attr(n, "href"), "/console/tools/") {
			if page := v.get(attr(n, "href")); !strings.Contains(page.text(), "partial") || !strings.Contains(textOf(page.find("failure")), failure) {
				t.Errorf("the page of the call has %s", page.text())
			}
		}
	}
	if text := v.get("/console/tools/score").text(); !strings.Contains(text, "0 ok, 1 failed") {
		t.Errorf("the charts have %s", text)
	}
}
