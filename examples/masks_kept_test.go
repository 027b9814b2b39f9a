package examples_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

// keptServer is a configuration whose tools leave what backends answer in tasks, in stored results of keys, in caches and
// in approvals. Support may read it, and an operator decides.
func keptServer(with, service string) string {
	var b strings.Builder
	key := map[string]string{"hash": "key = secret.pseudonyms"}[with]
	fmt.Fprintf(&b, `
server { name = "kept" }
auth {
  api_key "agent" {
    secret = secret.agent_key
    groups = ["agents"]
  }
  api_key "support" {
    secret = secret.support_key
    groups = ["support"]
  }
  api_key "operator" {
    secret = secret.operator_key
    groups = ["admin"]
  }
}
secret "agent_key" { env = "AGENT_KEY" }
secret "support_key" { env = "SUPPORT_KEY" }
secret "operator_key" { env = "OPERATOR_KEY" }
secret "pseudonyms" { env = "PSEUDONYMS" }
audit { file = "audit.jsonl" }
events {
  allow   = "true"
  results = "redacted"
}
console {}
approvals { allow = "'admin' in caller.groups" }
mask "person" {
  members = ["email", "salary"]
  with    = %q
  unless  = "'support' in caller.groups"
  %s
}
connection "sqlite" "people" {
  file = "people.db"
  init = "CREATE TABLE IF NOT EXISTS people (name TEXT PRIMARY KEY, email TEXT, salary INTEGER); INSERT OR IGNORE INTO people VALUES ('Ada', '%s@example.com', %s)"
}
connection "http" "service" { base_url = %q }
`, with, key, rawText, rawNumber, service)
	for name, does := range map[string]struct{ reads, writes string }{
		"sql": {`sql "people" { query = "SELECT name, email, salary FROM people LIMIT 10" }`,
			`sql "people" { exec = "UPDATE people SET name = name RETURNING name, email, salary" }`},
		"http": {`http "service" { get = "/people" }`, `http "service" { post = "/people" }`},
	} {
		fmt.Fprintf(&b, `
tool "%[1]s_task" {
  description = "People."
  task { mode = "required" }
  %[2]s
}
tool "%[1]s_cached" {
  description = "People."
  cache { ttl = "1h" }
  %[2]s
}
tool "%[1]s_keyed" {
  description = "Change people."
  idempotency {}
  %[3]s
}
tool "%[1]s_approved" {
  description = "Change people."
  approval {
    message = "Change all people?"
    before "people" {
      %[2]s
    }
  }
  %[3]s
}
`, name, does.reads, does.writes)
	}
	return b.String()
}

// What is kept of a call is shown to a caller who may see it, and to nobody else: results of tasks, of keys and of caches,
// what approvers read, pages of the console, events and the audit log.
func TestMasksHoldInWhatIsKept(t *testing.T) {
	t.Parallel()
	service := httptest.NewServer(maskedService(new([]string), new([]string)))
	t.Cleanup(service.Close)
	for _, with := range []string{"hide", "partial", "hash"} {
		t.Run(with, func(t *testing.T) {
			t.Parallel()
			k := &keptCalls{folder: maskedFolder(t)}
			k.env = append(k.env, "OPERATOR_KEY="+operatorsKey)
			k.write("kept.hcl", keptServer(with, service.URL))
			k.server = k.serve("--state", k.file("state.db"))
			k.page("/events?follow=false") // from now on events are kept
			support, agent := strings.Repeat("b", 32), strings.Repeat("a", 32)
			for _, tool := range []string{"sql", "http"} {
				for _, key := range []string{support, agent} { // whose answers a cache might give to the next
					sees := key == support
					k.expect(sees, tool+"_cached", k.call(key, tool+"_cached", ""), k.call(key, tool+"_cached", ""))
					k.expect(sees, tool+"_keyed", k.call(key, tool+"_keyed", "k-"+key), k.call(key, tool+"_keyed", "k-"+key))
					k.expect(sees, tool+"_task", k.finished(key, k.call(key, tool+"_task", "")))
					asked := k.call(key, tool+"_approved", "")
					k.approve()
					k.expect(sees, tool+"_approved", k.finished(key, asked))
				}
			}
			decided := k.page("/approvals?status=used")
			if strings.Count(decided, `"tool":"sql_approved"`) != 2 {
				t.Errorf("the decisions are %s", decided)
			}
			pages := k.consolePages(k.server)
			for _, place := range []string{"/console/tasks/", "/console/approvals/", "sql_cached"} {
				if !strings.Contains(pages, place) {
					t.Errorf("the console has no %s", place)
				}
			}
			for place, text := range map[string]string{"the console": pages, "the approvals": decided, "an event": k.page("/events?follow=false"),
				"the audit log": k.read("audit.jsonl"), "the log": k.server.log.String()} {
				if i := max(strings.Index(text, rawText), strings.Index(text, rawNumber)); i >= 0 {
					t.Errorf("%s has %q", place, text[max(0, i-300):i+30])
				}
			}
		})
	}
}

// keptCalls calls the tools of keptServer.
type keptCalls struct {
	*folder
	server *server
}

// request sends a request of a caller.
func (k *keptCalls) request(key, method, name, params string) string {
	k.t.Helper()
	res, text := k.server.knock(http.MethodPost, "/mcp", `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":{"_meta":{`+
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":`+
		`{"extensions":{"io.modelcontextprotocol/tasks":{}}}},`+params+`}}`, "Authorization", "Bearer "+key,
		"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", method, "Mcp-Name", name)
	if res.StatusCode != http.StatusOK {
		k.t.Fatalf("%s: %s %s", name, res.Status, text)
	}
	return text
}

// call calls a tool, with a key of idempotency if there is one.
func (k *keptCalls) call(key, tool, repeated string) string {
	k.t.Helper()
	arguments := "{}"
	if repeated != "" {
		arguments = fmt.Sprintf(`{"idempotency_key":%q}`, repeated)
	}
	return k.request(key, "tools/call", tool, fmt.Sprintf(`"name":%q,"arguments":%s`, tool, arguments))
}

// finished waits for the task that a call has become, and returns its result.
func (k *keptCalls) finished(key, answer string) (result string) {
	k.t.Helper()
	found := taskID.FindStringSubmatch(answer)
	if found == nil {
		k.t.Fatalf("there is no task: %s", answer)
	}
	eventually(k.t, "the task is completed", func() bool {
		result = k.request(key, "tasks/get", found[1], fmt.Sprintf(`"taskId":%q`, found[1]))
		return strings.Contains(result, `"completed"`)
	})
	return result
}

// expect checks which answers have raw values: all of them, or none.
func (k *keptCalls) expect(sees bool, tool string, answers ...string) {
	k.t.Helper()
	for i, answer := range answers {
		if strings.Contains(answer, rawText) != sees || strings.Contains(answer, rawNumber) != sees || !strings.Contains(answer, "Ada") {
			k.t.Errorf("answer %d of %s: %s", i+1, tool, answer)
		}
	}
}

// approve approves the call that waits, and checks what the operator reads of it.
func (k *keptCalls) approve() {
	k.t.Helper()
	var id string
	eventually(k.t, "a call waits", func() bool {
		var pending struct{ Approvals []struct{ ID string } }
		if err := json.Unmarshal([]byte(k.page("/approvals?status=pending")), &pending); err != nil {
			k.t.Fatal(err)
		}
		if len(pending.Approvals) > 0 {
			id = pending.Approvals[0].ID
		}
		return id != ""
	})
	shown := k.page("/approvals/" + id)
	if !strings.Contains(shown, "Ada") || hasRaw(shown) {
		k.t.Errorf("the operator reads %s", shown)
	}
	res, text := k.server.knock(http.MethodPost, "/approvals/"+id+"/approve", `{"reason":"ticket 88"}`, "Authorization", "Bearer "+operatorsKey)
	if res.StatusCode != http.StatusOK {
		k.t.Fatalf("%s %s", res.Status, text)
	}
}

// page is what the operator reads at a path.
func (k *keptCalls) page(path string) string {
	k.t.Helper()
	res, text := k.server.knock(http.MethodGet, path, "", "Authorization", "Bearer "+operatorsKey)
	if !slices.Contains([]int{http.StatusOK, http.StatusNoContent}, res.StatusCode) {
		k.t.Fatalf("%s: %s %s", path, res.Status, text)
	}
	return text
}
