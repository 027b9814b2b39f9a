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
	if got := tuned.Load(); got != maxPercent {
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

// During a load the limit is that of a small process, or what the live heap needs; after it there is none.
func TestMemoryIsLimitedDuringALoad(t *testing.T) {
	t.Setenv("GOGC", "")
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(-1))
	runtime.GC()
	before := debug.SetMemoryLimit(-1)
	tuneForLoad()
	if got := debug.SetMemoryLimit(-1); got != loadMemory {
		t.Errorf("a small heap: a limit of %d MiB", got>>20)
	}
	live := make([]byte, 128<<20)
	runtime.GC()
	for deadline := time.Now().Add(10 * time.Second); debug.SetMemoryLimit(-1) < int64(len(live)); runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("a heap of %d MiB: a limit of %d MiB", len(live)>>20, debug.SetMemoryLimit(-1)>>20)
		}
	}
	runtime.KeepAlive(live)
	trim(true)
	if got := debug.SetMemoryLimit(-1); got != before {
		t.Errorf("after the load: a limit of %d", got)
	}
}
