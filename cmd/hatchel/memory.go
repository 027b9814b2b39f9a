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

// trimmer returns the memory of a load to the system when no other load follows.
type trimmer struct{ timer *time.Timer }

func newTrimmer() *trimmer {
	tune := os.Getenv("GOGC") == ""
	t := &trimmer{time.AfterFunc(time.Hour, func() { trim(tune) })}
	t.timer.Stop()
	return t
}

func (t *trimmer) schedule() { t.timer.Reset(trimAfterLoads) }
func (t *trimmer) stop()     { t.timer.Stop() }

func trim(tune bool) {
	debug.FreeOSMemory()
	if !tune {
		return
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	debug.SetGCPercent(max(minServe, min(servePercent, int(maxGarbage*100/max(m.HeapAlloc, 1)))))
}
