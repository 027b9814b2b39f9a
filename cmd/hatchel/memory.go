package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"time"
)

// A call allocates little, so that collections can be rare, unless they would keep more than
// maxGarbage. A load interleaves garbage with what it keeps, and needs them more often.
const (
	loadPercent    = 60 // of the live heap
	servePercent   = 400
	minServe       = 50
	maxGarbage     = 96 << 20 // bytes
	trimAfterLoads = 200 * time.Millisecond
)

// tuneForLoad sets the garbage collector for a load, unless GOGC is set.
func tuneForLoad() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(loadPercent)
	}
}

// newTrimmer returns a stopped timer that returns the memory of a load to the system. It is reset to
// trimAfterLoads after each load, so that it waits when another load follows.
func newTrimmer() *time.Timer {
	tune := os.Getenv("GOGC") == ""
	timer := time.AfterFunc(time.Hour, func() { trim(tune) })
	timer.Stop()
	return timer
}

func trim(tune bool) {
	debug.FreeOSMemory()
	if !tune {
		return
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	debug.SetGCPercent(max(minServe, min(servePercent, int(maxGarbage*100/max(m.HeapAlloc, 1)))))
}
