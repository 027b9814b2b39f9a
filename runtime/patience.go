package runtime

import (
	"context"
	"errors"
	"sync"
	"time"

	"hatchel/runtime/approval"
	"hatchel/runtime/failure"
	"hatchel/runtime/limit"
	"hatchel/runtime/mcp"
)

// errSuperseded ends a call that waits for an approval while its configuration changes.
const errSuperseded = failure.Refusal("The configuration was changed while this call waited for its approval, so nothing was done. Call it again: what it does now must be approved afresh.")

// errShuttingDown is why the calls that wait for people end: the server is being stopped.
var errShuttingDown = errors.New("the server is being stopped, and waits for nobody")

// maxWaitersPerCaller is how many calls of one caller may wait for an operator at once.
const maxWaitersPerCaller = 256

// progressInterval is how often who waits is told that it still waits.
const progressInterval = 3 * time.Second

// waiters counts the calls that wait for people. It outlives generations.
type waiters struct {
	stopped chan struct{} // closed when none may wait any more

	mu       sync.Mutex
	count    map[string]int // by caller; guarded by mu
	closed   bool           // over is closed; guarded by mu
	reloaded chan struct{}  // closed when another generation is served, which has a new one; guarded by mu
}

func newWaiters() *waiters {
	return &waiters{stopped: make(chan struct{}), count: map[string]int{}, reloaded: make(chan struct{})}
}

// notifyReload has everybody who waits look whether what they wait for still counts.
func (w *waiters) notifyReload() {
	w.mu.Lock()
	defer w.mu.Unlock()
	close(w.reloaded)
	w.reloaded = make(chan struct{})
}

// nextReload is closed when another generation is served.
func (w *waiters) nextReload() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.reloaded
}

// stop ends all, now and from now on.
func (w *waiters) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.closed {
		w.closed = true
		close(w.stopped)
	}
}

// enter counts a call that begins to wait, and reports whether it may.
func (w *waiters) enter(owner string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.count[owner] >= maxWaitersPerCaller {
		return false
	}
	w.count[owner]++
	return true
}

func (w *waiters) leave(owner string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.count[owner]--; w.count[owner] == 0 {
		delete(w.count, owner)
	}
}

// StopWaiting ends all calls that wait for an approval, now and from now on: the server is being stopped, and that waits for nobody. What is approved later can be used by the same
// call made again.
func (h *Host) StopWaiting() { h.build.caches.waiters.stop() }

// waitForDecision returns an approval when somebody has decided, or when its time has passed.
func (p *Program) waitForDecision(c *call, a *approval.Approval) (*approval.Approval, error) {
	w := p.generation.build.caches.waiters
	if !w.enter(c.action.Owner) {
		return nil, &limit.Error{Message: "Too many calls of one caller wait for their approvals. Nothing was done. Try again when one of them is decided.", RetryAfter: time.Minute}
	}
	defer w.leave(c.action.Owner)
	book, err := p.generation.build.State.approvals(c.frame.Context)
	if err != nil {
		return nil, err
	}
	asked, told := a, 0
	tell := func() {
		told++
		c.action.Client.Progress(float64(told)*1e-6, 0, "waits for approval "+asked.ID) // a step may report its own progress later, from 1
	}
	tell()
	err = p.runWhileWaiting(c, w, func(ctx context.Context, end context.CancelCauseFunc) (err error) {
		a, err = book.Await(ctx, a, progressInterval, func() {
			tell()
			if !p.stillValid(c) {
				end(errSuperseded)
			}
		})
		return err
	})
	switch {
	case errors.Is(err, errSuperseded):
		p.voidApproval(c, book, asked)
		return nil, p.supersededError()
	case errors.Is(err, errShuttingDown):
		return nil, failure.Refusal("The server is being stopped, and this call waits for an approval. Nothing was done. Call again when the server is back: the approval counts for the same call then.")
	case err != nil:
		return nil, err
	}
	return a, nil
}

// runWhileWaiting does something that takes as long as people do. The clock of the call stands still meanwhile, and so do those of the calls that it is a step of; its generation stays. It ends
// with the call, when the configuration of the tool changes, or when none may wait any more; with nil for w only with the call.
func (p *Program) runWhileWaiting(c *call, w *waiters, do func(context.Context, context.CancelCauseFunc) error) error {
	if !c.nested && c.stopCtx == p.generation.ctx {
		c.pin()
	}
	base := c.frame.Context
	ctx, end := context.WithCancelCause(base)
	unhook := context.AfterFunc(c.stopCtx, func() { end(context.Cause(c.stopCtx)) })
	var watching sync.WaitGroup
	if w != nil {
		watching.Go(func() { end(p.awaitInterruption(ctx, c, w)) })
	}
	clock := timeoutOf(base)
	clock.pause()
	began := time.Now()
	err := do(ctx, end)
	passed := time.Since(began)
	clock.resume()
	cause := context.Cause(ctx)
	end(nil)
	watching.Wait()
	unhook()
	c.started = c.started.Add(passed)
	switch {
	case err == nil:
		return nil
	case cause == errShuttingDown || cause == errSuperseded:
		return cause
	case errors.Is(cause, errStopped):
		return errShuttingDown
	case errors.Is(cause, errReplaced):
		return errSuperseded
	}
	return c.contextCause(err)
}

// awaitInterruption waits for what ends the waiting of a call, or for the end of ctx, and returns which it was.
func (p *Program) awaitInterruption(ctx context.Context, c *call, w *waiters) error {
	for {
		swapped := w.nextReload()
		if !p.stillValid(c) {
			return errSuperseded
		}
		select {
		case <-swapped:
		case <-w.stopped:
			return errShuttingDown
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// stillValid reports whether a call would be answered today as it is answered here: its tool, the rules about it, and what is known of its caller are what they were.
func (p *Program) stillValid(c *call) bool {
	current := p.generation.build.current
	if current == nil {
		return true
	}
	g := current()
	now := g.programs[p.decl.Name]
	caller := c.callerOrOuter()
	return now != nil && now.approvalDigest == p.approvalDigest && (caller == nil || g.stillKnown(caller))
}

// callerOrOuter is who makes the call, or the one that it is a step of; nil where nobody knows.
func (c *call) callerOrOuter() *mcp.Caller {
	for w := timeoutOf(c.frame.Context); c.caller == nil && w != nil; w = w.outer {
		if w.call.caller != nil {
			return w.call.caller
		}
	}
	return c.caller
}

// stillKnown is knows, also of who has made a call that has become a task in the meantime.
func (g *Generation) stillKnown(c *mcp.Caller) bool {
	if i := c.Identity; c.Header == nil && i != nil && i.Grant != "" {
		return g.authenticator.Stands(i)
	}
	return g.isAuthenticated(c)
}
