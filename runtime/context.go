package runtime

import (
	"context"
	"errors"
	"time"
)

var errTimeout = errors.New("the timeout of the call has passed")

// limit bounds what the call does from here on: by its own timeout and by the end of its generation. The function it returns ends that.
func (c *call) limit(timeout time.Duration) func() {
	before := c.frame.Context
	ctx, cancel := context.WithTimeoutCause(before, timeout, errTimeout)
	unhook := context.AfterFunc(c.routine.generation.ctx, cancel)
	c.frame.Context = ctx
	return func() {
		unhook()
		cancel()
		c.frame.Context = before
	}
}

// computing is the context of a call that only computes, which ends as that of any other: what computes asks it now and then, so it needs neither timer nor
// channel of its own.
type computing struct {
	context.Context
	until      time.Time
	generation context.Context
}

func (c *computing) Deadline() (time.Time, bool) {
	if d, ok := c.Context.Deadline(); ok && d.Before(c.until) {
		return d, true
	}
	return c.until, true
}

func (c *computing) Err() error {
	if err := c.Context.Err(); err != nil {
		return err
	}
	if time.Now().After(c.until) {
		return context.DeadlineExceeded
	}
	return c.generation.Err()
}
