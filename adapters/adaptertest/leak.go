package adaptertest

import (
	"os"
	"runtime"
	"runtime/pprof"
	"strings"
	"testing"
	"time"
)

// leaks checks that what actions hold does not grow with how many were bound, called and retired.
func (c Case) leaks(t *testing.T) {
	const lifetimes, slack = 40, 20 // a leak is at least one for every lifetime
	c.lifetime(t)                   // what the first use of a library starts for the whole process
	before := census()
	for range lifetimes {
		c.lifetime(t)
	}
	deadline := time.NewTimer(Patience)
	defer deadline.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		after := census()
		if after.goroutines <= before.goroutines+slack && after.files <= before.files+slack {
			return
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			var stacks strings.Builder
			_ = pprof.Lookup("goroutine").WriteTo(&stacks, 1)
			t.Fatalf("%d goroutines and %d files became %d and %d:\n%s", before.goroutines, before.files, after.goroutines, after.files, stacks.String())
		}
	}
}

// lifetime is one generation: bound, called, retired.
func (c Case) lifetime(t *testing.T) {
	t.Helper()
	b, err := bind(t, c.Source)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Do(t.Context(), c.Works); err != nil {
		t.Error(err)
	}
	if err := b.Close(); err != nil {
		t.Errorf("cleaning up: %v", err)
	}
}

type counts struct{ goroutines, files int }

func census() counts {
	n := counts{goroutines: runtime.NumGoroutine()}
	for _, dir := range []string{"/proc/self/fd", "/dev/fd"} {
		if open, err := os.ReadDir(dir); err == nil {
			n.files = len(open)
			return n
		}
	}
	return n
}
