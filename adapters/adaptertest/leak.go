package adaptertest

import (
	"os"
	"runtime"
	"runtime/pprof"
	"strings"
	"testing"
	"time"
)

// testLeaks checks that goroutines and open files do not grow with the number of generations.
func (c Case) testLeaks(t *testing.T) {
	const generations, slack = 40, 20 // a leak adds at least one per generation
	c.runGeneration(t)                // starts what libraries start once per process
	before := countResources()
	for range generations {
		c.runGeneration(t)
	}
	deadline := time.NewTimer(MaxCancelDelay)
	defer deadline.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		after := countResources()
		if after.goroutines <= before.goroutines+slack && after.files <= before.files+slack {
			return
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			var stacks strings.Builder
			_ = pprof.Lookup("goroutine").WriteTo(&stacks, 1)
			t.Fatalf("%d goroutines and %d files became %d and %d:\n%s",
				before.goroutines, before.files, after.goroutines, after.files, stacks.String())
		}
	}
}

// runGeneration binds the tool, calls it and closes it.
func (c Case) runGeneration(t *testing.T) {
	t.Helper()
	b, err := bind(t, c.Source)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Do(t.Context(), c.ValidCall); err != nil {
		t.Error(err)
	}
	if err := b.Close(); err != nil {
		t.Errorf("cleaning up: %v", err)
	}
}

type resources struct{ goroutines, files int }

func countResources() resources {
	n := resources{goroutines: runtime.NumGoroutine()}
	for _, dir := range []string{"/proc/self/fd", "/dev/fd"} {
		if open, err := os.ReadDir(dir); err == nil {
			n.files = len(open)
			return n
		}
	}
	return n
}
