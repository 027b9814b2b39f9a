package console_test

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"
	"time"
)

func TestTheStatePageShowsWhatTheServerDependsOn(t *testing.T) {
	s := newNotes(t, keysOf("vera:ops", "bob:callers")+people+`
connection "sqlite" "shop" { file = "shop.db" }
connection "http" "away" {
  base_url = "http://127.0.0.1:1"
  breaker { failures = 1 }
}
tool "busy" {
  description = "x"
  limit { concurrency = 3 }
  step "one" {
    wait { for = "1h" }
  }
  text = "done"
}
tool "query" {
  description = "x"
  sql "shop" { query = "SELECT 1" }
}
`)
	go s.callAs("bob", "busy", "{}")
	vera := s.signedIn("vera")
	deadline := time.Now().Add(30 * time.Second)
	for {
		page := vera.get("/console/state")
		limits := textOf(page.find("limits"))
		if strings.Contains(limits, "busy") && strings.Contains(limits, "bob") {
			for id, want := range map[string]string{"connections": "sqlite shop", "stores": "SQLite", "numbers": "Sessions"} {
				if !strings.Contains(textOf(page.find(id)), want) {
					t.Errorf("%s has no %q: %s", id, want, page.text())
				}
			}
			return
		}
		if page.status != 200 || time.Now().After(deadline) {
			t.Fatalf("%d %s", page.status, page.text())
		}
	}
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
	for _, text := range hostileTexts() {
		for i, page := range pagesOf(text) {
			if strings.Contains(strings.ToLower(shapeOf(page.page)), "hostile") || page.status >= 500 ||
				strings.ContainsAny(page.body, unseen) {
				t.Fatalf("page %d (%d) with %q: %s", i, page.status, text, page.body)
			}
		}
	}
}
