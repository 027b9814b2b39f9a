package runtime

import (
	"context"
	"sync"
	"time"
)

// pausableTimeout is the timeout of a call that has steps which wait for people: it stands still while they do, and the call holds no place of a limit then. A nil stopwatch is that of a
// call which has none.
type pausableTimeout struct {
	call   *call
	outer  *pausableTimeout // of the call that it is a step of
	expire func()           // ends the call

	mu        sync.Mutex
	timer     *time.Timer   // guarded by mu, as all that follows
	left      time.Duration // when it was started last
	started   time.Time
	paused    int           // how many steps wait
	expired   bool          // it was too late when it was stopped
	pausedFor time.Duration // all in all
}

// startPausableTimeout is limit for a call that has steps which wait for people.
func (c *call) startPausableTimeout(clock time.Duration) {
	before := c.frame.Context
	ctx, end := context.WithCancelCause(before)
	w := &pausableTimeout{call: c, outer: timeoutOf(before), expire: func() { end(errTimeout) }, left: c.operation.decl.Timeout - clock, started: time.Now()}
	w.timer = time.AfterFunc(w.left, w.expire)
	unhook := context.AfterFunc(c.stopCtx, func() { end(nil) })
	c.frame.Context = context.WithValue(ctx, pausableTimeoutKey{}, w)
	c.stopTimeout = func() {
		unhook()
		w.timer.Stop()
		end(nil)
		c.frame.Context = before
		c.started = c.started.Add(w.pausedFor)
	}
}

type pausableTimeoutKey struct{}

// timeoutOf is the stopwatch of the call whose step a context is of; nil when it has none.
func timeoutOf(ctx context.Context) *pausableTimeout {
	w, _ := ctx.Value(pausableTimeoutKey{}).(*pausableTimeout)
	return w
}

// pause is called when a step begins to wait.
func (w *pausableTimeout) pause() {
	if w == nil {
		return
	}
	w.outer.pause()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.paused++; w.paused > 1 {
		return
	}
	now := time.Now()
	w.expired = !w.timer.Stop()
	w.left -= now.Sub(w.started)
	w.started = now
	for _, m := range w.call.limits {
		w.call.operation.generation.build.caches.limiter.Release(m)
	}
}

// resume is called when a step has waited.
func (w *pausableTimeout) resume() {
	if w == nil {
		return
	}
	w.mu.Lock()
	if w.paused--; w.paused == 0 {
		for _, m := range w.call.limits {
			w.call.operation.generation.build.caches.limiter.Readmit(m)
		}
		now := time.Now()
		w.pausedFor += now.Sub(w.started)
		if w.started = now; !w.expired {
			w.timer.Reset(w.left)
		}
	}
	w.mu.Unlock()
	w.outer.resume()
}
