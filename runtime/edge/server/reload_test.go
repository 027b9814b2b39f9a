package server

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"hatchel/adapters/all"
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

func create(ctx context.Context, t *testing.T, host *runtime.Host) {
	t.Helper()
	out, err := host.CallTool(ctx, &mcp.CallRequest{Name: "create", Caller: new(mcp.Caller)})
	if err != nil || out.IsError {
		t.Fatalf("%+v, %v", out, err)
	}
}

func notLoading() (done func()) { return func() {} }
