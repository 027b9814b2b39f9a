package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"time"
)

// A call allocates little, so that collections can be rare, unless they would keep more than maxGarbage. A load
// interleaves garbage with what it keeps: its collections are rare while the process is small, and keep its memory
// within loadMemory, or within loadGrowth times what lives.
const (
	maxPercent = 400 // of the live heap
	minPercent = 50
	maxGarbage = 96 << 20 // bytes
	loadMemory = 72 << 20 // bytes
	loadGrowth = 1.5
)

// trimAfterLoads is the time after a load in which another one may follow.
const trimAfterLoads = 200 * time.Millisecond

// tuneForLoad sets the garbage collector for a load, unless GOGC is set. Its limit is at most that of GOMEMLIMIT.
func tuneForLoad() {
	if os.Getenv("GOGC") != "" {
		return
	}
	memoryLimit = debug.SetMemoryLimit(-1)
	loads.Store(true)
	debug.SetGCPercent(maxPercent)
	tuneEachCollection()
}

// tuneForInspection sets the garbage collector for a command that reads a directory once and ends, unless GOGC is set.
func tuneForInspection() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(maxPercent)
	}
}

// newTrimmer returns a stopped timer that returns the memory of a load to the system. It is reset to
// trimAfterLoads after each load, so that it waits when another load follows.
func newTrimmer() *time.Timer {
	unset := os.Getenv("GOGC") == ""
	timer := time.AfterFunc(time.Hour, func() { trim(unset) })
	timer.Stop()
	return timer
}

func trim(retune bool) {
	debug.FreeOSMemory()
	if !retune {
		return
	}
	if loads.Swap(false) {
		debug.SetMemoryLimit(memoryLimit)
	}
	tuneEachCollection()
}

var (
	loads       atomic.Bool // the garbage collector is set for a load
	memoryLimit int64       // outside of a load, in bytes
)

// tuneEachCollection tunes the garbage collector now and after each collection.
func tuneEachCollection() {
	followCollections.Do(func() {
		last := new(collection)
		runtime.SetFinalizer(last, (*collection).finished)
	})
	tune()
}

var followCollections sync.Once

// collection is garbage that nothing but its finalizer keeps, which is called after each collection.
type collection struct{ _ *byte }

func (c *collection) finished() {
	tune()
	runtime.SetFinalizer(c, (*collection).finished)
}

// tune sets how much garbage is allowed beside what lives now. Requests can make the heap many times as large as it was
// after the load.
func tune() {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	live := sample[0].Value.Uint64()
	if loads.Load() {
		debug.SetMemoryLimit(min(memoryLimit, max(loadMemory, int64(loadGrowth*float64(live)))))
		return
	}
	percent := max(minPercent, min(maxPercent, int(maxGarbage*100/max(live, 1))))
	if percent != int(tuned.Swap(int64(percent))) {
		debug.SetGCPercent(percent)
	}
}

var tuned atomic.Int64 // the percentage that tune has set
