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

// A call allocates little, so that collections can be rare, unless they would keep more than
// maxGarbage. A load interleaves garbage with what it keeps, and needs them more often.
const (
	loadPercent  = 50 // of the live heap
	servePercent = 400
	minServe     = 50
	maxGarbage   = 96 << 20 // bytes
)

// trimAfterLoads is the time after a load in which another one may follow.
const trimAfterLoads = 200 * time.Millisecond

// tuneForLoad sets the garbage collector for a load, unless GOGC is set.
func tuneForLoad() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(loadPercent)
	}
}

// tuneForInspection sets the garbage collector for a command that reads a directory once and ends, unless GOGC is set.
func tuneForInspection() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(servePercent)
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
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	percent := max(minServe, min(servePercent, int(maxGarbage*100/max(live[0].Value.Uint64(), 1))))
	if percent != int(tuned.Swap(int64(percent))) {
		debug.SetGCPercent(percent)
	}
}

var tuned atomic.Int64 // the percentage that tune has set
