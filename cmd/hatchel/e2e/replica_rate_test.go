package e2e_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

const rare = `
tool "rare" {
  description = "Be called rarely."
  limit {
    rate = "6/h"
    per  = "tool"
  }
  text = "done"
}
`

// writeRateConfig writes a configuration with a tool that may be called six times an hour.
func writeRateConfig(t *testing.T, more string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "tools.hcl"), []byte(rare+more), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

// countAdmitted calls a tool through all processes concurrently, and counts the calls that ran.
func countAdmitted(t *testing.T, all []*replica, calls int) int {
	t.Helper()
	var calling sync.WaitGroup
	var done atomic.Int64
	for i := range calls {
		calling.Go(func() {
			switch said := callTool(t, all[i%len(all)].url, "rare").text(); {
			case said == "done":
				done.Add(1)
			case !strings.Contains(said, "at most 6 a hour"):
				t.Errorf("a call is refused with %q", said)
			}
		})
	}
	calling.Wait()
	return int(done.Load())
}

func TestProcessesWithAFileShareOneRate(t *testing.T) {
	t.Parallel()
	dir, file := writeRateConfig(t, ""), filepath.Join(t.TempDir(), "state.db")
	testSharedRate(t, func() *replica { return startReplica(t, dir, "", "--state", file) })
}

func TestProcessesWithADatabaseShareOneRate(t *testing.T) {
	t.Parallel()
	dir, database := writeRateConfig(t, "secret \"state\" { env = \"STATE\" }\nstate { postgres = secret.state }\n"), emptySchema(t)
	testSharedRate(t, func() *replica { return startReplica(t, dir, database) })
}

func testSharedRate(t *testing.T, start func() *replica) {
	t.Helper()
	all := []*replica{start(), start(), start()}
	if n := countAdmitted(t, all, 18); n != 6 {
		t.Errorf("%d of 18 calls are done", n)
	}
	for _, r := range all {
		r.kill()
	}
	if n := countAdmitted(t, []*replica{start()}, 3); n != 0 {
		t.Errorf("%d calls are done after a restart", n)
	}
}
