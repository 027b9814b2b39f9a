//go:build linux

package examples_test

import (
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// slack is by how much the connections that eight calls at once have opened, and the threads that served them, may differ. A leak is hundreds.
const slack = 50

// holdings are what a process has in hand.
type holdings struct {
	files, database, threads int
}

func (s *server) holdings() (h holdings) {
	s.t.Helper()
	dir := fmt.Sprintf("/proc/%d/", s.pid)
	entries, err := os.ReadDir(dir + "fd")
	if err != nil {
		s.t.Fatal(err)
	}
	for _, e := range entries {
		h.files++
		if to, err := os.Readlink(dir + "fd/" + e.Name()); err == nil && strings.Contains(to, "ledger.db") {
			h.database++
		}
	}
	status, err := os.ReadFile(dir + "status")
	if err != nil {
		s.t.Fatal(err)
	}
	_, threads, _ := strings.Cut(string(status), "\nThreads:\t")
	threads, _, _ = strings.Cut(threads, "\n")
	if h.threads, err = strconv.Atoi(threads); err != nil {
		s.t.Fatal(err)
	}
	return h
}

// reloads is how often the server loads its directory again. A leak of one thing for each or every other reload exceeds
// slack from 120 on.
var reloads = flag.Int("reloads", 160, "load a directory `N` times")

func TestReloadsLeaveNothingBehind(t *testing.T) {
	t.Parallel()
	f := example(t, "invoices")
	source := f.read("invoices.hcl")
	s := f.serve("--watch=false")
	n := 0
	// Reloads under calls; every other one replaces the connection too.
	reload := func(times int) {
		stop := make(chan struct{})
		var calling sync.WaitGroup
		for range 8 {
			calling.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
					}
					r, err := s.send("revenue_report", []byte(`{"from":"2026-01-01","to":"2026-02-28"}`))
					if err != nil || r.Failed || r.refused != "" {
						t.Errorf("a call failed: %v, %+v", err, r)
						return
					}
				}
			})
		}
		for range times {
			n++
			f.write("invoices.hcl", strings.Replace(source, "file = \"ledger.db\"", fmt.Sprintf("file = \"ledger.db\"\n  busy_timeout = \"%ds\"", 5+n/2), 1))
			f.write("version.hcl", version(n))
			if status, r := s.reload(); status != 200 || len(r.Changed) == 0 {
				t.Fatalf("reload %d: %d, %+v", n, status, r)
			}
		}
		close(stop)
		calling.Wait()
	}
	reload(20)
	before := s.holdings()
	reload(*reloads - 20)
	var after holdings
	defer func() { t.Logf("after 20 reloads %+v, after %d %+v", before, n, after) }()
	eventually(t, "what reloads had opened is closed", func() bool {
		after = s.holdings()
		return after.files <= before.files+slack && after.database <= before.database+slack
	})
	if after.threads > before.threads+slack {
		t.Errorf("threads have grown from %d to %d", before.threads, after.threads)
	}
}
