package server

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hatchel/adapters/all"
	"hatchel/runtime"
	"hatchel/runtime/load/source"
	"hatchel/runtime/observe/logging"
)

// sessionProcess is a process that serves a directory over HTTP.
type sessionProcess struct {
	t    *testing.T
	url  string
	stop func()
}

func startSessionProcess(t *testing.T, dir, stateFile string) *sessionProcess {
	t.Helper()
	folder, err := source.NewFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	state := NewState(t.Context(), stateFile, dir)
	host := runtime.NewHost(t.Context(), runtime.HostOptions{Build: runtime.Build{Set: all.Set(), Dir: dir, State: state}})
	log := logging.New(io.Discard, logging.Text, slog.LevelInfo)
	r := &Reloader{Folder: folder, Host: host, Log: slog.New(slog.DiscardHandler), Loading: notLoading, Loaded: func(runtime.Report) {}}
	if report, err := r.Load(t.Context()); err != nil || !report.OK {
		t.Fatalf("the load: %+v, %v", report, err)
	}
	sessions, err := state.Sessions(t.Context(), log.Logger)
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(New(Options{Host: host, Reloader: r, Log: log, Sessions: sessions}))
	return &sessionProcess{t, web.URL + "/mcp", func() {
		web.Close()
		host.Close()
		state.Close()
	}}
}

func (p *sessionProcess) post(session, body string) *http.Response {
	p.t.Helper()
	r, _ := http.NewRequestWithContext(p.t.Context(), "POST", p.url, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if session != "" {
		r.Header.Set("Mcp-Session-Id", session)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		p.t.Fatal(err)
	}
	res.Body.Close()
	return res
}

// initialize returns the id of a new session.
func (p *sessionProcess) initialize(client string) string {
	p.t.Helper()
	res := p.post("", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"`+client+`","version":"1"}}}`)
	return res.Header.Get("Mcp-Session-Id")
}

func writeTool(t *testing.T, more string) (dir string) {
	dir = t.TempDir()
	const tool = "tool \"plain\" {\n  description = \"Remember nothing.\"\n  text = \"plain\"\n}\n"
	if err := os.WriteFile(filepath.Join(dir, "tools.hcl"), []byte(tool+more), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

const plainCall = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"plain"}}`

func TestSessionGoesOnAfterARestart(t *testing.T) {
	dir, stateFile := writeTool(t, ""), filepath.Join(t.TempDir(), "state.db")
	for name, client := range map[string]string{"small": "c", "large": strings.Repeat("c", 3<<10)} {
		first := startSessionProcess(t, dir, stateFile)
		session := first.initialize(client)
		first.stop()
		second := startSessionProcess(t, dir, stateFile)
		if res := second.post(session, plainCall); session == "" || res.StatusCode != http.StatusOK {
			t.Errorf("%s client info: the session %q got %s", name, session, res.Status)
		}
		second.stop()
	}
}

func TestProcessWithAFileListensToNoOther(t *testing.T) {
	dir := writeTool(t, "")
	state := NewState(t.Context(), filepath.Join(t.TempDir(), "state.db"), dir)
	defer state.Close()
	if sessions, err := state.Sessions(t.Context(), slog.New(slog.DiscardHandler)); sessions.Courier != nil || err != nil {
		t.Errorf("%v, %v", sessions.Courier, err)
	}
}

func TestSessionOfAnotherStateIsNotFound(t *testing.T) {
	dir := writeTool(t, "")
	first := startSessionProcess(t, dir, filepath.Join(t.TempDir(), "state.db"))
	defer first.stop()
	second := startSessionProcess(t, dir, filepath.Join(t.TempDir(), "state.db"))
	defer second.stop()
	if res := second.post(first.initialize("c"), plainCall); res.StatusCode != http.StatusNotFound {
		t.Errorf("got %s", res.Status)
	}
}

func TestSessionsEndWithAProcessThatCannotKeepAState(t *testing.T) {
	t.Setenv("HOME", "/dev/null")
	t.Setenv("XDG_STATE_HOME", "")
	dir := writeTool(t, "")
	first := startSessionProcess(t, dir, "")
	session := first.initialize("c")
	if res := first.post(session, plainCall); res.StatusCode != http.StatusOK {
		t.Errorf("the process itself answers with %s", res.Status)
	}
	first.stop()
	second := startSessionProcess(t, dir, "")
	defer second.stop()
	if res := second.post(session, plainCall); res.StatusCode != http.StatusNotFound {
		t.Errorf("the process after it answers with %s", res.Status)
	}
}

func TestServerWithoutSessionsGivesOutNoID(t *testing.T) {
	p := startSessionProcess(t, writeTool(t, "server { sessions = \"none\" }\n"), filepath.Join(t.TempDir(), "state.db"))
	defer p.stop()
	if id := p.initialize("c"); id != "" {
		t.Errorf("the id is %q", id)
	}
	if res := p.post("", plainCall); res.StatusCode != http.StatusOK {
		t.Errorf("a call without an id got %s", res.Status)
	}
}

func TestServerDoesNotStartWithADeclaredStateThatCannotBeUsed(t *testing.T) {
	dir := writeTool(t, "")
	_, err := NewState(t.Context(), filepath.Join(dir, "tools.hcl"), dir).Sessions(t.Context(), slog.New(slog.DiscardHandler))
	if err == nil || !strings.Contains(err.Error(), "cannot be used: it is not a database, or it is damaged. Choose another one with --state FILE") {
		t.Errorf("got %v", err)
	}
}
