package process

import (
	"os"
	"runtime"
	"runtime/debug"
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

// TrimAfterLoads is the time after a load in which another one may follow.
const TrimAfterLoads = 200 * time.Millisecond

// TuneForLoad sets the garbage collector for a load, unless GOGC is set.
func TuneForLoad() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(loadPercent)
	}
}

// TuneForInspection sets the garbage collector for a command that reads a directory once and ends, unless GOGC is set.
func TuneForInspection() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(servePercent)
	}
}

// NewTrimmer returns a stopped timer that returns the memory of a load to the system. It is reset to
// TrimAfterLoads after each load, so that it waits when another load follows.
func NewTrimmer() *time.Timer {
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
