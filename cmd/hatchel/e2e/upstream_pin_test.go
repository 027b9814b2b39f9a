package e2e_test

import (
	"crypto/sha256"
	"fmt"
	"html"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hatchel/adapters/mcp/client/mcptest"
	"hatchel/adapters/mcp/definition/definitiontest"
	"hatchel/runtime/stage/approval"
)

// A new pin waits for its lock. Then it voids the approvals of its tool and of no other one. Approvers see what is sent,
// without sensitive inputs.
func TestANewPinWaitsForItsLockAndVoidsTheApprovalsOfItsTool(t *testing.T) {
	t.Parallel()
	const hidden = "hush-hush-4711"
	upstream := &mcptest.Server{Era: mcptest.Both}
	upstream.SetTools(reviewedIssue, otherIssue)
	config := strings.ReplaceAll(approverKeys, `"approvers"`, `"approvers", "admin"`) + fmt.Sprintf(`
server { hold = "behaviour" }
approvals { allow = "'approvers' in caller.groups" }
audit { file = "audit.jsonl" }
events {}
console {}
state { sqlite = "state.db" }
connection "mcp" "github" {
  url         = %q
  definitions = "issues.tools.json"
  refresh     = "0s"
}
tool "report" {
  description = "Open an issue."
  input "title" { type = string({ max_length = 50 }) }
  input "pin" {
    type      = string({ max_length = 20 })
    sensitive = true
  }
  approval {}
  mcp "github" {
    call      = "create_issue"
    arguments = { title = "${input.title}: ${input.pin}" }
  }
}
tool "confirm" {
  description = "Open an issue, as its caller confirms."
  input "pin" {
    type      = string({ max_length = 20 })
    sensitive = true
  }
  approval { by = "caller" }
  mcp "github" {
    call      = "create_issue"
    arguments = { title = input.pin }
  }
}
tool "read" {
  description = "Read an issue."
  mcp "github" { call = "get_issue" }
}
`, upstream.Start(t))
	for _, name := range []string{"ann", "bob", "eve"} {
		config = strings.ReplaceAll(config, "$"+strings.ToUpper(name), fmt.Sprintf("%x", sha256.Sum256([]byte(apiKeyOf(name)))))
	}
	o := &approvalServer{t: t, dir: t.TempDir()}
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(o.dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	lock := func() {
		if code, out, errs := o.runCommand(nil, "lock"); code != 0 {
			t.Fatal(code, out, errs)
		}
	}
	reload := func(want int) {
		if status, body := o.do("bob", http.MethodPost, "/admin/reload", ""); status != want {
			t.Fatalf("%d, not %d: %s", status, want, body)
		}
	}
	// review has the server list these definitions, which wait for their lock.
	review := func(definitions ...string) {
		upstream.SetTools(definitions...)
		write("issues.tools.json", definitiontest.Text(t, definitions...))
		reload(http.StatusConflict)
		lock()
		await(t, func() bool {
			status, _ := o.do("bob", http.MethodPost, "/admin/reload", "")
			return status == http.StatusOK
		})
	}
	write("tools.hcl", config)
	write("issues.tools.json", definitiontest.Text(t, reviewedIssue, otherIssue))
	lock()
	o.replica = startReplica(t, o.dir, "")

	id, answered := o.requestApproval("ann", "report", `{"title":"Fire","pin":"`+hidden+`"}`)
	_, shown, _ := o.runCommand(nil, "approvals", "show", id)
	_, row := o.do("bob", http.MethodGet, "/approvals/"+id, "")
	bob := o.signIn("bob")
	_, page := o.do("", http.MethodGet, "/console/approvals/"+id, "", "Cookie", bob)
	const asked = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"confirm","arguments":{"pin":%q},"_meta":{` +
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}}}`
	_, question := o.do("eve", http.MethodPost, "/mcp", fmt.Sprintf(asked, hidden), "Accept", "application/json, text/event-stream",
		"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "confirm")
	checkContains(t, question, "input_required", "create_issue")
	_, list := o.do("bob", http.MethodGet, "/approvals", "")
	_, calls := o.do("", http.MethodGet, "/console/calls", "", "Cookie", bob)
	checkContains(t, list, id)
	checkContains(t, calls, "confirm")
	for what, text := range map[string]string{"the question": question, "the list": list, "the calls": calls} {
		if strings.Contains(text, hidden) {
			t.Errorf("%s shows the sensitive input: %s", what, text)
		}
	}
	for what, text := range map[string]string{"the command": shown, "the server": row, "the console": html.UnescapeString(page)} {
		if checkContains(t, text, "tools/call create_issue at github", "Fire: (secret)"); strings.Contains(text, hidden) {
			t.Errorf("%s shows the sensitive input: %s", what, text)
		}
	}
	other := strings.Replace(otherIssue, "Reads", "Shows", 1)
	review(reviewedIssue, other)
	if s := o.statusOf(id); s != approval.Pending {
		t.Fatalf("after a new pin of another tool the approval is %s", s)
	}
	if status, body := o.do("bob", http.MethodPost, "/approvals/"+id+"/approve", "{}"); status != http.StatusOK {
		t.Fatalf("%d %s", status, body)
	}
	checkContains(t, <-answered, "Fire: "+hidden)

	id, answered = o.requestApproval("ann", "report", `{"title":"Water","pin":"`+hidden+`"}`)
	review(strings.Replace(reviewedIssue, "Opens", "Makes", 1), other)
	checkContains(t, <-answered, "configuration of this tool was changed", "nothing was done")
	if s := o.statusOf(id); s != approval.Void {
		t.Errorf("after a new pin of its tool the approval is %s", s)
	}
	if n := len(upstream.Calls()); n != 1 {
		t.Errorf("%d calls were sent", n)
	}
	o.terminate(t)
	o.awaitEnd(t)
	records, err := os.ReadFile(filepath.Join(o.dir, "audit.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	checkContains(t, string(records), `"report"`, `"confirm"`)
	for what, text := range map[string]string{"the audit log": string(records), "the log": o.log.String()} {
		if strings.Contains(text, hidden) {
			t.Errorf("%s shows the sensitive input: %s", what, text)
		}
	}
}
