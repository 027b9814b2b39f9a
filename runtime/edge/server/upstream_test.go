package server

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"hatchel/adapters/mcp/client/mcptest"
	"hatchel/adapters/mcp/definition/definitiontest"
	"hatchel/hcl/eventkind"
	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/load/hold"
	"hatchel/runtime/observe/event"
)

const (
	createIssue = `{"name":"create_issue","title":"Create","description":"Opens an issue.","inputSchema":{"type":"object",` +
		`"properties":{"title":{"type":"string"}},"required":["title"]},"outputSchema":{"type":"object","properties":` +
		`{"number":{"type":"integer"}},"required":["number"]},"annotations":{"destructiveHint":false},"execution":` +
		`{"taskSupport":"optional"}}`
	getIssue = `{"name":"get_issue","description":"Reads an issue.","inputSchema":{"type":"object"}}`
)

// upstreamServer is a server in front of a scripted MCP server.
type upstreamServer struct {
	*heldServer
	upstream *mcptest.Server
}

func newUpstreamServer(t testing.TB, upstream *mcptest.Server, checker hold.Checker, connection string) *upstreamServer {
	t.Helper()
	upstream.SetTools(createIssue, getIssue)
	upstream.Handle("create_issue", func(*mcptest.Call) (any, error) {
		return mcptest.Structured(map[string]any{"number": 7}), nil
	})
	url := upstream.Start(t)
	return &upstreamServer{newHeldServer(t, checker, map[string]string{
		"github.tools.json": definitiontest.Text(t, createIssue, getIssue),
		"a.hcl": fmt.Sprintf(`
connection "mcp" "github" {
  url         = %q
  definitions = "github.tools.json"
  %s
}
tool "report" {
  description = "Open an issue."
  input "title" { type = string }
  mcp "github" { call = "create_issue" }
}
tool "read" {
  description = "Read an issue."
  read_only   = true
  cache { ttl = "1h" }
  mcp "github" { call = "get_issue" }
}
audit { file = "audit.jsonl" }
events {}
`, url, connection),
	}), upstream}
}

// callTool calls a tool and returns its text.
func (s *upstreamServer) callTool(name, arguments string) string {
	s.t.Helper()
	out, err := s.host.CallTool(s.t.Context(), &mcp.CallRequest{
		Name: name, Arguments: []byte(arguments), Caller: &mcp.Caller{Revision: mcp.Revision20251125},
	})
	if err != nil {
		return "error: " + err.Error()
	}
	var result struct {
		Content []struct{ Text string }
		IsError bool
	}
	if err := json.Unmarshal(out.AppendResult(nil, mcp.Revision20251125), &result); err != nil || len(result.Content) == 0 {
		return fmt.Sprint(err, result)
	}
	if result.IsError {
		return "failed: " + result.Content[0].Text
	}
	return "ok: " + result.Content[0].Text
}

func (s *upstreamServer) report() string { return s.callTool("report", `{"title":"x"}`) }

// drifts returns the drift of the first upstream server in /readyz, as one text, with its state.
func (s *upstreamServer) drifts() (state, drift string) {
	s.t.Helper()
	status, body := s.request(http.MethodGet, "/readyz")
	var r struct {
		Upstreams []struct {
			State string
			Drift []struct {
				Name    string
				Changed []string
				Served  bool
			}
		}
	}
	if err := json.Unmarshal([]byte(body), &r); err != nil || status != http.StatusOK || len(r.Upstreams) != 1 {
		s.t.Fatalf("%d %s", status, body)
	}
	var all []string
	for _, d := range r.Upstreams[0].Drift {
		text := d.Name + ": " + strings.Join(d.Changed, "; ")
		if d.Served {
			text += " (served)"
		}
		all = append(all, text)
	}
	return r.Upstreams[0].State, strings.Join(all, ", ")
}

// records returns the differences of the audit records of drift.
func (s *upstreamServer) records() (all []string) {
	s.t.Helper()
	f, err := os.Open(filepath.Join(s.dir, "audit.jsonl"))
	if err != nil {
		s.t.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var r struct {
			Event, Name, Outcome string
			Differences          []string
		}
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			s.t.Fatal(err)
		}
		if r.Event == "drift" {
			all = append(all, r.Name+" "+r.Outcome+" "+strings.Join(r.Differences, ", "))
		}
	}
	return all
}

const withdrawn = "This tool is withdrawn: the server behind it has changed since its review. Nothing was sent."

func replaced(t testing.TB, old, with string) string {
	t.Helper()
	if strings.Count(createIssue, old) != 1 {
		t.Fatalf("%s is not once in the definition", old)
	}
	return strings.Replace(createIssue, old, with, 1)
}

func TestEachChangeOfADefinitionWithdrawsItsTool(t *testing.T) {
	for _, era := range []mcptest.Era{mcptest.Legacy, mcptest.Modern} {
		t.Run(fmt.Sprint("era ", era), func(t *testing.T) { testChanges(t, era) })
	}
}

func testChanges(t *testing.T, era mcptest.Era) {
	t.Parallel()
	upstream := &mcptest.Server{Era: era, Stateful: true}
	s := newUpstreamServer(t, upstream, hold.Checker{}, `refresh = "0s"`)
	listener, err := s.host.Operator().Listen(t.Context(), new(mcp.Caller), true, event.Query{
		Follow: true, Kinds: eventkind.Of(eventkind.Upstream)})
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	if got := s.report(); got != `ok: {"number":7}` {
		t.Fatal(got)
	}
	for _, c := range []struct {
		name  string
		tools []string
		want  string // the drift in /readyz
	}{
		{"title", []string{replaced(t, `"Create"`, `"Make"`), getIssue}, "create_issue: title"},
		{"description", []string{replaced(t, "Opens", "Sends"), getIssue}, "create_issue: description"},
		{"hidden text", []string{replaced(t, "Opens an issue.", "Opens an issue.\u200b"), getIssue},
			"create_issue: description"},
		{"optional argument", []string{replaced(t, `"properties":{"title"`,
			`"properties":{"assignee":{"type":"string"},"title"`), getIssue}, `create_issue: input "assignee" added`},
		{"type of an argument", []string{replaced(t, `{"title":{"type":"string"}}`, `{"title":{"type":"integer"}}`),
			getIssue}, "create_issue: "},
		{"required argument", []string{replaced(t, `"properties":{"title":{"type":"string"}},"required":["title"]`,
			`"properties":{"title":{"type":"string"},"to":{"type":"string"}},"required":["title","to"]`), getIssue},
			`create_issue: input "to" added, which is required`},
		{"result", []string{replaced(t, `{"number":{"type":"integer"}}`, `{"number":{"type":"string"}}`), getIssue},
			"create_issue: "},
		{"annotations", []string{replaced(t, `"destructiveHint":false`, `"destructiveHint":true`), getIssue},
			"create_issue: "},
		{"tasks", []string{replaced(t, `"optional"`, `"required"`), getIssue}, "create_issue: "},
		{"renamed", []string{getIssue, replaced(t, "create_issue", "open_issue")}, "create_issue: missing"},
		{"twice", []string{createIssue, getIssue, createIssue}, "create_issue: listed more than once"},
		{"removed", []string{getIssue}, "create_issue: missing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			before, records := len(upstream.Calls()), len(s.records())
			upstream.SetTools(c.tools...)
			if got := s.report(); got != "failed: "+withdrawn {
				t.Errorf("the call: %s", got)
			}
			if n := len(upstream.Calls()); n != before {
				t.Errorf("the call was sent")
			}
			if state, drift := s.drifts(); state != "drifted" || !strings.HasPrefix(drift, c.want) ||
				strings.Contains(drift, "get_issue") {
				t.Errorf("/readyz has %s %q, want %q", state, drift, c.want)
			}
			after := s.records()
			if len(after) == records || !strings.HasPrefix(after[len(after)-1], "mcp.github refused create_issue ") {
				t.Errorf("the audit log has %q", after[records:])
			}
			events, err := listener.Next(t.Context())
			if err != nil || len(events) == 0 || !strings.Contains(string(events[len(events)-1].Data), `"create_issue"`) {
				t.Errorf("events: %v, %v", events, err)
			}
			for range 20 { // whatever the server lists, ours is the same
				if listed := s.host.Current().Count("", mcp.Tools); listed != 2 {
					t.Errorf("%d tools are listed", listed)
				}
			}
			upstream.SetTools(getIssue, createIssue, `{"name":"new","inputSchema":{"type":"object"}}`)
			if got := s.report(); got != `ok: {"number":7}` {
				t.Errorf("after the server is as reviewed again: %s", got)
			}
			if state, drift := s.drifts(); state != "ready" || drift != "" {
				t.Errorf("/readyz has %s %q", state, drift)
			}
			if _, err := listener.Next(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// eventually waits for a state of the server.
func eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not in 30 s: %s", what)
		}
	}
}

func TestANotificationWithdrawsAToolAndItsCachedResult(t *testing.T) {
	t.Parallel()
	upstream := &mcptest.Server{Era: mcptest.Legacy, Stateful: true}
	s := newUpstreamServer(t, upstream, hold.Checker{}, "")
	first := s.callTool("read", "{}")
	if !strings.HasPrefix(first, "ok: ") || s.callTool("read", "{}") != first || len(upstream.Calls()) != 1 {
		t.Fatalf("%s after %d calls", first, len(upstream.Calls()))
	}
	eventually(t, "the client listens", func() bool { return upstream.Listeners() > 0 })
	upstream.SetTools(createIssue, strings.Replace(getIssue, "Reads", "Sends", 1))
	eventually(t, "the result in the cache is withdrawn", func() bool { return s.callTool("read", "{}") == "failed: "+withdrawn })
	if n := len(upstream.Calls()); n != 1 {
		t.Errorf("%d calls were sent", n)
	}
}

func TestCompatibleChangesAreServedWhereTheConnectionSaysSo(t *testing.T) {
	upstream := &mcptest.Server{Era: mcptest.Both}
	s := newUpstreamServer(t, upstream, hold.Checker{}, "refresh = \"0s\"\n  on_drift = \"compatible\"")
	upstream.SetTools(replaced(t, "Opens", "Makes"), getIssue)
	if got := s.report(); got != `ok: {"number":7}` {
		t.Error(got)
	}
	if state, drift := s.drifts(); state != "ready" || drift != "create_issue: description (served)" {
		t.Errorf("/readyz has %s %q", state, drift)
	}
	if records := s.records(); len(records) != 1 || records[0] != "mcp.github ok create_issue has changed: description" {
		t.Errorf("records %q", records)
	}
	upstream.SetTools(replaced(t, `"destructiveHint":false`, `"destructiveHint":true`), getIssue)
	if got := s.report(); got != "failed: "+withdrawn {
		t.Error(got)
	}
}

// TestAListIsComparedAgainWhenItsTimeToLiveEnds is about a server that tells nobody of changes.
func TestAListIsComparedAgainWhenItsTimeToLiveEnds(t *testing.T) {
	t.Parallel()
	upstream := &mcptest.Server{Era: mcptest.Legacy, TTL: 1}
	upstream.Intercept = func(w http.ResponseWriter, r *http.Request, _ string, _ []byte) bool {
		if r.Method == http.MethodGet {
			w.WriteHeader(http.StatusMethodNotAllowed)
		}
		return r.Method == http.MethodGet
	}
	s := newUpstreamServer(t, upstream, hold.Checker{}, `refresh = "24h"`)
	eventually(t, "the server is listed", func() bool { state, _ := s.drifts(); return state == "ready" })
	upstream.SetTools(replaced(t, "Opens", "Sends"), getIssue)
	eventually(t, "the change is found", func() bool { _, drift := s.drifts(); return drift == "create_issue: description" })
	if n := len(upstream.Calls()); n != 0 {
		t.Errorf("%d calls", n)
	}
}

func TestDriftIsFoundWithoutACall(t *testing.T) {
	upstream := &mcptest.Server{Era: mcptest.Both}
	s := newUpstreamServer(t, upstream, hold.Checker{}, "")
	eventually(t, "the server is listed", func() bool { state, _ := s.drifts(); return state == "ready" })
	if n := len(upstream.Calls()); n != 0 {
		t.Errorf("%d calls", n)
	}
}

func TestAnUpstreamServerThatIsDownDelaysNothing(t *testing.T) {
	var config strings.Builder
	for i := range 50 {
		fmt.Fprintf(&config, `
connection "mcp" "dead%d" {
  url         = "http://127.0.0.1:1/mcp"
  definitions = "github.tools.json"
}
tool "report%[1]d" {
  description = "Open an issue."
  input "title" { type = string }
  mcp "dead%[1]d" { call = "create_issue" }
}
`, i)
	}
	began := time.Now()
	s := newHeldServer(t, hold.Checker{}, map[string]string{"github.tools.json": definitiontest.Text(t, createIssue, getIssue),
		"a.hcl": config.String()})
	loaded := time.Since(began)
	began = time.Now()
	status, body := s.request(http.MethodGet, "/readyz")
	t.Logf("loaded in %v, /readyz in %v", loaded, time.Since(began))
	if status != http.StatusOK || !strings.Contains(body, `"dead49"`) && !strings.Contains(body, "mcp.dead49") {
		t.Errorf("%d %s", status, body)
	}
	eventually(t, "all have failed", func() bool {
		_, body := s.request(http.MethodGet, "/readyz")
		return strings.Count(body, `"failed"`) == 50
	})
}

func TestAPinThatIsAcceptedWaitsForItsLock(t *testing.T) {
	upstream := &mcptest.Server{Era: mcptest.Both}
	s := newUpstreamServer(t, upstream, hold.Checker{Class: "behaviour"}, `refresh = "0s"`)
	changed := replaced(t, `"destructiveHint":false`, `"destructiveHint":true`)
	upstream.SetTools(changed, getIssue)
	if got := s.report(); got != "failed: "+withdrawn {
		t.Fatal(got)
	}
	s.write(map[string]string{"github.tools.json": definitiontest.Text(t, changed, getIssue)})
	if report := s.reload(); report.OK || !report.Held {
		t.Fatalf("the new pin is served without its lock: %+v", report)
	}
	if got := s.report(); got != "failed: "+withdrawn {
		t.Errorf("while the reload waits: %s", got)
	}
	s.lock()
	if report := s.reload(); !report.OK {
		t.Fatalf("%+v", report.Diagnostics)
	}
	if got := s.report(); got != `ok: {"number":7}` {
		t.Errorf("after the lock was written: %s", got)
	}
	edited := strings.Replace(definitiontest.Text(t, changed, getIssue), "Opens an issue.", "Opens an issue!", 1)
	s.write(map[string]string{"github.tools.json": edited})
	if report := s.reload(); report.OK || report.Held {
		t.Errorf("a file that was edited is served: %+v", report)
	}
}

func TestLimitsOfAConnectionHoldForAnUpstreamServer(t *testing.T) {
	t.Parallel()
	t.Run("concurrency", func(t *testing.T) {
		upstream := &mcptest.Server{Era: mcptest.Modern}
		s := newUpstreamServer(t, upstream, hold.Checker{}, "concurrency = 2")
		var running, most atomic.Int32
		upstream.Handle("create_issue", func(*mcptest.Call) (any, error) {
			n := running.Add(1)
			defer running.Add(-1)
			for seen := most.Load(); n > seen && !most.CompareAndSwap(seen, n); seen = most.Load() {
			}
			time.Sleep(5 * time.Millisecond)
			return mcptest.Structured(map[string]any{"number": 7}), nil
		})
		var calls sync.WaitGroup
		for range 12 {
			calls.Go(func() {
				if got := s.report(); !strings.HasPrefix(got, "ok: ") {
					t.Error(got)
				}
			})
		}
		calls.Wait()
		if most.Load() > 2 {
			t.Errorf("%d calls ran at the same time", most.Load())
		}
	})
	t.Run("rate", func(t *testing.T) {
		upstream := &mcptest.Server{Era: mcptest.Modern}
		s := newUpstreamServer(t, upstream, hold.Checker{}, `rate = "1/h"`)
		if got := s.report(); !strings.HasPrefix(got, "ok: ") {
			t.Error(got)
		}
		for _, got := range []string{s.report(), s.callTool("read", "{}")} { // the tools share it
			if !strings.HasPrefix(got, "failed: ") || !strings.Contains(got, "again") || len(upstream.Calls()) != 1 {
				t.Errorf("after %d calls: %s", len(upstream.Calls()), got)
			}
		}
	})
	t.Run("breaker", func(t *testing.T) {
		upstream := &mcptest.Server{Era: mcptest.Modern}
		s := newUpstreamServer(t, upstream, hold.Checker{}, "breaker {\n  failures = 2\n  cooldown = \"1h\"\n}")
		answered := atomic.Int32{}
		upstream.Handle("create_issue", func(*mcptest.Call) (any, error) {
			answered.Add(1)
			panic(http.ErrAbortHandler)
		})
		for range 2 {
			s.report()
		}
		if got := s.report(); !strings.Contains(got, "calls to it are suspended") || answered.Load() != 2 {
			t.Errorf("after %d calls: %s", answered.Load(), got)
		}
	})
}

// Open sessions are asked for logs when a reload adds a block that forwards them, and for no more than blocks forward.
func TestAReloadChangesTheLogsThatOpenSessionsAreAskedFor(t *testing.T) {
	for name, era := range map[string]mcptest.Era{"legacy": mcptest.Legacy, "modern": mcptest.Modern} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			var levels []string // of logging/setLevel
			upstream := &mcptest.Server{Era: era, Stateful: true}
			upstream.Intercept = func(_ http.ResponseWriter, _ *http.Request, method string, body []byte) bool {
				var m struct{ Params struct{ Level string } }
				if method == "logging/setLevel" && json.Unmarshal(body, &m) == nil {
					mu.Lock()
					defer mu.Unlock()
					levels = append(levels, m.Params.Level)
				}
				return false
			}
			s := newUpstreamServer(t, upstream, hold.Checker{}, "")
			// asked calls the tool, and returns the level that the server was asked for before.
			asked := func() string {
				t.Helper()
				if got := s.report(); !strings.HasPrefix(got, "ok: ") {
					t.Fatal(got)
				}
				if calls := upstream.Calls(); era == mcptest.Modern {
					return string(calls[len(calls)-1].Meta["io.modelcontextprotocol/logLevel"])
				}
				mu.Lock()
				defer mu.Unlock()
				return strings.Join(levels, " ")
			}
			if got := asked(); got != "" {
				t.Errorf("at first: %s", got)
			}
			file := filepath.Join(s.dir, "a.hcl")
			config, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			load := func(text string) {
				t.Helper()
				s.write(map[string]string{"a.hcl": text})
				if report := s.reload(); !report.OK {
					t.Fatalf("%+v", report.Diagnostics)
				}
			}
			load(strings.Replace(string(config), `call = "create_issue"`, "\n    call = \"create_issue\"\n    forward_logs = \"warning\"\n", 1))
			if got := asked(); strings.Trim(got, `"`) != "warning" {
				t.Errorf("after the reload: %q", got)
			}
			methods := strings.Join(upstream.Methods(), " ")
			if n := strings.Count(methods, "initialize ") + strings.Count(methods, "server/discover"); era == mcptest.Modern && n != 1 {
				t.Errorf("another session was opened: %s", methods)
			}
			load(string(config))
			if era == mcptest.Modern {
				eventually(t, "no logs are asked for", func() bool { return asked() == "" })
			}
		})
	}
}
