package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"time"
)

// Little is allocated a call, so few collections are needed, unless that would keep more than spare bytes of garbage. A load is another thing: what
// it throws away lies between what it keeps.
const (
	whileLoading = 60 // percent of what is alive
	whileCalling = 400
	spare        = 96 << 20
)

// tuneCollector sets the collector for a load, unless its user has set it.
func tuneCollector() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(whileLoading)
	}
}

// trimmer gives back what a load has used, when no other load followed soon.
type trimmer struct{ timer *time.Timer }

func newTrimmer() *trimmer {
	adjust := os.Getenv("GOGC") == ""
	t := &trimmer{time.AfterFunc(time.Hour, func() { trim(adjust) })}
	t.timer.Stop()
	return t
}

func (t *trimmer) soon() { t.timer.Reset(200 * time.Millisecond) }
func (t *trimmer) stop() { t.timer.Stop() }

func trim(adjust bool) {
	debug.FreeOSMemory()
	if !adjust {
		return
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	debug.SetGCPercent(max(50, min(whileCalling, int(spare*100/max(m.HeapAlloc, 1)))))
}
