package main

import (
	"fmt"
	"os"
	"testing"
	"testing/fstest"

	"hatchel/adapters/all"
	"hatchel/hcl"
	"hatchel/runtime"
	"hatchel/runtime/edge/mcp"
)

// Five hundred reloads open and close a real database; half of them keep the connection.
func TestReloadsLeakNoFileDescriptors(t *testing.T) {
	dir := t.TempDir()
	host := runtime.NewHost(t.Context(), runtime.HostOptions{Build: runtime.Build{Set: all.Set(), Dir: dir}, Load: hcl.Options{}})
	reload := func(i int) {
		t.Helper()
		src := fmt.Sprintf(`
connection "sqlite" "db" {
  file = "%d.db"
  init = "CREATE TABLE IF NOT EXISTS t (a INTEGER)"
}
tool "count" {
  description = "Count, version %d."
  sql "db" { query = "SELECT count(*) AS n FROM t" }
}
`, i/2%3, i)
		if diags := host.Load(t.Context(), fstest.MapFS{"a.hcl": {Data: []byte(src)}}); diags.HasErrors() {
			diags.Print(os.Stderr, nil)
			t.Fatal("not loaded")
		}
		out, err := host.CallTool(t.Context(), &mcp.CallRequest{Name: "count", Arguments: []byte("{}"), Caller: &mcp.Caller{Revision: mcp.Revision20260728}})
		if got := string(out.AppendResult(nil, mcp.Revision20260728)); err != nil || out.IsError {
			t.Fatalf("after reload %d: %v, %s", i, err, got)
		}
	}
	for i := range 6 {
		reload(i)
	}
	host.AwaitRetired()
	const slack = 50 // a leak is at least one for every reload that replaces the connection
	before := countDescriptors(t)
	for i := range 500 {
		reload(i)
	}
	host.AwaitRetired()
	if after := countDescriptors(t); after > before+slack {
		t.Errorf("%d file descriptors before, %d after", before, after)
	}
	host.Close()
	if closed := countDescriptors(t); closed >= before {
		t.Errorf("%d file descriptors before the host was closed, %d after", before, closed)
	}
}

// countDescriptors counts the open file descriptors of this process.
func countDescriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/dev/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}
