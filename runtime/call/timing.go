package call

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"hatchel/adapters"
	"hatchel/runtime/failure"
)

// Why the context of a call ends.
var (
	ErrReplaced = errors.New("the configuration was replaced")
	ErrStopped  = errors.New("the server was stopped")
	errTimeout  = fmt.Errorf("the timeout of the call has passed: %w", context.DeadlineExceeded)
)

// startTimeout bounds what the call does from here on: by its timeout, of which elapsed has passed,
// and by the end of its generation or task. c.timing.stop undoes that.
func (c *call) startTimeout(elapsed time.Duration) {
	if c.operation.MayWaitForApproval {
		c.startPausableTimeout(elapsed)
		return
	}
	before := c.frame.Context
	ctx, cancel := context.WithTimeoutCause(before, c.operation.Decl.Timeout-elapsed, errTimeout)
	unhook := context.AfterFunc(c.timing.stopCtx, cancel)
	c.frame.Context = ctx
	c.timing.stop = func() {
		unhook()
		cancel()
		c.frame.Context = before
	}
}

// elapsed returns how long the call has run, in all requests that it took.
func (c *call) elapsed() time.Duration { return time.Since(c.timing.started) + c.timing.offset }

// pauseTimeout stops the timeout of a call until resume is called.
func (c *call) pauseTimeout() (resume func()) {
	c.timing.stop()
	paused := time.Now()
	return func() {
		c.timing.offset -= time.Since(paused)
		c.startTimeout(c.elapsed())
		if c.timing.stopCtx.Err() != nil {
			<-c.frame.Context.Done() // it follows stopCtx, but not at once
		}
	}
}

// waitWithTimeout does something that may take a while, under the timeout of the call.
func (c *call) waitWithTimeout(do func(context.Context) error) error {
	c.startTimeout(c.elapsed())
	defer func() { c.timing.stop() }()
	if err := do(c.frame.Context); err != nil {
		return c.contextCause(err)
	}
	return nil
}

// pin lets the call continue when its generation is replaced, for as long as people take to answer.
func (c *call) pin() {
	if c.timing.pinned || c.timing.stopCtx.Err() != nil {
		return
	}
	c.operation.Env.Generation.Pin()
	c.timing.pinned, c.timing.stopCtx = true, c.operation.Env.Pinned
}

// unpin undoes pin when the call has ended.
func (c *call) unpin() {
	if c.timing.pinned {
		c.operation.Env.Generation.Unpin()
	}
}

// contextCause returns why the context of the call has ended, in place of the error that followed
// from it.
func (c *call) contextCause(err error) error {
	ctx := c.frame.Context
	if ctx.Err() == nil {
		return err
	}
	f := new(adapters.Fault)
	errors.As(err, &f) // any other error leaves it empty
	text, advice := "the call was cancelled", ""
	timedOut := c.onlyComputes() && errors.Is(ctx.Err(), context.DeadlineExceeded)
	switch stop := context.Cause(c.timing.stopCtx); {
	case timedOut || errors.Is(context.Cause(ctx), errTimeout):
		text = "timed out after " + failure.FormatDuration(c.operation.Decl.Timeout)
		if f.Cause == context.DeadlineExceeded && f.Message != "" {
			text += "; " + f.Message // what was tried meanwhile
		}
	case errors.Is(stop, ErrStopped):
		text = "stopped because the server was stopped"
	case errors.Is(stop, ErrReplaced):
		text = "stopped because the server's configuration was replaced while the tool ran"
		advice = "call it again"
	}
	return &adapters.Fault{Message: text, Advice: advice, Cause: err, Change: adapters.ChangeOf(err)}
}

// evalError returns the error of an expression, whose text is written for the model.
func (c *call) evalError(err error) error { return c.contextCause(failure.AsFault(err)) }

// computeContext is the context of a call without steps. What it computes polls Err, so it needs
// neither a timer nor a channel.
type computeContext struct {
	context.Context
	until time.Time
	call  *call
}

// Deadline implements context.Context.
func (c *computeContext) Deadline() (time.Time, bool) {
	if d, ok := c.Context.Deadline(); ok && d.Before(c.until) {
		return d, true
	}
	return c.until, true
}

// Err implements context.Context.
func (c *computeContext) Err() error {
	if err := c.Context.Err(); err != nil {
		return err
	}
	if time.Now().After(c.until) {
		return context.DeadlineExceeded
	}
	return c.call.timing.stopCtx.Err()
}

func (c *call) onlyComputes() bool {
	_, ok := c.frame.Context.(*computeContext)
	return ok
}

// pausableTimeout is the timeout of a call with steps that may wait for people. It is paused while
// one does, and the call counts in no limit then. A nil pausableTimeout is that of a call without
// such steps.
type pausableTimeout struct {
	call   *call
	outer  *pausableTimeout // of the call that this one is a step of
	expire func()           // ends the call

	mu        sync.Mutex
	timer     *time.Timer   // guarded by mu, with all that follows
	left      time.Duration // at the last start
	started   time.Time
	paused    int  // steps that wait
	expired   bool // the timer had fired when it was paused
	pausedFor time.Duration
}

type pausableTimeoutKey struct{}

// timeoutContext is a context that a pausableTimeout ends. Its deadline moves while a step waits.
type timeoutContext struct {
	context.Context
	timeout *pausableTimeout
}

// Deadline implements context.Context.
func (c timeoutContext) Deadline() (time.Time, bool) {
	deadline := c.timeout.deadline()
	if outer, ok := c.Context.Deadline(); ok && outer.Before(deadline) {
		return outer, true
	}
	return deadline, true
}

// Err implements context.Context.
func (c timeoutContext) Err() error {
	if err := c.Context.Err(); err == nil || context.Cause(c.Context) != errTimeout {
		return err
	}
	return context.DeadlineExceeded
}

// Value implements context.Context.
func (c timeoutContext) Value(key any) any {
	if key == (pausableTimeoutKey{}) {
		return c.timeout
	}
	return c.Context.Value(key)
}

// startPausableTimeout is startTimeout for a call with steps that may wait for people.
func (c *call) startPausableTimeout(elapsed time.Duration) {
	before := c.frame.Context
	ctx, end := context.WithCancelCause(before)
	t := &pausableTimeout{
		call: c, outer: timeoutOf(before), expire: func() { end(errTimeout) },
		left: c.operation.Decl.Timeout - elapsed, started: time.Now(),
	}
	t.timer = time.AfterFunc(t.left, t.expire)
	unhook := context.AfterFunc(c.timing.stopCtx, func() { end(nil) })
	c.frame.Context = timeoutContext{ctx, t}
	c.timing.stop = func() {
		unhook()
		t.timer.Stop()
		end(nil)
		c.frame.Context = before
		c.timing.started = c.timing.started.Add(t.pausedFor)
	}
}

// timeoutOf returns the timeout of the call whose step a context belongs to; nil for none.
func timeoutOf(ctx context.Context) *pausableTimeout {
	t, _ := ctx.Value(pausableTimeoutKey{}).(*pausableTimeout)
	return t
}

// deadline returns when the call ends if no step waits from now on.
func (t *pausableTimeout) deadline() time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.paused > 0 {
		return time.Now().Add(t.left)
	}
	return t.started.Add(t.left)
}

// pause is called when a step begins to wait.
func (t *pausableTimeout) pause() {
	if t == nil {
		return
	}
	t.outer.pause()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.paused++; t.paused > 1 {
		return
	}
	now := time.Now()
	t.expired = !t.timer.Stop()
	t.left -= now.Sub(t.started)
	t.started = now
	for _, key := range t.call.limits {
		t.call.operation.Env.Limiter.Release(key)
	}
}

// resume is called when a step has waited.
func (t *pausableTimeout) resume() {
	if t == nil {
		return
	}
	t.mu.Lock()
	if t.paused--; t.paused == 0 {
		for _, key := range t.call.limits {
			t.call.operation.Env.Limiter.Readmit(key)
		}
		now := time.Now()
		t.pausedFor += now.Sub(t.started)
		if t.started = now; !t.expired {
			t.timer.Reset(t.left)
		}
	}
	t.mu.Unlock()
	t.outer.resume()
}
