package server

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"hatchel/adapters/all"
	"hatchel/hcl"
	"hatchel/runtime"
	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/load/source"
)

func TestHeldReloadIsTriedAgain(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	const connection = `connection "sqlite" "shop" { file = "shop.db" }
`
	write("tools.hcl", connection+`tool "create" {
  description = "Create the table."
  sql "shop" { exec = "CREATE TABLE orders (id INTEGER)" }
}`)
	folder, err := source.NewFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	host := runtime.NewHost(t.Context(), runtime.HostOptions{Build: runtime.Build{Set: all.Set(), Dir: dir}})
	defer host.Close()
	var reports []runtime.Report
	r := &Reloader{Folder: folder, Host: host, Log: slog.New(slog.DiscardHandler), Loading: notLoading, Loaded: func(report runtime.Report) {
		reports = append(reports, report)
	}}
	if report, err := r.Load(t.Context()); err != nil || !report.OK {
		t.Fatalf("the first load: %+v, %v", report, err)
	}
	write("orders.hcl", `tool "orders" {
  description = "List orders."
  sql "shop" { query = "SELECT id FROM orders" }
}`)
	if report, err := r.Reload(t.Context(), "test"); err != nil || !report.Held || host.Current().Names()[0] != "create" {
		t.Fatalf("the reload: %+v, %v", report, err)
	}
	r.retry(t.Context())
	if len(reports) != 2 {
		t.Errorf("a load that is still held was reported: %+v", reports[2])
	}
	write("later.hcl", "not loaded, because nothing has asked for it")
	create(t.Context(), t, host)
	r.retry(t.Context())
	if names := host.Current().Names(); len(names) != 2 || len(reports) != 3 || !reports[2].OK {
		t.Errorf("served are %q, the reports are %+v", names, reports)
	}
	r.retry(t.Context())
	if len(reports) != 3 {
		t.Error("what is served was loaded again")
	}
}

// A secret is replaced while the latest files have an error, cannot be parsed, or wait because they have no tools.
func TestWhatIsServedGetsNewSecretsWhileLaterFilesDoNotLoad(t *testing.T) {
	for what, latest := range map[string]string{
		"an error": "tool \"t\" {}", "no syntax": "}}", "a held load": "# nothing",
	} {
		t.Run(what, func(t *testing.T) {
			var sent atomic.Value
			service := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				sent.Store(r.Header.Get("Authorization"))
			}))
			defer service.Close()
			dir, secrets := t.TempDir(), t.TempDir()
			write := func(dir, name, text string) {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			write(secrets, "token", "the first value")
			write(dir, "tools.hcl", fmt.Sprintf(`secret "token" { file = %q }
tool "t" {
  description = "Ask."
  http {
    get     = %q
    headers = { authorization = "Bearer ${secret.token}" }
  }
}`, filepath.Join(secrets, "token"), service.URL))
			folder, err := source.NewFolder(dir)
			if err != nil {
				t.Fatal(err)
			}
			host := runtime.NewHost(t.Context(), runtime.HostOptions{
				Build: runtime.Build{Set: all.Set(), Dir: dir}, Load: hcl.Options{ReadSecret: folder.ReadSecret},
			})
			defer host.Close()
			r := &Reloader{Folder: folder, Host: host, Log: slog.New(slog.DiscardHandler), Loading: notLoading, Loaded: func(runtime.Report) {}}
			if report, err := r.Load(t.Context()); err != nil || !report.OK {
				t.Fatalf("the first load: %v, %v", report.Diagnostics, err)
			}
			ask := func(want string) {
				t.Helper()
				if _, err := host.CallTool(t.Context(), &mcp.CallRequest{Name: "t", Caller: new(mcp.Caller)}); err != nil {
					t.Fatal(err)
				}
				if got := sent.Load(); got != "Bearer "+want {
					t.Errorf("sent is %q, not %q", got, want)
				}
			}
			ask("the first value")
			write(dir, "tools.hcl", latest)
			watched, stop := context.WithCancel(t.Context())
			var watching sync.WaitGroup
			defer watching.Wait()
			defer stop()
			reloads := make(chan struct{}, 100)
			watching.Go(func() {
				folder.Watch(watched, func() {
					r.ReloadLocal(watched, "test")
					reloads <- struct{}{}
				})
			})
			<-reloads
			first := host.Current()
			ask("the first value")
			write(secrets, "token", "the second value")
			<-reloads
			ask("the second value")
			if s := host.Status(); s.Last.OK || len(s.Last.Diagnostics) == 0 || host.Current() == first {
				t.Errorf("the status has %+v", s.Last)
			}
			second := host.Current()
			r.ReloadLocal(t.Context(), "test")
			if host.Current() != second {
				t.Error("what is served was loaded again with the same secrets")
			}
		})
	}
}

func create(ctx context.Context, t *testing.T, host *runtime.Host) {
	t.Helper()
	out, err := host.CallTool(ctx, &mcp.CallRequest{Name: "create", Caller: new(mcp.Caller)})
	if err != nil || out.IsError {
		t.Fatalf("%+v, %v", out, err)
	}
}

func notLoading() (done func()) { return func() {} }
