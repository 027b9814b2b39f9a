package runtime

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"hatchel/adapters"
	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/observe/event"
	"hatchel/runtime/observe/metrics"
)

// upstreamHandle is the handle of a connection of kind db to a server whose state the test sets.
type upstreamHandle struct {
	mu      sync.Mutex
	state   adapters.UpstreamState // guarded by mu
	changed func()
	pings   int // guarded by mu
}

func (h *upstreamHandle) UpstreamState() adapters.UpstreamState {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.state
}

func (h *upstreamHandle) Watch() {}

func (h *upstreamHandle) Ping(ctx context.Context) error {
	h.mu.Lock()
	h.pings++
	h.mu.Unlock()
	<-ctx.Done()
	return ctx.Err()
}

func (h *upstreamHandle) set(s adapters.UpstreamState) {
	h.mu.Lock()
	h.state = s
	h.mu.Unlock()
	h.changed()
}

// useUpstream gives a Host connections of kind db to an upstream server.
func useUpstream(h *upstreamHandle) func(*HostOptions) {
	return func(o *HostOptions) {
		open := func(_ context.Context, _ *fakeConnection, env adapters.Env) (any, error) {
			h.changed = env.StateChanged
			return h, nil
		}
		o.Build.Set = newFakeBackend().adapters()
		o.Build.Set.Connectors = []adapters.Connector{
			adapters.NewConnector("db", "An upstream server of the tests.", (*fakeConnection).spec, open),
		}
	}
}

const upstreamTools = `
connection "db" "github" { name = "github" }
tool "report" {
  description = "Report."
  fake "github" { value = 1 }
}
audit { file = "audit.jsonl" }
events {}
telemetry {
  metrics {}
}
`

var drifted = adapters.UpstreamState{
	State: adapters.UpstreamDrifted, Protocol: "2025-11-25", Sessions: 2, Restarts: 3, Unused: 4,
	Drift: []adapters.Drift{{
		Name: "create_issue", Changed: []string{"description", `input "assignee" added`}, Pinned: "a", Found: "b",
	}},
}

func TestDriftIsInReadinessMetricsEventsAuditAndLog(t *testing.T) {
	var log bytes.Buffer
	handle := &upstreamHandle{state: adapters.UpstreamState{State: adapters.UpstreamStarting}}
	dir := t.TempDir()
	h := newHost(t, upstreamTools, useUpstream(handle), inDir(dir), logTo(&log, slog.LevelInfo), func(o *HostOptions) {
		o.Build.AuditLogs, o.Build.Metrics = new(AuditLogs), new(metrics.Exporter)
	})
	followed, err := h.Operator().Listen(t.Context(), &mcp.Caller{}, true, event.Query{Follow: true})
	if err != nil {
		t.Fatal(err)
	}
	defer followed.Close()

	handle.set(drifted)
	handle.set(drifted) // nothing is announced twice
	accepted := drifted
	accepted.Drift = []adapters.Drift{drifted.Drift[0]}
	accepted.Drift[0].Served = true
	handle.set(accepted)
	handle.set(adapters.UpstreamState{State: adapters.UpstreamReady})
	handle.set(adapters.UpstreamState{State: adapters.UpstreamFailed, Failure: "nothing listens there"})

	_, lines := recordedEvents(t, h, &mcp.Caller{}, true, event.Query{Replay: 100})
	var got []string
	for line := range strings.Lines(lines) {
		var e struct {
			Type, Connection, State, Message string
			Drift                            json.RawMessage
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		if e.Type == "upstream" {
			got = append(got, strings.TrimSpace(e.Connection+" "+e.State+" "+string(e.Drift)+e.Message))
		}
	}
	const differs = `[{"name":"create_issue","changed":["description","input \"assignee\" added"],"served":`
	want := strings.Join([]string{"db.github drifted " + differs + "false}]", "db.github drifted " + differs + "true}]",
		"db.github ready", "db.github failed nothing listens there"}, "\n")
	if s := strings.Join(got, "\n"); s != want {
		t.Errorf("events:\n%s\nwant:\n%s", s, want)
	}

	var records []string
	for _, r := range readRecords(t, filepath.Join(dir, "audit.jsonl")) {
		if r.Event == "drift" {
			records = append(records, r.Kind+" "+r.Name+" "+r.Outcome+" "+strings.Join(r.Differences, ", "))
		}
	}
	const difference = `create_issue has changed: description; input "assignee" added`
	want = "connection db.github refused " + difference + "\nconnection db.github ok " + difference +
		"\nconnection db.github ok "
	if s := strings.Join(records, "\n"); s != want {
		t.Errorf("records:\n%s\nwant:\n%s", s, want)
	}
	for _, want := range []string{
		`level=WARN msg="upstream definitions changed" connection=db.github difference="create_issue has changed: ` +
			`description; input \"assignee\" added" served=false review="hatchel import mcp github --update --dry-run"`,
		`level=INFO msg="upstream definitions as reviewed" connection=db.github`,
		`level=WARN msg="upstream server failed" connection=db.github error="nothing listens there"`,
	} {
		if strings.Count(log.String(), want) != 1 {
			t.Errorf("the log does not have once %s:\n%s", want, &log)
		}
	}

	handle.set(drifted)
	r := readinessOf(t, h)
	if !r.Ready || len(r.Connections) != 1 || !r.Connections[0].OK {
		t.Errorf("readiness %+v", r)
	}
	text, err := json.Marshal(r.Upstreams)
	if err != nil {
		t.Fatal(err)
	}
	const upstreams = `[{"connection":"db.github","state":"drifted","protocol":"2025-11-25","sessions":2,"restarts":3,` +
		`"unused":4,"drift":` + differs + `false}]}]`
	if string(text) != upstreams {
		t.Errorf("readiness has %s, want %s", text, upstreams)
	}
	m, _ := h.Telemetry().Metrics()
	w := httptest.NewRecorder()
	m.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	for _, want := range []string{
		`hatchel_upstream_drift{connection="github"} 1`, `hatchel_upstream_sessions{connection="github"} 2`,
		`hatchel_upstream_restarts_total{connection="github"} 3`, `hatchel_connection_up{connection="github",kind="db"} 1`,
	} {
		if !strings.Contains(w.Body.String(), want+"\n") {
			t.Errorf("not %s in\n%s", want, w.Body)
		}
	}
}

func TestDriftThatIsFoundDuringALoadIsAnnouncedWhenItIsServed(t *testing.T) {
	dir, handle := t.TempDir(), &upstreamHandle{state: drifted}
	h := newHost(t, upstreamTools, useUpstream(handle), inDir(dir), func(o *HostOptions) {
		o.Build.AuditLogs = new(AuditLogs)
	})
	drifts := func() (n int) {
		for _, r := range readRecords(t, filepath.Join(dir, "audit.jsonl")) {
			if r.Event == "drift" {
				n++
			}
		}
		return n
	}
	if drifts() != 1 {
		t.Errorf("%d records", drifts())
	}
	load(t, h, upstreamTools+"# changed\ntool \"other\" {\n  description = \"Other.\"\n  text = \"x\"\n}\n")
	if drifts() != 1 {
		t.Errorf("after a reload with the same connection there are %d records", drifts())
	}
}

func TestReadinessAsksNoUpstreamServer(t *testing.T) {
	handle := &upstreamHandle{state: adapters.UpstreamState{State: adapters.UpstreamStarting, Failure: "it has stopped"}}
	h := newHost(t, upstreamTools, useUpstream(handle), inDir(t.TempDir()))
	r := readinessOf(t, h)
	if c := r.Connections[0]; c.OK || c.Error != "it has stopped" {
		t.Errorf("the connection is %+v", c)
	}
	handle.mu.Lock()
	defer handle.mu.Unlock()
	if handle.pings != 0 {
		t.Errorf("the server was asked %d times", handle.pings)
	}
}
