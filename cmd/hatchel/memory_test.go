package main

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

// After the load the heap may grow by what requests take. The garbage beside it does not grow with it.
func TestGarbageIsBoundedWhileTheHeapGrows(t *testing.T) {
	t.Setenv("GOGC", "")
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	trim(true)
	if got := tuned.Load(); got != servePercent {
		t.Fatalf("a small heap: %d percent", got)
	}
	live := make([]byte, 192<<20)
	runtime.GC()
	for deadline := time.Now().Add(10 * time.Second); tuned.Load() > 50; runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("a heap of %d MiB: %d percent", len(live)>>20, tuned.Load())
		}
	}
	runtime.KeepAlive(live)
}
