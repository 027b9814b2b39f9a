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
	defer tuneFor(nil)
	trim()
	if got := tunedPercent(); got != servePercent {
		t.Fatalf("a small heap: %d percent", got)
	}
	live := make([]byte, 192<<20)
	runtime.GC()
	for deadline := time.Now().Add(10 * time.Second); tunedPercent() > 50; runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("a heap of %d MiB: %d percent", len(live)>>20, tunedPercent())
		}
	}
	runtime.KeepAlive(live)
}

func tunedPercent() int {
	tuned.Lock()
	defer tuned.Unlock()
	return tuned.percent
}

// A load has no collection before its heap has loadHeap, and then at most loadPercent of garbage or as much as fits
// into loadHeap.
func TestTheHeapOfALoadGrowsToAFixedSizeBeforeItIsCollected(t *testing.T) {
	for live := minLive; live < 1<<30; live += 1 << 20 {
		goal := live + live*loadTuning(live)/100
		if want := max(loadHeap, live+live*loadPercent/100); goal > want || goal < want-live/100-1 {
			t.Fatalf("%d MiB live: collected at %d MiB, want %d", live>>20, goal>>20, want>>20)
		}
	}
	if live := 4 * loadHeap; loadTuning(live) != loadPercent {
		t.Errorf("a large heap: %d percent", loadTuning(live))
	}
}

func TestWhoeverTunesItselfIsNotOverruledAfterACollection(t *testing.T) {
	t.Setenv("GOGC", "")
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	tuneFor(serveTuning)
	tuneFor(nil)
	debug.SetGCPercent(123)
	tune()
	if got := debug.SetGCPercent(123); got != 123 {
		t.Errorf("the percentage is %d", got)
	}
}
