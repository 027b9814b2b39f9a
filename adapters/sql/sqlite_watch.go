package sql

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	watchEvery = 5 * time.Millisecond
	watchIdle  = 200 // rounds without a call after which the watchdog sleeps
)

// A watchdog interrupts the statements of calls whose context has ended. One goroutine looks at all connections of a database every few milliseconds,
// which costs a call next to nothing; a context that the driver can wait on costs it more than a point query does.
type watchdog struct {
	asleep atomic.Bool
	woken  chan struct{}
	stop   chan struct{}
	done   chan struct{}

	mu    sync.Mutex
	conns []*liteConn // guarded by mu
}

func newWatchdog() *watchdog {
	w := &watchdog{woken: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{})}
	go w.run()
	return w
}

func (w *watchdog) add(c *liteConn) {
	w.mu.Lock()
	w.conns = append(w.conns, c)
	w.mu.Unlock()
}

func (w *watchdog) remove(c *liteConn) {
	w.mu.Lock()
	if i := slices.Index(w.conns, c); i >= 0 {
		w.conns = slices.Delete(w.conns, i, i+1)
	}
	w.mu.Unlock()
}

// wake makes sure that the watchdog sees a call that was just noted on its connection.
func (w *watchdog) wake() {
	if w.asleep.Load() && w.asleep.CompareAndSwap(true, false) {
		w.woken <- struct{}{}
	}
}

// close ends the goroutine. No call may be under way.
func (w *watchdog) close() {
	close(w.stop)
	<-w.done
}

func (w *watchdog) run() {
	defer close(w.done)
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for idle := 0; ; {
		select {
		case <-tick.C:
		case <-w.stop:
			return
		}
		if w.look() {
			idle = 0
			continue
		}
		if idle++; idle < watchIdle {
			continue
		}
		tick.Stop()
		w.asleep.Store(true)
		if !w.look() || !w.asleep.CompareAndSwap(true, false) { // a call may have come before asleep was set
			select {
			case <-w.woken:
			case <-w.stop:
				return
			}
		}
		tick.Reset(watchEvery)
		idle = 0
	}
}

// look interrupts what must end and reports whether any call is under way.
func (w *watchdog) look() (busy bool) {
	w.mu.Lock()
	conns := slices.Clone(w.conns)
	w.mu.Unlock()
	for _, c := range conns {
		busy = c.check() || busy
	}
	return busy
}
