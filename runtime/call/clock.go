package call

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/stage/failure"
)

// Why the context of a call ends.
var (
	ErrReplaced = errors.New("the configuration was replaced")
	ErrStopped  = errors.New("the server was stopped")
	errTimeout  = fmt.Errorf("the timeout of the call has passed: %w", context.DeadlineExceeded)
)

// clock is how long a call may take, and how much of that has passed. It alone sets the context of the frame: its
// context ends with the timeout of the call, and with the generation or the task of the call.
type clock struct {
	frame   *hcl.Frame
	env     *Environment
	timeout time.Duration
	caller  *mcp.Caller // nil in a step of another call
	limits  heldLimits  // that count the call

	started time.Time
	events  *callEvents     // of the call
	offset  time.Duration   // time that the call has run before started
	stopCtx context.Context // ends when the call must: that of the generation or of the task
	pinned  bool            // the generation stays for as long as the call takes
	compute computeContext  // of the arguments, and of the frame where nothing is called

	mayWait  bool             // steps may wait for people, so the timeout pauses
	pausable *pausableTimeout // between start and stop, if mayWait
	before   context.Context  // of the frame, before start
	cancel   func()           // ends the context of the frame, after start
	unhook   func() bool      // of stopCtx, after start
}

// begin starts the clock of a call of an operation.
func (k *clock) begin(ctx context.Context, o *Operation, f *hcl.Frame) {
	k.frame, k.env, k.timeout, k.mayWait = f, o.Env, o.Decl.Timeout, o.MayWait
	k.started, k.stopCtx, k.limits.limiter = time.Now(), o.Env.Running, o.Env.Limiter
	k.compute = computeContext{ctx, k.started.Add(k.timeout), k}
	if len(o.Steps) == 0 {
		f.Context = &k.compute
	}
}

// start bounds what the call does from here on: by its timeout, of which elapsed has passed, and by the end of its
// generation or task. Stop undoes that.
func (k *clock) start(elapsed time.Duration) {
	k.before = k.frame.Context
	left := k.timeout - elapsed
	if k.mayWait {
		k.pausable, k.frame.Context = newPausableTimeout(k, left)
		k.cancel = k.pausable.cancel
	} else {
		k.frame.Context, k.cancel = context.WithTimeoutCause(k.before, left, errTimeout)
	}
	k.unhook = context.AfterFunc(k.stopCtx, k.cancel)
}

// stop undoes start.
func (k *clock) stop() {
	k.unhook()
	if t := k.pausable; t != nil {
		t.timer.Stop()
		k.started = k.started.Add(t.pausedFor)
		k.pausable = nil
	}
	k.cancel()
	k.frame.Context = k.before
}

// elapsed returns how long the call has run, in all requests that it took.
func (k *clock) elapsed() time.Duration { return time.Since(k.started) + k.offset }

// pause stops the timeout of a call until resume is called.
func (k *clock) pause() (resume func()) {
	k.stop()
	paused := time.Now()
	return func() {
		k.offset -= time.Since(paused)
		k.start(k.elapsed())
		if k.stopCtx.Err() != nil {
			<-k.frame.Context.Done() // it follows stopCtx, but not at once
		}
	}
}

// bound does something that may take a while, under the timeout of the call.
func (k *clock) bound(do func(context.Context) error) error {
	k.start(k.elapsed())
	defer k.stop()
	if err := do(k.frame.Context); err != nil {
		return k.cause(err)
	}
	return nil
}

// pin lets the call continue when its generation is replaced, for as long as people take to answer.
func (k *clock) pin() {
	if k.pinned || k.stopCtx.Err() != nil {
		return
	}
	k.env.Generation.Pin()
	k.pinned, k.stopCtx = true, k.env.Pinned
}

// unpin undoes pin when the call has ended.
func (k *clock) unpin() {
	if k.pinned {
		k.env.Generation.Unpin()
	}
}

// isOver reports whether the call had to end, by ctx or for a reason of the server.
func (k *clock) isOver(ctx context.Context) bool { return ctx.Err() != nil || k.stopCtx.Err() != nil }

// cause returns why the context of the call has ended, in place of the error that followed from it.
func (k *clock) cause(err error) error {
	ctx := k.frame.Context
	if ctx.Err() == nil {
		return err
	}
	f := new(adapters.Fault)
	errors.As(err, &f) // any other error leaves it empty
	text, advice := "the call was cancelled", ""
	timedOut := k.onlyComputes() && errors.Is(ctx.Err(), context.DeadlineExceeded)
	switch stop := context.Cause(k.stopCtx); {
	case timedOut || errors.Is(context.Cause(ctx), errTimeout):
		text = "timed out after " + failure.FormatDuration(k.timeout)
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
func (k *clock) evalError(err error) error { return k.cause(failure.AsFault(err)) }

// restart gives a call without steps its whole timeout again: it begins to compute when people have approved.
func (k *clock) restart() {
	k.compute.until = time.Now().Add(k.timeout)
	k.frame.Context = &k.compute
}

// suspend lets a call without steps take as long as people do, until restart.
func (k *clock) suspend() {
	if k.onlyComputes() {
		k.frame.Context = k.compute.Context
	}
}

func (k *clock) onlyComputes() bool {
	_, ok := k.frame.Context.(*computeContext)
	return ok
}

// whileWaiting does something that takes as long as people do. The timeouts of the call, and of those that it is a
// step of, do not run meanwhile, and its generation stays. It ends with the call, or with what interrupted, nil for
// nothing, returns: that waits for an interruption or for the end of its context.
func (k *clock) whileWaiting(
	interrupted func(context.Context) error, do func(context.Context, context.CancelCauseFunc) error,
) error {
	if k.stopCtx == k.env.Running {
		k.pin()
	}
	base, stopCtx := k.frame.Context, k.stopCtx
	ctx, end := context.WithCancelCause(base)
	unhook := context.AfterFunc(stopCtx, func() { end(context.Cause(stopCtx)) })
	var watching sync.WaitGroup
	if interrupted != nil {
		watching.Go(func() { end(interrupted(ctx)) })
	}
	timeout := timeoutOf(base)
	timeout.pause()
	began := time.Now()
	err := do(ctx, end)
	waited := time.Since(began)
	timeout.resume()
	cause := context.Cause(ctx)
	end(nil)
	watching.Wait()
	unhook()
	k.started = k.started.Add(waited)
	k.events.entry.Wait(began, waited)
	switch {
	case err == nil || errors.Is(err, mcp.ErrSuspended):
		return err
	case cause == errShuttingDown || cause == errSuperseded:
		return cause
	case errors.Is(cause, ErrStopped):
		return errShuttingDown
	case errors.Is(cause, ErrReplaced):
		return errSuperseded
	}
	return k.cause(err)
}

// outerCaller returns the caller of the call, or of the call that it is a step of; nil for none.
func (k *clock) outerCaller() *mcp.Caller {
	caller := k.caller
	for t := timeoutOf(k.frame.Context); caller == nil && t != nil; t = t.outer {
		caller = t.caller
	}
	return caller
}

// computeContext is the context of a call without steps. What it computes polls Err, so it needs
// neither a timer nor a channel.
type computeContext struct {
	context.Context
	until time.Time
	clock *clock
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
	return c.clock.stopCtx.Err()
}

// pausableTimeout is the timeout of a call with steps that may wait for people. It is paused while
// one does, and the call counts in no limit then. A nil pausableTimeout is that of a call without
// such steps.
type pausableTimeout struct {
	outer  *pausableTimeout // of the call that this one is a step of
	caller *mcp.Caller      // of the call; nil in a step of another one
	limits *heldLimits      // of the call
	expire func()           // ends the call with its timeout
	cancel func()           // ends the call

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

// newPausableTimeout starts the timeout of a call with steps that may wait for people, and returns its context.
func newPausableTimeout(k *clock, left time.Duration) (*pausableTimeout, context.Context) {
	ctx, end := context.WithCancelCause(k.frame.Context)
	t := &pausableTimeout{
		outer: timeoutOf(k.frame.Context), caller: k.caller, limits: &k.limits,
		expire: func() { end(errTimeout) }, cancel: func() { end(nil) }, left: left, started: time.Now(),
	}
	t.timer = time.AfterFunc(t.left, t.expire)
	return t, timeoutContext{ctx, t}
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
	t.limits.suspend()
}

// resume is called when a step has waited.
func (t *pausableTimeout) resume() {
	if t == nil {
		return
	}
	t.mu.Lock()
	if t.paused--; t.paused == 0 {
		t.limits.readmit()
		now := time.Now()
		t.pausedFor += now.Sub(t.started)
		if t.started = now; !t.expired {
			t.timer.Reset(t.left)
		}
	}
	t.mu.Unlock()
	t.outer.resume()
}
