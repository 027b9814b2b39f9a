package runtime

import (
	"context"
	"errors"
	"time"
)

var errTimeout = errors.New("the timeout of the call has passed")

// startTimeout bounds what the call does from here on: by what is left of its timeout when its clock shows this, and by the end of what it belongs to. c.unlimit
// ends that.
func (c *call) startTimeout(clock time.Duration) {
	if c.operation.mayWaitForApproval {
		c.startPausableTimeout(clock)
		return
	}
	before := c.frame.Context
	ctx, cancel := context.WithTimeoutCause(before, c.operation.decl.Timeout-clock, errTimeout)
	unhook := context.AfterFunc(c.stopCtx, cancel)
	c.frame.Context = ctx
	c.stopTimeout = func() {
		unhook()
		cancel()
		c.frame.Context = before
	}
}

// clock is how long the call has worked, in all the requests that it took.
func (c *call) clock() time.Duration { return time.Since(c.started) + c.clockOffset }

// pauseTimeout stops the clock of a call that is limited. The function it returns lets it run on.
func (c *call) pauseTimeout() (resume func()) {
	c.stopTimeout()
	stopped := time.Now()
	return func() {
		c.clockOffset -= time.Since(stopped)
		c.startTimeout(c.clock())
		if c.stopCtx.Err() != nil {
			<-c.frame.Context.Done() // which follows, and not at once
		}
	}
}

// pin lets the call go on when its generation is replaced, however long its client takes to answer.
func (c *call) pin() {
	if c.pinned || c.stopCtx.Err() != nil {
		return
	}
	c.operation.generation.pin()
	c.pinned, c.stopCtx = true, c.operation.generation.pinnedCtx
}

// unpin undoes hold, when the call is over.
func (c *call) unpin() {
	if c.pinned {
		c.operation.generation.unpin()
	}
}

// computeContext is the context of a call that only computes, which ends as that of any other: what computes asks it now and then, so it needs neither timer nor
// channel of its own.
type computeContext struct {
	context.Context
	until time.Time
	call  *call
}

func (c *computeContext) Deadline() (time.Time, bool) {
	if d, ok := c.Context.Deadline(); ok && d.Before(c.until) {
		return d, true
	}
	return c.until, true
}

func (c *computeContext) Err() error {
	if err := c.Context.Err(); err != nil {
		return err
	}
	if time.Now().After(c.until) {
		return context.DeadlineExceeded
	}
	return c.call.stopCtx.Err()
}
