package lsp

import (
	"os"
	"runtime/debug"
	"sync"
	"time"
)

const (
	garbagePercent = 60              // of the live heap, once there is one; a load makes much garbage
	firstPercent   = 150             // during the first load, whose live heap grows
	trimAfter      = 2 * time.Second // without a load
)

// newTrimmer returns a function to call after each load. It returns memory to the system when no other load follows.
// The first load, of all files, has fewer collections than the others. GOGC in the environment is left as it is.
func newTrimmer() func() {
	setPercent := func(percent int) {
		if os.Getenv("GOGC") == "" {
			debug.SetGCPercent(percent)
		}
	}
	setPercent(firstPercent)
	timer := time.AfterFunc(time.Hour, debug.FreeOSMemory)
	timer.Stop()
	var first sync.Once
	return func() {
		first.Do(func() { setPercent(garbagePercent) })
		timer.Reset(trimAfter)
	}
}
