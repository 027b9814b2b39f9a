package server

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"hatchel/adapters/all"
	"hatchel/hcl"
	"hatchel/runtime"
	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/load/access"
	"hatchel/runtime/load/hold"
	"hatchel/runtime/load/source"
	"hatchel/runtime/observe/logging"
)

// heldServer is a server whose reloads wait for their lock, and its directory.
type heldServer struct {
	t      testing.TB
	dir    string
	folder *source.Folder
	host   *runtime.Host
	*Server
}

// newHeldServer serves files whose lock is written.
func newHeldServer(t testing.TB, checker hold.Checker, files map[string]string) *heldServer {
	t.Helper()
	s := &heldServer{t: t, dir: t.TempDir()}
	s.write(files)
	var err error
	if s.folder, err = source.NewFolder(s.dir); err != nil {
		t.Fatal(err)
	}
	s.lock()
	s.host = runtime.NewHost(t.Context(), runtime.HostOptions{
		Build: runtime.Build{Set: all.Set(), Dir: s.dir, AuditLogs: new(runtime.AuditLogs)}, Hold: checker,
	})
	t.Cleanup(s.host.Close)
	r := &Reloader{Folder: s.folder, Host: s.host, Log: slog.New(slog.DiscardHandler), Loading: notLoading, Loaded: func(runtime.Report) {}}
	s.Server = New(Options{Host: s.host, Reloader: r, Log: logging.New(t.Output(), logging.Text, slog.LevelError)})
	if report, err := r.Load(t.Context()); err != nil || !report.OK {
		t.Fatalf("the first load: %+v, %v", report.Diagnostics, err)
	}
	return s
}

func (s *heldServer) write(files map[string]string) {
	s.t.Helper()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o644); err != nil {
			s.t.Fatal(err)
		}
	}
}

// lock writes the lock, as hatchel lock does.
func (s *heldServer) lock() {
	s.t.Helper()
	files, err := s.folder.Snapshot(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	cfg, diags := hcl.Load(files, all.Set().Kinds(), hcl.Options{Dir: s.dir}.ForCheck())
	if diags.HasErrors() {
		s.t.Fatal(diags)
	}
	s.write(map[string]string{"hatchel.lock.json": string(access.Surface(cfg, nil).Lock())})
}

func (s *heldServer) reload() runtime.Report {
	s.t.Helper()
	report, err := s.Reloader.Reload(s.t.Context(), "test")
	if err != nil {
		s.t.Fatal(err)
	}
	return report
}

// request makes a request of an operator.
func (s *heldServer) request(method, path string) (status int, body string) {
	r := httptest.NewRequest(method, path, nil)
	r.Host, r.RemoteAddr = "127.0.0.1:8080", "127.0.0.1:1234"
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

func (s *heldServer) call(ctx context.Context) string {
	out, err := s.host.CallTool(ctx, &mcp.CallRequest{Name: "greet", Caller: new(mcp.Caller)})
	if err != nil {
		return err.Error()
	}
	text := string(out.AppendResult(nil, mcp.Revision20250618))
	for _, known := range []string{"old", "new"} {
		if strings.Contains(text, `"text":"`+known+`"`) {
			return known
		}
	}
	return text
}

func greet(text string) map[string]string {
	return map[string]string{"a.hcl": `tool "greet" {
  description = "Greet."
  text        = "` + text + `"
}`}
}

const extra = `tool "extra" {
  description = "Something else."
  text        = "x"
}`

// newerGreet removes the tool extra, which is breaking, and says something new.
func (s *heldServer) newerGreet() {
	s.t.Helper()
	if err := os.Remove(filepath.Join(s.dir, "extra.hcl")); err != nil {
		s.t.Fatal(err)
	}
	s.write(greet("new"))
}

func TestConcurrentCallsSeeOnlyTheOldToolUntilItsLockIsWritten(t *testing.T) {
	files := greet("old")
	files["extra.hcl"] = extra
	s := newHeldServer(t, hold.Checker{Class: "breaking"}, files)
	const callers = 200
	var released atomic.Bool
	var begun, ended sync.WaitGroup
	begun.Add(callers)
	for range callers {
		ended.Go(func() {
			var first sync.Once
			defer first.Do(begun.Done)
			for t.Context().Err() == nil {
				switch text := s.call(t.Context()); {
				case text == "old":
					first.Do(begun.Done)
				case text != "new" || !released.Load():
					t.Errorf("a call reads %q", text)
					return
				default:
					return
				}
			}
		})
	}
	begun.Wait()
	s.newerGreet()
	if report := s.reload(); report.OK || !report.Held || report.Hold == nil {
		t.Errorf("the reload is not held: %+v", report)
	}
	released.Store(true)
	s.lock()
	if report := s.reload(); !report.OK || report.Released == nil || report.Released.Owner == "" {
		t.Errorf("the reload is not released: %+v", report)
	}
	ended.Wait()
}

func TestAHeldReloadIsShownAndTriedAgain(t *testing.T) {
	files := greet("old")
	files["extra.hcl"] = extra
	s := newHeldServer(t, hold.Checker{Class: "breaking"}, files)
	s.newerGreet()
	status, body := s.request(http.MethodPost, "/admin/reload")
	if status != http.StatusConflict || !strings.Contains(body, `"held_since"`) || !strings.Contains(body, "tool removed") {
		t.Errorf("the reload answers %d %s", status, body)
	}
	if _, body := s.request(http.MethodGet, "/readyz"); !strings.Contains(body, `"held_since"`) || !strings.Contains(body, `"stale": true`) {
		t.Errorf("/readyz answers %s", body)
	}
	since := s.host.Status().Last.Hold.Since
	s.Reloader.retry(t.Context())
	if got := s.host.Status().Last.Hold.Since; !got.Equal(since) {
		t.Errorf("held since %v, then since %v", since, got)
	}
	results := func() (all []string) {
		for _, l := range s.host.Status().Loads {
			all = append(all, l.Result)
		}
		return all
	}
	if got := results(); !slices.Equal(got, []string{"held", "ok"}) {
		t.Errorf("the loads while the reload is held: %q", got)
	}
	s.lock()
	s.Reloader.retry(t.Context())
	if got := results(); !slices.Equal(got, []string{"ok", "held", "ok"}) {
		t.Errorf("the loads after the lock was written: %q", got)
	}
	if got := s.call(t.Context()); got != "new" {
		t.Errorf("after the lock was written a call reads %q", got)
	}
	if _, body := s.request(http.MethodGet, "/readyz"); strings.Contains(body, "held_since") {
		t.Errorf("/readyz answers %s", body)
	}
}

func TestOnlyTheServedConfigurationDecidesAboutHold(t *testing.T) {
	files := greet("old")
	files["server.hcl"] = `server { hold = "behaviour" }`
	s := newHeldServer(t, hold.Checker{}, files)
	files["server.hcl"] = ""
	s.write(files)
	if report := s.reload(); !report.Held {
		t.Error("hold itself was removed without a new lock")
	}
	s.write(greet("new"))
	if report := s.reload(); !report.Held {
		t.Error("hold was removed together with the change that it holds")
	}
}

func TestLockedNeitherStartsNorReloadsWithADifference(t *testing.T) {
	s := newHeldServer(t, hold.Checker{Locked: true}, greet("old"))
	s.write(greet("new"))
	if report := s.reload(); !report.Held {
		t.Error("a difference was served")
	}
	host := runtime.NewHost(t.Context(), runtime.HostOptions{
		Build: runtime.Build{Set: all.Set(), Dir: s.dir}, Hold: hold.Checker{Locked: true},
	})
	defer host.Close()
	if diags := host.Load(t.Context(), os.DirFS(s.dir)); !diags.HasErrors() || !host.Status().Loaded.Equal(time.Time{}) {
		t.Errorf("a difference was served at start: %v", diags)
	}
}
