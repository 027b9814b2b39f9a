package runtime

import (
	"context"
	"sync"
	"time"
)

// stopwatch is the timeout of a call that has steps which wait for people: it stands still while they do, and the call holds no place of a limit then. A nil stopwatch is that of a
// call which has none.
type stopwatch struct {
	call  *call
	outer *stopwatch // of the call that it is a step of
	late  func()     // ends the call

	mu      sync.Mutex
	timer   *time.Timer   // guarded by mu, as all that follows
	left    time.Duration // when it was started last
	started time.Time
	stopped int           // how many steps wait
	fired   bool          // it was too late when it was stopped
	stood   time.Duration // all in all
}

// limitPatiently is limit for a call that has steps which wait for people.
func (c *call) limitPatiently(clock time.Duration) {
	before := c.frame.Context
	ctx, end := context.WithCancelCause(before)
	w := &stopwatch{call: c, outer: clockOf(before), late: func() { end(errTimeout) }, left: c.routine.decl.Timeout - clock, started: time.Now()}
	w.timer = time.AfterFunc(w.left, w.late)
	unhook := context.AfterFunc(c.ends, func() { end(nil) })
	c.frame.Context = context.WithValue(ctx, stopwatchKey{}, w)
	c.unlimit = func() {
		unhook()
		w.timer.Stop()
		end(nil)
		c.frame.Context = before
		c.began = c.began.Add(w.stood)
	}
}

type stopwatchKey struct{}

// clockOf is the stopwatch of the call whose step a context is of; nil when it has none.
func clockOf(ctx context.Context) *stopwatch {
	w, _ := ctx.Value(stopwatchKey{}).(*stopwatch)
	return w
}

// stop is called when a step begins to wait.
func (w *stopwatch) stop() {
	if w == nil {
		return
	}
	w.outer.stop()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped++; w.stopped > 1 {
		return
	}
	now := time.Now()
	w.fired = !w.timer.Stop()
	w.left -= now.Sub(w.started)
	w.started = now
	for _, m := range w.call.counted {
		w.call.routine.generation.build.memory.meters.leave(m)
	}
}

// start is called when a step has waited.
func (w *stopwatch) start() {
	if w == nil {
		return
	}
	w.mu.Lock()
	if w.stopped--; w.stopped == 0 {
		for _, m := range w.call.counted {
			w.call.routine.generation.build.memory.meters.force(m)
		}
		now := time.Now()
		w.stood += now.Sub(w.started)
		if w.started = now; !w.fired {
			w.timer.Reset(w.left)
		}
	}
	w.mu.Unlock()
	w.outer.start()
}
