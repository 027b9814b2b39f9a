package e2e_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"hatchel/internal/programtest"
	"hatchel/runtime/durable/audit"
	"hatchel/runtime/stage/approval"
)

// approverKeys declares two approvers and one other caller. $ANN, $BOB and $EVE are replaced by
// digests.
const approverKeys = `
auth {
  api_key "ann" {
    sha256 = "$ANN"
    groups = ["approvers"]
  }
  api_key "bob" {
    sha256 = "$BOB"
    groups = ["approvers"]
  }
  api_key "eve" { sha256 = "$EVE" }
}
`

// approvalConfig declares tools that require approvals. $STATE and the digests are replaced.
const approvalConfig = approverKeys + `
approvals { allow = "'approvers' in caller.groups && (tool.name != 'guarded' || caller.subject == 'bob')" }
audit { file = "audit.jsonl" }
$STATE
tool "refund" {
  description = "Refund."
  input "amount" { type = number }
  input "note" {
    type    = string
    default = ""
  }
  approval {
    when    = "input.amount > 100"
    message = "Refund ${input.amount}: ${input.note}"
  }
  text = "refunded ${input.amount} ${input.note}"
}
tool "brief" {
  description = "Be quick."
  approval { timeout = "1s" }
  text = "brief"
}
tool "guarded" {
  description = "Guarded."
  approval {}
  text = "guarded"
}
`

// approvalServer is a server whose calls require approvals.
type approvalServer struct {
	t    testing.TB
	dir  string
	text string // of the configuration
	*replica
}

// apiKeyOf returns the API key of a caller.
func apiKeyOf(name string) string { return "key-of-" + name + "-0123456789abcdef0123456789abcdef" }

func newApprovalServer(t testing.TB, state string) *approvalServer {
	t.Helper()
	text := strings.ReplaceAll(approvalConfig, "$STATE", state)
	for _, name := range []string{"ann", "bob", "eve"} {
		sum := sha256.Sum256([]byte(apiKeyOf(name)))
		text = strings.ReplaceAll(text, "$"+strings.ToUpper(name), hex.EncodeToString(sum[:]))
	}
	o := &approvalServer{t: t, dir: t.TempDir(), text: text}
	o.writeConfig(text)
	return o
}

// forEachState runs a test with a server that has its state in a file, and with one that has it in
// PostgreSQL; environ lets a command find it.
func forEachState(t *testing.T, test func(t *testing.T, o *approvalServer, environ []string)) {
	for name, state := range map[string]string{"sqlite": `state { sqlite = "state.db" }`, "postgres": "state { postgres = secret.dsn }\nsecret \"dsn\" { env = \"STATE\" }"} {
		t.Run(name, func(t *testing.T) {
			address := ""
			if name == "postgres" {
				address = emptySchema(t)
			}
			o := newApprovalServer(t, state)
			o.replica = startReplica(t, o.dir, address)
			test(t, o, []string{"STATE=" + address})
		})
	}
}

func (o *approvalServer) writeConfig(text string) {
	o.t.Helper()
	if err := os.WriteFile(filepath.Join(o.dir, "tools.hcl"), []byte(text), 0o644); err != nil {
		o.t.Fatal(err)
	}
}

// startApprovalServer starts a server with its state in a file of the directory.
func startApprovalServer(t testing.TB) *approvalServer {
	o := newApprovalServer(t, `state { sqlite = "state.db" }`)
	o.replica = startReplica(t, o.dir, "")
	return o
}

// do makes a request as a caller and returns the response; headers come in pairs.
func (o *approvalServer) do(who, method, path, body string, headers ...string) (int, string) {
	o.t.Helper()
	got := programtest.Send(o.newRequest(who, method, path, body, headers...))
	if got.Err != nil {
		o.t.Fatal(got.Err)
	}
	return got.Status, got.Body
}

func (o *approvalServer) newRequest(who, method, path, body string, headers ...string) *http.Request {
	o.t.Helper()
	r, err := http.NewRequest(method, o.url+path, strings.NewReader(body))
	if err != nil {
		o.t.Fatal(err)
	}
	if who != "" {
		r.Header.Set("Authorization", "Bearer "+apiKeyOf(who))
	}
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return r
}

// startCall starts a call and returns the channel of its response.
func (o *approvalServer) startCall(who, tool, arguments string) <-chan string {
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`, tool, arguments)
	r := o.newRequest(who, http.MethodPost, "/mcp", body, "Accept", "application/json, text/event-stream", "Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", tool)
	answered := make(chan string, 1)
	go func() { answered <- programtest.Send(r).Body }() // none, when the server ends before
	return answered
}

// approvalRow is an approval as a server shows it.
type approvalRow struct {
	ID     string          `json:"id"`
	Status approval.Status `json:"status"`
	approval.Request
	Digest   string             `json:"digest"`
	Decision *approval.Decision `json:"decision"`
	Call     *approval.Call     `json:"call,omitempty"`
}

// localUser returns the person who decides with the command.
func localUser() string {
	u, err := user.Current()
	if err != nil {
		return "os:" + strconv.Itoa(os.Getuid())
	}
	return "os:" + u.Username
}

// awaitPending waits until a caller sees n pending approvals.
func (o *approvalServer) awaitPending(who string, n int) (list []approvalRow) {
	o.t.Helper()
	await(o.t.(*testing.T), func() bool {
		_, body := o.do(who, http.MethodGet, "/approvals", "")
		var page struct{ Approvals []approvalRow }
		if err := json.Unmarshal([]byte(body), &page); err != nil {
			o.t.Fatalf("%v: %s", err, body)
		}
		list = page.Approvals
		return len(list) == n
	})
	return list
}

// requestApproval starts a call and waits until its approval is the only pending one.
func (o *approvalServer) requestApproval(who, tool, arguments string) (id string, answered <-chan string) {
	o.t.Helper()
	answered = o.startCall(who, tool, arguments)
	return o.awaitPending("bob", 1)[0].ID, answered
}

// runCommand runs hatchel in the directory of the server.
func (o *approvalServer) runCommand(environ []string, args ...string) (code int, out, errs string) {
	o.t.Helper()
	cmd := exec.Command("hatchel", args...)
	cmd.Dir = o.dir
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + o.dir}, environ...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		o.t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()
}

// decisionRecords returns the records of decisions in the audit log.
func (o *approvalServer) decisionRecords() (records []audit.Record) {
	o.t.Helper()
	file := filepath.Join(o.dir, "audit.jsonl")
	if err := audit.File(file).Read(o.t.Context(), func(l *audit.Line) bool {
		if r, ok := l.Record(); ok && r.Event == audit.EventApproval {
			records = append(records, r)
		}
		return true
	}); err != nil {
		o.t.Fatal(err)
	}
	if v, err := audit.Verify(o.t.Context(), audit.File(file)); err != nil || v.Broken != nil {
		o.t.Errorf("the log does not verify: %v %v", v, err)
	}
	return records
}

// checkRecorded checks that the audit log has exactly one record of a decision.
func (o *approvalServer) checkRecorded(id, decision, by string) {
	o.t.Helper()
	all := o.decisionRecords()
	n := 0
	for _, r := range all {
		if r.Approval == nil || r.Approval.ID != id {
			continue
		}
		n++
		if r.Decision != decision || r.Approval.By != by || r.Caller.Subject != by || r.Approval.Requester != "eve" && r.Approval.Requester != "ann" || r.ID != id || r.Name == "" || len(r.Approval.Rules) == 0 {
			o.t.Errorf("%s %s by %s: %+v %+v", id, decision, by, r, r.Approval)
		}
	}
	if n != 1 {
		o.t.Errorf("there are %d records of the decision about %s among %d", n, id, len(all))
	}
}

// statusOf returns the status of an approval.
func (o *approvalServer) statusOf(id string) approval.Status {
	o.t.Helper()
	_, body := o.do("bob", http.MethodGet, "/approvals/"+id, "")
	var a approvalRow
	if err := json.Unmarshal([]byte(body), &a); err != nil {
		o.t.Fatalf("%v: %s", err, body)
	}
	return a.Status
}

// checkContains fails the test when a text lacks one of the words.
func checkContains(t testing.TB, text string, words ...string) {
	t.Helper()
	if i := slices.IndexFunc(words, func(w string) bool { return !strings.Contains(text, w) }); i >= 0 {
		t.Errorf("it does not say %q: %s", words[i], text)
	}
}
