package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hatchel/runtime/audit"
)

// branchTools is what three processes with callers, approvals, files and one audit log serve. $ANN and what follows are replaced.
const branchTools = officeKeys + `
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

// branch is a server of three processes, with nginx in front of them, where calls are decided about.
type branch struct {
	office
	all      []*replica
	nginx    *replica
	bank     *bank
	database string
	flags    []string
}

func openBranch(t *testing.T) *branch {
	t.Helper()
	text := branchTools
	for _, name := range []string{"ann", "bob", "eve"} {
		sum := sha256.Sum256([]byte(keyOf(name)))
		text = strings.ReplaceAll(text, "$"+strings.ToUpper(name), hex.EncodeToString(sum[:]))
	}
	b := &branch{office: office{t: t, dir: t.TempDir()}, database: emptySchema(t)}
	if err := os.WriteFile(filepath.Join(b.dir, "tools.hcl"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	var address string
	b.bank, address = startBank(t)
	b.flags = []string{"--var", "bank=" + address}
	for range 3 {
		b.all = append(b.all, startReplica(t, b.dir, b.database, b.flags...))
	}
	b.nginx = &replica{url: startNginx(t, b.all)}
	b.replica = b.nginx
	return b
}

// at is the same server, asked through one of its processes.
func (b *branch) at(r *replica) *office { return &office{t: b.t, dir: b.dir, replica: r} }

// command runs hatchel beside the database.
func (b *branch) command(args ...string) (code int, out, errs string) {
	b.t.Helper()
	return b.run([]string{"STATE=" + b.database, "HATCHEL_KEY=" + keyOf("bob")}, args...)
}

// records are all that was written down, in a chain that holds.
func (b *branch) records() (all []audit.Record) {
	b.t.Helper()
	if v, err := audit.VerifyTable(b.t.Context(), b.database); err != nil || v.Broken != nil || v.First != 1 {
		b.t.Errorf("the chain does not hold: %+v %v", v, err)
	}
	err := audit.ReadTable(b.t.Context(), b.database, func(l *audit.Line) bool {
		r, _ := l.Record()
		all = append(all, r)
		return true
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return all
}

// waiting are the approvals that wait now, as bob sees them.
func (b *branch) waiting() []approvalRow {
	b.t.Helper()
	_, body := b.ask("bob", http.MethodGet, "/approvals", "")
	var page struct{ Approvals []approvalRow }
	if err := json.Unmarshal([]byte(body), &page); err != nil {
		b.t.Fatalf("%v: %s", err, body)
	}
	return page.Approvals
}

// asTask makes a request of a client that can follow tasks, through one of the processes.
func (b *branch) asTask(r *replica, method, name string, params map[string]any) (got told) {
	b.t.Helper()
	params["_meta"] = map[string]any{
		"io.modelcontextprotocol/protocolVersion":    "2026-07-28",
		"io.modelcontextprotocol/clientCapabilities": map[string]any{"extensions": map[string]any{"io.modelcontextprotocol/tasks": map[string]any{}}},
	}
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		b.t.Fatal(err)
	}
	_, said := b.at(r).ask("eve", http.MethodPost, "/mcp", string(body), "Accept", "application/json, text/event-stream", "Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", method, "Mcp-Name", name)
	if err := json.Unmarshal([]byte(said), &got); err != nil {
		b.t.Fatalf("%v: %s", err, said)
	}
	return got
}
