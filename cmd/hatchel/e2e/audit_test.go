package e2e_test

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"hatchel/internal/programtest"
	"hatchel/runtime/durable/audit"
)

const paid = `
audit {
  file   = "audit.jsonl"
  rotate = "64KiB"
}
connection "sqlite" "bank" {
  file = "bank.db"
  init = "CREATE TABLE IF NOT EXISTS paid (id TEXT NOT NULL)"
}
tool "pay" {
  description = "Pay once."
  input "id" { type = string }
  sql "bank" { exec = "INSERT INTO paid (id) VALUES (${input.id})" }
  text = "paid"
}
`

// callBody returns the body of a tools/call request of protocol revision 2026-07-28.
func callBody(tool, arguments string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool + `","arguments":` + arguments +
		`,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"test","version":"1"}}}}`
}

func postCall(client *http.Client, url, body, tool string) (string, error) {
	req, err := http.NewRequest(http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("MCP-Protocol-Version", "2026-07-28")
	req.Header.Set("Mcp-Method", "tools/call")
	req.Header.Set("Mcp-Name", tool)
	res, err := client.Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	return string(answer), err
}

// A server is killed again and again while it is called. Every effect has a record that was written
// before it, and every answered call has a record of its outcome.
func TestEveryEffectOfAKilledProcessHasARecord(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "tools.hcl"), []byte(paid), 0o600); err != nil {
		t.Fatal(err)
	}
	rounds := 50
	if testing.Short() {
		rounds = 10
	}
	random := rand.New(rand.NewPCG(uint64(rounds), 7))
	answered := map[string]bool{}
	for round := range rounds {
		payUntilKilled(t, dir, round, random.IntN(60), answered)
		if v, err := audit.Verify(t.Context(), audit.File(filepath.Join(dir, "audit.jsonl"))); err != nil || v.Broken != nil {
			t.Fatalf("after %d times: %v %v", round+1, v, err)
		}
	}
	begun, ended := map[string]bool{}, map[string]string{}
	ids := map[string]string{}
	err := audit.File(filepath.Join(dir, "audit.jsonl")).Read(t.Context(), func(l *audit.Line) bool {
		r, _ := l.Record()
		switch r.Event {
		case audit.EventIntent:
			var a struct{ ID string }
			if err := json.Unmarshal(r.Arguments, &a); err != nil {
				t.Fatal(err)
			}
			begun[a.ID], ids[r.ID] = true, a.ID
		case audit.EventCall:
			ended[ids[r.ID]] = r.Outcome
		}
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	done := paymentsIn(t, filepath.Join(dir, "bank.db"))
	for _, id := range done {
		if !begun[id] {
			t.Errorf("%s was paid, and nothing says so", id)
		}
	}
	for id := range answered {
		if ended[id] != audit.OK {
			t.Errorf("%s was answered, and what came of it is %q", id, ended[id])
		}
	}
	if len(done) < rounds || len(answered) < rounds {
		t.Errorf("only %d were paid and %d answered", len(done), len(answered))
	}
	t.Logf("%d paid, %d answered, %d begun", len(done), len(answered), len(begun))
}

// payUntilKilled serves the directory and kills the process after a number of answered calls,
// during others.
func payUntilKilled(t *testing.T, dir string, round, calls int, answered map[string]bool) {
	r := startReplica(t, dir, "")
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	var mu sync.Mutex
	var all sync.WaitGroup
	enough := make(chan struct{})
	left := calls
	if left == 0 {
		close(enough)
	}
	for worker := range 4 {
		all.Go(func() {
			for n := 0; ; n++ {
				id := fmt.Sprintf("%d.%d.%d", round, worker, n)
				answer, err := postCall(client, r.url+"/mcp", callBody("pay", `{"id":"`+id+`"}`), "pay")
				if err != nil {
					return
				}
				if !strings.Contains(answer, `"text":"paid"`) {
					t.Errorf("got %s", answer)
					return
				}
				mu.Lock()
				answered[id] = true
				if left--; left == 0 {
					close(enough)
				}
				mu.Unlock()
			}
		})
	}
	select {
	case <-enough:
	case <-time.After(programtest.Timeout):
		t.Error("calls are not answered")
	}
	r.kill()
	all.Wait()
}

func paymentsIn(t *testing.T, file string) (ids []string) {
	t.Helper()
	db, err := sql.Open("sqlite3", file)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.Query("SELECT id FROM paid")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	return ids
}

// BenchmarkAudit measures the processor time of a call over HTTP with and without an audit log: of
// a read-only tool, whose record is written when the response is sent, and of a tool with effects,
// which waits for the disk before it starts.
func BenchmarkAudit(b *testing.B) {
	for _, c := range []struct {
		name, tool string
		callers    int
	}{{"echo", "echo", 1}, {"echo, 16 at once", "echo", 16}, {"effect, 16 at once", "touch", 16}} {
		b.Run(c.name, func(b *testing.B) {
			var spent [2]time.Duration
			servers := [2]*replica{startEchoServer(b, ""), startEchoServer(b, "audit { file = \"audit.jsonl\" }\n")}
			const chunk = 400
			calls := 0
			for b.Loop() {
				for i, server := range servers {
					began := processorTime(b, server)
					callEcho(b, server, c.tool, c.callers, chunk)
					spent[i] += processorTime(b, server) - began
				}
				calls += chunk
			}
			b.ReportMetric(float64(spent[0].Nanoseconds())/float64(calls), "ns-without/call")
			b.ReportMetric(float64(spent[1].Nanoseconds())/float64(calls), "ns-with/call")
			b.ReportMetric(float64(spent[1])/float64(spent[0]), "ratio")
		})
	}
}

func startEchoServer(b *testing.B, block string) *replica {
	b.Helper()
	dir := b.TempDir()
	src := block + `
tool "echo" {
  description = "Echo."
  input "name" { type = string }
  text = "Hello ${input.name}"
}
tool "touch" {
  description = "Echo, and say that something may have changed."
  read_only   = false
  input "name" { type = string }
  text = "Hello ${input.name}"
}
`
	if err := os.WriteFile(filepath.Join(dir, "tools.hcl"), []byte(src), 0o600); err != nil {
		b.Fatal(err)
	}
	return startReplica(b, dir, "")
}

func callEcho(b *testing.B, server *replica, tool string, callers, calls int) {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: callers}}
	defer client.CloseIdleConnections()
	body := callBody(tool, `{"name":"Ada"}`)
	var running sync.WaitGroup
	for range callers {
		running.Go(func() {
			for range calls / callers {
				answer, err := postCall(client, server.url+"/mcp", body, tool)
				if err != nil || !strings.Contains(answer, "Hello Ada") {
					b.Errorf("%v %s", err, answer)
					return
				}
			}
		})
	}
	running.Wait()
}

// processorTime returns the processor time of a process, with a resolution of 10 ms.
func processorTime(b *testing.B, r *replica) time.Duration {
	b.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", r.cmd.Process.Pid))
	if err != nil {
		b.Skip("this system does not say what a process uses: ", err)
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	ticks := 0
	for _, f := range fields[11:13] { // utime and stime
		n, err := strconv.Atoi(f)
		if err != nil {
			b.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}

// A server whose audit log is truncated or replaced refuses every call that must be recorded, and
// says so.
func TestCallsAreRefusedWithoutAnAuditLog(t *testing.T) {
	t.Parallel()
	for claim, change := range map[string]func(path string) error{
		"emptied": func(path string) error { return os.Truncate(path, 0) },
		"replaced": func(path string) error {
			return errors.Join(os.Rename(path, path+".1"), os.WriteFile(path, nil, 0o600))
		},
	} {
		t.Run(claim, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "tools.hcl"), []byte(paid), 0o600); err != nil {
				t.Fatal(err)
			}
			r := startReplica(t, dir, "")
			pay := func(id string) string {
				answer, err := postCall(http.DefaultClient, r.url+"/mcp", callBody("pay", `{"id":"`+id+`"}`), "pay")
				if err != nil {
					t.Fatal(err)
				}
				return answer
			}
			if answer := pay("before"); !strings.Contains(answer, `"text":"paid"`) {
				t.Fatal(answer)
			}
			if status := statusOf(t, r.url+"/readyz"); status != http.StatusOK {
				t.Errorf("before, /readyz answers %d", status)
			}
			if err := change(filepath.Join(dir, "audit.jsonl")); err != nil {
				t.Fatal(err)
			}
			if status := statusOf(t, r.url+"/readyz"); status != http.StatusServiceUnavailable {
				t.Errorf("before anybody calls, /readyz answers %d", status)
			}
			if answer := pay("after"); strings.Contains(answer, `"text":"paid"`) {
				t.Error(answer)
			}
			if done := paymentsIn(t, filepath.Join(dir, "bank.db")); len(done) != 1 {
				t.Errorf("%v were paid", done)
			}
			if status := statusOf(t, r.url+"/readyz"); status != http.StatusServiceUnavailable {
				t.Errorf("after, /readyz answers %d", status)
			}
			r.kill()
			r = startReplica(t, dir, "")
			if answer := pay("again"); !strings.Contains(answer, `"text":"paid"`) {
				t.Errorf("after a restart: %s", answer)
			}
		})
	}
}

// readyz returns the status and the body of /readyz, without white space.
func readyz(t *testing.T, url string) (status int, body string) {
	t.Helper()
	res, err := http.Get(url + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, strings.Join(strings.Fields(string(b)), "")
}

func statusOf(t *testing.T, url string) int {
	t.Helper()
	res, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	return res.StatusCode
}
