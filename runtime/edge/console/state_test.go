package console_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"hatchel/internal/sampletest"
)

func TestTheStatePageShowsWhatTheServerDependsOn(t *testing.T) {
	away := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "hunter2", http.StatusServiceUnavailable)
	}))
	defer away.Close()
	s := newNotes(t, keysOf("vera:ops", "bob:callers")+people+`
connection "sqlite" "shop" { file = "shop.db" }
connection "http" "away" {
  base_url = "`+away.URL+`"
  breaker { failures = 1 }
}
tool "busy" {
  description = "x"
  limit {
    rate        = "5/h"
    concurrency = 3
  }
  step "one" {
    wait { for = "1h" }
  }
  text = "done"
}
tool "query" {
  description = "x"
  sql "shop" { query = "SELECT 1" }
}
tool "fetch" {
  description = "x"
  http "away" { get = "/orders" }
}
`)
	go s.callAs("bob", "busy", "{}")
	s.callAs("bob", "fetch", "{}")
	vera := s.signedIn("vera")
	page, deadline := vera.get("/console/state"), time.Now().Add(30*time.Second)
	for !containsAll(textOf(page.find("limits")), "busy", "bob", "4 of 5, 5 a hour", "1 of 3") { // the call begins
		if page.status != 200 || time.Now().After(deadline) {
			t.Fatalf("%d %s", page.status, page.text())
		}
		page = vera.get("/console/state")
	}
	for id, want := range map[string]string{"connections": "sqlite shop", "stores": "SQLite", "numbers": "Sessions"} {
		if !strings.Contains(textOf(page.find(id)), want) {
			t.Errorf("%s has no %q: %s", id, want, page.text())
		}
	}
	if got := textOf(page.find("connections")); !containsAll(got, "open", "the last call was answered with status 503") {
		t.Errorf("a breaker that is open: %s", got)
	}
}

func containsAll(text string, parts ...string) bool {
	return !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(text, part) })
}

func quoteJSON(t *testing.T, text string) string {
	t.Helper()
	out, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func TestHostileArgumentsAddNoElementsToPagesOfCalls(t *testing.T) {
	s := newNotes(t, keysOf("ann:admin", "bob:callers")+"console {}\nevents { results = \"redacted\" }\n"+
		"approvals { allow = \"true\" }\n"+audited)
	ann := s.signedIn("ann")
	pagesOf := func(text string) (pages []*reply) {
		s.write("notes/a.txt", text)
		a, said := s.ask("note", `{"text":`+quoteJSON(t, text)+`}`)
		one := ann.get("/console/approvals/" + a.ID)
		pages = append(pages, ann.get("/console/approvals?caller="+url.QueryEscape(text)), one)
		ann.decide(one, "reject", strings.TrimSpace(text))
		<-said
		calls := ann.get("/console/calls?tool=note")
		for n := range calls.find("calls").Descendants() {
			if n.Data == "a" {
				pages = append(pages, ann.get(attr(n, "href")))
				break
			}
		}
		return append(pages, calls, ann.get("/console/audit?text="+url.QueryEscape(text)),
			ann.get("/console/policies?tool="+url.QueryEscape(text)+"&subject="+url.QueryEscape(text)), ann.get("/console/approvals/"+a.ID))
	}
	for _, text := range sampletest.Of(t, 30, hostileTexts()) {
		for i, page := range pagesOf(text) {
			if strings.Contains(strings.ToLower(shapeOf(page.page)), "hostile") || page.status >= 500 ||
				strings.ContainsAny(page.body, unseen) {
				t.Fatalf("page %d (%d) with %q: %s", i, page.status, text, page.body)
			}
		}
	}
}
