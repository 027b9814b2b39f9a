package e2e_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"hatchel/runtime/durable/audit"
)

const auditedTogether = `
secret "state" { env = "STATE" }
audit { postgres = secret.state }
tool "touch" {
  description = "May change something."
  read_only   = false
  input "id" { type = string }
  text = "touched ${input.id}"
}
`

func writeAuditConfig(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "tools.hcl"), []byte(auditedTogether), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// runHatchel runs a command with the state of a database.
func runHatchel(t *testing.T, database string, arguments ...string) (out string, code int) {
	t.Helper()
	hatchel, err := exec.LookPath("hatchel")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), hatchel, arguments...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "STATE=" + database}
	b, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return string(b), cmd.ProcessState.ExitCode()
}

// Three processes write one audit log while they are called and killed. Every answered call has a
// record, and the commands read it.
func TestAllProcessesShareOneAuditLog(t *testing.T) {
	t.Parallel()
	database, dir := emptySchema(t), writeAuditConfig(t)
	var mu sync.Mutex
	answered := map[string]bool{}
	for round := range 3 {
		var calling sync.WaitGroup
		for n := range 3 {
			r := startReplica(t, dir, database)
			calling.Go(func() {
				var all sync.WaitGroup
				for caller := range 4 {
					all.Go(func() {
						for i := range 10 {
							id := fmt.Sprintf("%d.%d.%d.%d", round, n, caller, i)
							answer, err := postCall(http.DefaultClient, r.url+"/mcp", callBody("touch", `{"id":"`+id+`"}`), "touch")
							if err != nil {
								return
							}
							if !strings.Contains(answer, "touched") || strings.Contains(answer, "isError") {
								t.Errorf("got %s", answer)
							}
							mu.Lock()
							answered[id] = true
							mu.Unlock()
							if n == 0 && i == 5 {
								r.cmd.Process.Kill()
							}
						}
					})
				}
				all.Wait()
				r.kill()
			})
		}
		calling.Wait()
	}
	v, err := audit.Verify(t.Context(), audit.Database(database))
	if err != nil || v.Broken != nil || v.First != 1 {
		t.Fatal(v, err)
	}
	begun, ended := map[string]string{}, map[string]bool{}
	err = audit.Database(database).Read(t.Context(), func(l *audit.Line) bool {
		switch r, _ := l.Record(); r.Event {
		case audit.EventIntent:
			begun[r.ID] = string(r.Arguments)
		case audit.EventCall:
			ended[begun[r.ID]] = r.Outcome == audit.OK
		}
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	for id := range answered {
		if !ended[`{"id":"`+id+`"}`] {
			t.Errorf("%s was answered, and nothing says so", id)
		}
	}
	if len(answered) < 200 {
		t.Errorf("only %d were answered", len(answered))
	}
	if out, code := runHatchel(t, database, "audit", "--verify", dir); code != 0 || !strings.Contains(out, "the chain holds: ") || !strings.Contains(out, "in the table hatchel_audit, from 1 to") {
		t.Errorf("%d %s", code, out)
	}
	if out, code := runHatchel(t, database, "audit", "--tool", "touch", "--outcome", "ok", "--json", dir); code != 0 || bytes.Count([]byte(out), []byte("\n")) < len(answered) || strings.Contains(out, "opened") {
		t.Errorf("%d %.300s", code, out)
	}
	if out, code := runHatchel(t, database, "validate", "--connect", dir); code != 0 {
		t.Errorf("%d %s", code, out)
	}
}

// While the audit database is unavailable calls are refused and /readyz reports it. The server
// recovers, and never shows the address.
func TestCallsAreRefusedWhileTheAuditDatabaseIsUnavailable(t *testing.T) {
	t.Parallel()
	database := emptySchema(t)
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	way := newProxy(t, u.Host)
	u.Host, u.User = way.at, url.UserPassword(u.User.Username(), "hunter2")
	r := startReplica(t, writeAuditConfig(t), u.String())
	call := func() string {
		answer, err := postCall(http.DefaultClient, r.url+"/mcp", callBody("touch", `{"id":"x"}`), "touch")
		if err != nil {
			t.Fatal(err)
		}
		return answer
	}
	if got := call(); strings.Contains(got, "isError") {
		t.Fatal(got)
	}
	way.disconnect()
	if status, said := readyz(t, r.url); status != http.StatusServiceUnavailable || !strings.Contains(said, `"audit":{"ok":false,"error":"`) || strings.Contains(said, "hunter2") {
		t.Errorf("%d %s", status, said)
	}
	if got := call(); !strings.Contains(got, "Nothing was done. This server makes no call") || strings.Contains(got, "hunter2") {
		t.Errorf("got %s", got)
	}
	way.connect()
	await(t, func() bool { // on a busy machine it takes long to find out that it is away, and that is believed for a moment
		status, _ := readyz(t, r.url)
		return status == http.StatusOK
	})
	if got := call(); strings.Contains(got, "isError") {
		t.Error(got)
	}
	if out, code := runHatchel(t, "postgres://ada:hunter2@127.0.0.1:1/x", "audit", writeAuditConfig(t)); code == 0 || strings.Contains(out, "hunter2") || !strings.Contains(out, "the database cannot be read: it cannot be reached") {
		t.Errorf("%d %s", code, out)
	}
}
