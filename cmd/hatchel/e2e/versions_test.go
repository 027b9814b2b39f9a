package e2e_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hatchel/internal/programtest"
)

// versionConfig adds to replicaConfig what else a state and an audit log keep.
const versionConfig = `
audit { file = "audit.log" }
connection "http" "bank" { base_url = var.bank }
tool "refund" {
  description = "Pay, if an operator agrees."
  input "n" { type = number }
  approval { timeout = "10m" }
  http "bank" { post = "/pay" }
  text = "refunded ${input.n}"
}
tool "few" {
  description = "Answer a few times an hour."
  limit {
    rate = "3/h"
    per  = "tool"
  }
  text = "one of a few"
}
`

// stored is what one process has left to the next ones.
type stored struct {
	session, key, state, task, approval string
	n                                   int // of its refund
}

// Processes that serve a state one after the other go on with what the earlier ones have stored, whichever of them were
// killed. With the flag -other they are of two versions.
func TestAProcessServesWhatEarlierOnesHaveStored(t *testing.T) {
	t.Parallel()
	for name, state := range map[string]string{
		"sqlite": "state { sqlite = \"state.db\" }\n", "postgres": "secret \"state\" { env = \"STATE\" }\nstate { postgres = secret.state }\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			database := ""
			if name == "postgres" {
				database = emptySchema(t)
			}
			bank, url := startBank(t)
			dir := t.TempDir()
			_, tools, _ := strings.Cut(replicaConfig, "connection \"http\" \"bank\" { base_url = var.bank }\n")
			config := "variable \"bank\" { type = string }\n" + state + versionConfig + tools
			if err := os.WriteFile(filepath.Join(dir, "tools.hcl"), []byte(config), 0o644); err != nil {
				t.Fatal(err)
			}
			run := func(args ...string) string {
				t.Helper()
				cmd := exec.Command("hatchel", append(args, "--var", "bank="+url)...)
				cmd.Dir, cmd.Env = dir, append(os.Environ(), "STATE="+database)
				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Fatalf("hatchel %v: %v: %s", args, err, out)
				}
				return string(out)
			}
			var earlier []stored
			paid, few := int64(0), 0
			check := func(what, got, want string) {
				t.Helper()
				if got != want {
					t.Errorf("process %d, %s: %q, not %q", len(earlier), what, got, want)
				}
				if n := bank.paid.Load(); n != paid {
					t.Fatalf("process %d, %s: paid %d times, not %d", len(earlier), what, n, paid)
				}
			}
			refund := func(r *replica, n int) rpcResponse {
				t.Helper()
				return sendRPC(t, r.url, "tools/call", map[string]any{
					"name": "refund", "arguments": map[string]any{"n": n},
				})
			}
			awaitTask := func(r *replica, id, status string) {
				t.Helper()
				await(t, func() bool { return sendTaskRPC(t, r.url, "tasks/get", id, nil).Result.Status == status })
			}
			textOf := func(r *replica, got rpcResponse) string {
				t.Helper()
				if got.Result.ResultType == "task" { // it took some time
					awaitTask(r, got.Result.TaskID, "completed")
					got = sendTaskRPC(t, r.url, "tasks/get", got.Result.TaskID, nil)
				}
				return got.text()
			}
			for i := range 5 {
				r := startReplica(t, dir, database, "--var", "bank="+url)
				for j, before := range earlier {
					check("a session", callInSession(t, r.url, before.session), "plain")
					check("a key", buy(t, r.url, before.key).text(), "bought")
					check("a task", sendTaskRPC(t, r.url, "tasks/get", before.task, nil).text(), "it was Ada")
					if j == i-1 {
						check("a paused call", resumeCall(t, r.url, "pay", before.state).text(), "paid: accept")
						paid++
						check("an approval", textOf(r, refund(r, before.n)), fmt.Sprint("refunded ", before.n))
					}
				}
				few++
				if got := callTool(t, r.url, "few"); (got.text() == "one of a few") != (few <= 3) {
					t.Errorf("process %d: call %d of a rate of 3 is answered with %+v", i, few, got)
				}
				left := stored{session: openSession(t, r.url), key: fmt.Sprint("key-", i), n: 100 + i}
				paid++
				check("a new key", buy(t, r.url, left.key).text(), "bought")
				paid++
				left.state = callTool(t, r.url, "pay").Result.RequestState
				left.task = callTool(t, r.url, "quiz").Result.TaskID
				awaitTask(r, left.task, "input_required")
				sendTaskRPC(t, r.url, "tasks/update", left.task, map[string]any{
					"who": map[string]any{"action": "accept", "content": map[string]any{"name": "Ada"}},
				})
				awaitTask(r, left.task, "completed")
				refund(r, left.n) // becomes a task, which waits
				var pending []struct{ ID string }
				await(t, func() bool {
					if err := json.Unmarshal([]byte(run("approvals", "list", "--json")), &pending); err != nil {
						t.Fatal(err)
					}
					return len(pending) == 1
				})
				left.approval = pending[0].ID
				if i%2 == 0 {
					r.kill()
				} else {
					r.terminate(t)
					r.awaitEnd(t)
				}
				run("approvals", "approve", left.approval)
				earlier = append(earlier, left)
			}
			if out := run("audit", "--verify"); !strings.Contains(out, "the chain holds: ") {
				t.Errorf("the audit log: %s", out)
			}
		})
	}
}

// openSession initializes a session of revision 2025-11-25 and returns its id.
func openSession(t *testing.T, url string) string {
	t.Helper()
	header, _ := postInSession(t, url, "", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",`+
		`"capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
	return header.Get("Mcp-Session-Id")
}

// callInSession calls the tool plain in a session and returns its text.
func callInSession(t *testing.T, url, session string) string {
	t.Helper()
	_, got := postInSession(t, url, session, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"plain","arguments":{}}}`)
	return got.text()
}

func postInSession(t *testing.T, url, session, body string) (header http.Header, got rpcResponse) {
	t.Helper()
	r, err := http.NewRequest(http.MethodPost, url+"/mcp", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if session != "" {
		r.Header.Set("Mcp-Session-Id", session)
		r.Header.Set("Mcp-Protocol-Version", "2025-11-25")
	}
	res, err := (&http.Client{Timeout: programtest.Timeout}).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if _, data, ok := strings.Cut(string(answer), "data: {"); ok {
		answer = []byte("{" + data)
	}
	if err = errors.Join(err, json.Unmarshal(answer, &got)); err != nil {
		t.Fatalf("%v: %s", err, answer)
	}
	return res.Header, got
}
