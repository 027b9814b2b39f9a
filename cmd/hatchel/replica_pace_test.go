package main

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

// rareFolder is a folder with a tool that may be called six times an hour.
func rareFolder(t *testing.T, more string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "tools.hcl"), []byte(rare+more), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

// passes calls a tool often, of all processes at once, and counts how often it is done.
func passes(t *testing.T, all []*replica, calls int) int {
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

func TestARateIsOneForAllProcessesWithAFile(t *testing.T) {
	dir, file := rareFolder(t, ""), filepath.Join(t.TempDir(), "state.db")
	sharesARate(t, func() *replica { return startReplica(t, dir, "", "--state", file) })
}

func TestARateIsOneForAllProcessesWithADatabase(t *testing.T) {
	dir, database := rareFolder(t, "secret \"state\" { env = \"STATE\" }\nstate { postgres = secret.state }\n"), emptySchema(t)
	sharesARate(t, func() *replica { return startReplica(t, dir, database) })
}

func sharesARate(t *testing.T, start func() *replica) {
	t.Helper()
	all := []*replica{start(), start(), start()}
	if n := passes(t, all, 18); n != 6 {
		t.Errorf("%d of 18 calls are done", n)
	}
	for _, r := range all {
		r.kill()
	}
	if n := passes(t, []*replica{start()}, 3); n != 0 {
		t.Errorf("%d calls are done after a restart", n)
	}
}
