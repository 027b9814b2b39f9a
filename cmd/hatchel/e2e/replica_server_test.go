package e2e_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hatchel/runtime/durable/audit"
)

// replicatedServerConfig is the configuration of three processes with callers, approvals, files and
// one audit log. The digests are replaced.
const replicatedServerConfig = approverKeys + `
secret "state" { env = "STATE" }
variable "bank" { type = string }
state { postgres = secret.state }
audit { postgres = secret.state }
approvals { allow = "'approvers' in caller.groups" }
connection "http" "bank" { base_url = var.bank }
tool "refund" {
  description = "Refund."
  input "amount" { type = number }
  approval { message = "Refund ${input.amount}" }
  http "bank" { post = "/pay" }
  text = "refunded ${input.amount}"
}
tool "words" {
  description = "Count the words of a text."
  input "scan" { type = file("A text", { types = ["text/*"] }) }
  shell {
    command = ["wc", "-w"]
    stdin   = input.scan
  }
}
`

// replicatedServer is a server of three processes with nginx in front of them, whose calls require
// approvals.
type replicatedServer struct {
	approvalServer
	replicas []*replica
	nginx    *replica
	bank     *bank
	database string
	flags    []string
}

func startReplicatedServer(t *testing.T) *replicatedServer {
	t.Helper()
	text := replicatedServerConfig
	for _, name := range []string{"ann", "bob", "eve"} {
		sum := sha256.Sum256([]byte(apiKeyOf(name)))
		text = strings.ReplaceAll(text, "$"+strings.ToUpper(name), hex.EncodeToString(sum[:]))
	}
	b := &replicatedServer{approvalServer: approvalServer{t: t, dir: t.TempDir()}, database: emptySchema(t)}
	if err := os.WriteFile(filepath.Join(b.dir, "tools.hcl"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	var address string
	b.bank, address = startBank(t)
	b.flags = []string{"--var", "bank=" + address}
	for range 3 {
		b.replicas = append(b.replicas, startReplica(t, b.dir, b.database, b.flags...))
	}
	b.nginx = &replica{url: startNginx(t, b.replicas)}
	b.replica = b.nginx
	return b
}

// through returns the server as seen through one of its processes.
func (b *replicatedServer) through(r *replica) *approvalServer {
	return &approvalServer{t: b.t, dir: b.dir, replica: r}
}

// runWithDatabase runs hatchel with the database of the server.
func (b *replicatedServer) runWithDatabase(args ...string) (code int, out, errs string) {
	b.t.Helper()
	return b.runCommand([]string{"STATE=" + b.database, "HATCHEL_KEY=" + apiKeyOf("bob")}, args...)
}

// auditRecords verifies the audit log and returns its records.
func (b *replicatedServer) auditRecords() (all []audit.Record) {
	b.t.Helper()
	if v, err := audit.Verify(b.t.Context(), audit.Database(b.database)); err != nil || v.Broken != nil || v.First != 1 {
		b.t.Errorf("the chain does not hold: %+v %v", v, err)
	}
	err := audit.Database(b.database).Read(b.t.Context(), func(l *audit.Line) bool {
		r, _ := l.Record()
		all = append(all, r)
		return true
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return all
}

// pendingApprovals returns the pending approvals that bob sees.
func (b *replicatedServer) pendingApprovals() []approvalRow {
	b.t.Helper()
	_, body := b.do("bob", http.MethodGet, "/approvals", "")
	var page struct{ Approvals []approvalRow }
	if err := json.Unmarshal([]byte(body), &page); err != nil {
		b.t.Fatalf("%v: %s", err, body)
	}
	return page.Approvals
}

// sendAsTaskClient makes a request of a client that supports tasks, through one of the processes.
func (b *replicatedServer) sendAsTaskClient(r *replica, method, name string, params map[string]any) (got rpcResponse) {
	b.t.Helper()
	params["_meta"] = map[string]any{
		"io.modelcontextprotocol/protocolVersion":    "2026-07-28",
		"io.modelcontextprotocol/clientCapabilities": map[string]any{"extensions": map[string]any{"io.modelcontextprotocol/tasks": map[string]any{}}},
	}
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		b.t.Fatal(err)
	}
	_, said := b.through(r).do("eve", http.MethodPost, "/mcp", string(body), "Accept", "application/json, text/event-stream", "Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", method, "Mcp-Name", name)
	if err := json.Unmarshal([]byte(said), &got); err != nil {
		b.t.Fatalf("%v: %s", err, said)
	}
	return got
}
