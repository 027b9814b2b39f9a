package console_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
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
			ann.get("/console/policies?tool="+url.QueryEscape(text)+"&caller="+url.QueryEscape(text)),
			ann.get("/console/policies/rules?q="+url.QueryEscape(text)),
			ann.get("/console/policies/tool/note?arguments="+url.QueryEscape(text)+"&subject="+url.QueryEscape(text)), ann.get("/console/approvals/"+a.ID))
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

// TestTheStatePageShowsTheCredentialOfAConnection asks an agent that gives a credential once, and then fails.
func TestTheStatePageShowsTheCredentialOfAConnection(t *testing.T) {
	end, asked := time.Now().Add(time.Hour), 0
	agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if asked++; asked > 1 {
			http.Error(w, `{"code":"AccessDenied"}`, http.StatusForbidden)
			return
		}
		json.NewEncoder(w).Encode(map[string]any{"AccessKeyId": "ASIAEXAMPLE", "SecretAccessKey": "hunter2",
			"Token": "hunter3", "Expiration": end})
	}))
	defer agent.Close()
	t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", agent.URL)
	service := httptest.NewServer(http.NotFoundHandler())
	defer service.Close()
	block := func(name string) string {
		return `
connection "http" "` + name + `" {
  base_url = "` + service.URL + `"
  auth {
    aws_sigv4 {
      service = "s3"
      region  = "eu-central-1"
      source  = "container"
    }
  }
}
tool "` + name + `" {
  description = "x"
  http "` + name + `" { get = "/" }
}
`
	}
	s := newNotes(t, keysOf("vera:ops", "bob:callers")+people+block("reports"))
	s.callAs("bob", "reports", "{}")
	vera := s.signedIn("vera")
	page := vera.get("/console/state")
	if got := textOf(page.find("connections")); !containsAll(got, "access key ASIAEXAMPLE of container", ":", "left") {
		t.Errorf("%s", got)
	}
	s = newNotes(t, keysOf("vera:ops")+people+block("other"))
	page = s.signedIn("vera").get("/console/state")
	got := textOf(page.find("connections"))
	if !containsAll(got, "not fetched", "no AWS credential: the container agent answered 403 Forbidden, AccessDenied") {
		t.Errorf("%s", got)
	}
	if strings.Contains(page.text(), "hunter") {
		t.Error("the page has a credential")
	}
}

// A database whose new connections sign in with a token shows whose it is at each of its instances, or why there is none.
func TestTheStatePageShowsTheCredentialOfADatabase(t *testing.T) {
	fails := false
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if fails {
			http.Error(w, "hunter4", http.StatusForbidden)
			return
		}
		fmt.Fprintf(w, `{"access_token": "hunter3", "token_type": "Bearer", "expires_in": "3600"}`)
	}))
	defer endpoint.Close()
	t.Setenv("IDENTITY_ENDPOINT", endpoint.URL+"/msi/token")
	t.Setenv("IDENTITY_HEADER", "hunter2")
	const nobody = "127.0.0.1:1"
	open := func() *reply {
		s := newNotes(t, keysOf("vera:ops")+people+`
connection "mysql" "stock" {
  instances = { eu = "mysql://app@`+nobody+`/stock?tls=true", us = "mysql://app@`+nobody+`/stock?tls=true" }
  instance  = caller.subject == "eve" ? "us" : "eu"
  auth {
    entra { client_id = "6a1c0f5e" }
  }
}
tool "count_stock" {
  description = "x"
  sql "stock" { query = "SELECT count(*) AS articles FROM stock" }
}
`)
		return s.signedIn("vera").get("/console/state")
	}
	const whose = "managed identity 6a1c0f5e (App Service)"
	page := open()
	if got := textOf(page.find("connections")); !containsAll(got, "stock[eu]", "stock[us]", "left") ||
		strings.Count(got, whose) != 2 {
		t.Errorf("%s", got)
	}
	fails = true
	failed := open()
	if got := textOf(failed.find("connections")); strings.Count(got, "not fetched") != 2 ||
		strings.Count(got, "the endpoint of IDENTITY_ENDPOINT answered 403 Forbidden") != 2 {
		t.Errorf("%s", got)
	}
	if strings.Contains(page.text()+failed.text(), "hunter") {
		t.Error("a page has a credential")
	}
}

// The token of the machine that requests have is shown with whose it is, or why there is none, and the audit log names it
// as well. A token on behalf of a caller is that of nobody else.
func TestTokensOfACloudAreShownByWhoseTheyAre(t *testing.T) {
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"access_token": "hunter3", "token_type": "Bearer", "expires_in": "3600"}`)
	}))
	defer endpoint.Close()
	t.Setenv("IDENTITY_ENDPOINT", endpoint.URL+"/msi/token")
	t.Setenv("IDENTITY_HEADER", "hunter2")
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", t.TempDir()+"/absent.json")
	config := keysOf("vera:ops", "bob:callers") + people + audited
	for name, block := range map[string]string{
		"vault":   "entra { scope = \"https://vault.azure.net/.default\" }",
		"billing": "google { audience = \"https://billing-x.run.app\" }",
	} {
		config += fmt.Sprintf("connection \"http\" %q {\nbase_url = %q\nauth {\n%s\n}\n}\n", name, endpoint.URL, block) +
			fmt.Sprintf("tool %q {\ndescription = \"x\"\nhttp %[1]q { get = \"/\" }\n}\n", name)
	}
	s := newNotes(t, config)
	s.callAs("bob", "vault", "{}")
	s.callAs("bob", "billing", "{}")
	page := s.signedIn("vera").get("/console/state")
	if got := textOf(page.find("connections")); !containsAll(got, "managed identity (App Service)", "left", "not fetched",
		"the file of GOOGLE_APPLICATION_CREDENTIALS", "does not exist") {
		t.Errorf("%s", got)
	}
	log, err := os.ReadFile(s.dir + "/audit.jsonl")
	if err != nil || strings.Count(string(log), `"as":[{"connection":"http.vault","credential":"managed identity (App Service)"}]`) != 1 ||
		strings.Count(string(log), `"as":`) != 1 {
		t.Errorf("%s, %v", log, err)
	}
	if strings.Contains(page.text()+string(log), "hunter") {
		t.Error("a token is shown")
	}
}

// A connection whose calls act as their caller is shown with each of its instances, and its tools say as whom they run.
func TestPagesShowInstancesAndAsWhomToolsRun(t *testing.T) {
	s := newNotes(t, keysOf("vera:ops", "bob:callers")+people+`
locals { roles = { free = "tenant_ro", paid = "tenant_rw" } }
connection "postgres" "desk" {
  instances = {
    eu = "postgres://u@127.0.0.1:1/d"
    us = "postgres://u@127.0.0.1:2/d"
  }
  instance = caller.claims.region
  role     = local.roles[caller.claims.plan]
  session = {
    "app.tenant" = caller.claims.tenant
  }
  max_connections = 3
}
tool "rows" {
  description = "x"
  sql "desk" { query = "SELECT 1" }
}
tool "outer" {
  description = "x"
  step "a" {
    tool "rows" {}
  }
  text = "done"
}
`)
	vera := s.signedIn("vera")
	shown := textOf(vera.get("/console/state").find("connections"))
	if !containsAll(shown, "postgres desk[eu]", "postgres desk[us]", "0 of 3") {
		t.Errorf("the page State: %s", shown)
	}
	for _, tool := range []string{"rows", "outer"} {
		facts := textOf(vera.get("/console/tools/" + tool).find("facts"))
		if !containsAll(facts, "Runs as", "desk: instance = caller.claims.region, role = "+
			"local.roles[caller.claims.plan], app.tenant = caller.claims.tenant") {
			t.Errorf("the page of %s: %s", tool, facts)
		}
	}
}
