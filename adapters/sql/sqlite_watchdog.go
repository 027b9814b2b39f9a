//go:build cgo

package sql

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	watchInterval = 5 * time.Millisecond
	maxIdleScans  = 200 // scans without a call after which the watchdog sleeps
)

// watchdog interrupts the statements of calls whose context has ended. One goroutine scans all
// connections of a database every few milliseconds. Passing the context to the driver instead would
// cost a call more than a point query does.
type watchdog struct {
	asleep atomic.Bool
	wakeUp chan struct{}
	stop   chan struct{}

	mu      sync.Mutex
	conns   []*sqliteConn // guarded by mu
	closed  bool          // guarded by mu
	stopped bool          // guarded by mu
}

func newWatchdog() *watchdog {
	w := &watchdog{wakeUp: make(chan struct{}, 1), stop: make(chan struct{})}
	go w.run()
	return w
}

// add watches a connection. It reports false if the watchdog has stopped.
func (w *watchdog) add(c *sqliteConn) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.stopped {
		w.conns = append(w.conns, c)
	}
	return !w.stopped
}

func (w *watchdog) remove(c *sqliteConn) {
	w.mu.Lock()
	if i := slices.Index(w.conns, c); i >= 0 {
		w.conns = slices.Delete(w.conns, i, i+1)
	}
	w.stopIfUnused()
	w.mu.Unlock()
}

// wake makes the watchdog scan again. A call invokes it after setCall.
func (w *watchdog) wake() {
	if w.asleep.Load() && w.asleep.CompareAndSwap(true, false) {
		w.wakeUp <- struct{}{}
	}
}

// close stops the goroutine once all connections are removed, for calls may still be active.
func (w *watchdog) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	w.stopIfUnused()
}

// stopIfUnused stops the goroutine if it is closed and nothing is left to watch. The caller holds mu.
func (w *watchdog) stopIfUnused() {
	if w.closed && len(w.conns) == 0 && !w.stopped {
		w.stopped = true
		close(w.stop)
	}
}

func (w *watchdog) run() {
	tick := time.NewTicker(watchInterval)
	defer tick.Stop()
	for idle := 0; ; {
		select {
		case <-tick.C:
		case <-w.stop:
			return
		}
		if w.scan() {
			idle = 0
			continue
		}
		if idle++; idle < maxIdleScans {
			continue
		}
		tick.Stop()
		w.asleep.Store(true)
		if !w.scan() || !w.asleep.CompareAndSwap(true, false) { // a call may have begun before asleep was set
			select {
			case <-w.wakeUp:
			case <-w.stop:
				return
			}
		}
		tick.Reset(watchInterval)
		idle = 0
	}
}

// scan interrupts the statements of ended calls and reports whether any call is active.
func (w *watchdog) scan() (busy bool) {
	w.mu.Lock()
	conns := slices.Clone(w.conns)
	w.mu.Unlock()
	for _, c := range conns {
		busy = c.interruptIfDone() || busy
	}
	return busy
}
