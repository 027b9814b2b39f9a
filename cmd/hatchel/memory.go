package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"
)

// A call allocates little, so that collections can be rare, unless they would keep more than
// maxGarbage. A load interleaves garbage with what it keeps, and needs them more often, but not while the heap is
// smaller than it becomes anyway.
const (
	loadPercent    = 50       // of the live heap
	loadHeap       = 48 << 20 // bytes that the heap of a load reaches before the first collection
	inspectPercent = 400
	servePercent   = 400
	minServe       = 50
	maxGarbage     = 96 << 20 // bytes
	minLive        = 4 << 20  // bytes; a smaller heap is taken for one of these, as the runtime does
)

// trimAfterLoads is the time after a load in which another one may follow.
const trimAfterLoads = 200 * time.Millisecond

// tuning returns how much garbage is allowed beside a live heap, in percent of it.
type tuning func(live int) int

func loadTuning(live int) int { return max(loadPercent, (loadHeap-live)*100/live) }

func inspectTuning(int) int { return inspectPercent }

// serveTuning follows the live heap, because requests can make it many times as large as it was after the load.
func serveTuning(live int) int { return max(minServe, min(servePercent, maxGarbage*100/live)) }

// tuneFor sets the garbage collector, now and after each collection, unless GOGC is set. Nil leaves it as it is.
func tuneFor(t tuning) {
	if os.Getenv("GOGC") != "" {
		return
	}
	followCollections.Do(func() {
		last := new(collection)
		runtime.SetFinalizer(last, (*collection).finished)
	})
	tuned.Lock()
	tuned.by, tuned.percent = t, 0
	tuned.Unlock()
	tune()
}

var followCollections sync.Once

// collection is garbage that nothing but its finalizer keeps, which is called after each collection.
type collection struct{ _ *byte }

func (c *collection) finished() {
	tune()
	runtime.SetFinalizer(c, (*collection).finished)
}

// tuned is how the garbage collector is set.
var tuned struct {
	sync.Mutex
	by      tuning // nil for by nobody
	percent int    // the last one
}

// tune sets how much garbage is allowed beside what lives now.
func tune() {
	tuned.Lock()
	defer tuned.Unlock()
	if tuned.by == nil {
		return
	}
	percent := tuned.by(max(minLive, liveHeap()))
	if percent != tuned.percent {
		debug.SetGCPercent(percent)
		tuned.percent = percent
	}
}

// liveHeap returns the bytes that the last collection has kept.
func liveHeap() int {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	return int(live[0].Value.Uint64())
}

// newTrimmer returns a stopped timer that returns the memory of a load to the system. It is reset to
// trimAfterLoads after each load, so that it waits when another load follows.
func newTrimmer() *time.Timer {
	timer := time.AfterFunc(time.Hour, trim)
	timer.Stop()
	return timer
}

// trimLarge trims at once if the load was so large that it needed collections, and stops the timer that would.
func trimLarge(timer *time.Timer) {
	if liveHeap() > minLive {
		timer.Stop()
		trim()
	}
}

// trim returns the memory of a load to the system, and tunes the garbage collector for what is served.
func trim() {
	debug.FreeOSMemory()
	tuneFor(serveTuning)
}
