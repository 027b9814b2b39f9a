package runtime

import (
	"context"
	"errors"
	"time"
)

var errTimeout = errors.New("the timeout of the call has passed")

// limit bounds what the call does from here on: by what is left of its timeout when its clock shows this, and by the end of what it belongs to. c.unlimit
// ends that.
func (c *call) limit(clock time.Duration) {
	if c.routine.patient {
		c.limitPatiently(clock)
		return
	}
	before := c.frame.Context
	ctx, cancel := context.WithTimeoutCause(before, c.routine.decl.Timeout-clock, errTimeout)
	unhook := context.AfterFunc(c.ends, cancel)
	c.frame.Context = ctx
	c.unlimit = func() {
		unhook()
		cancel()
		c.frame.Context = before
	}
}

// clock is how long the call has worked, in all the requests that it took.
func (c *call) clock() time.Duration { return time.Since(c.began) + c.ahead }

// suspend stops the clock of a call that is limited. The function it returns lets it run on.
func (c *call) suspend() (resume func()) {
	c.unlimit()
	stopped := time.Now()
	return func() {
		c.ahead -= time.Since(stopped)
		c.limit(c.clock())
		if c.ends.Err() != nil {
			<-c.frame.Context.Done() // which follows, and not at once
		}
	}
}

// hold lets the call go on when its generation is replaced, however long its client takes to answer.
func (c *call) hold() {
	if c.holds || c.ends.Err() != nil {
		return
	}
	c.routine.generation.hold()
	c.holds, c.ends = true, c.routine.generation.holding
}

// letGo undoes hold, when the call is over.
func (c *call) letGo() {
	if c.holds {
		c.routine.generation.letGo()
	}
}

// computing is the context of a call that only computes, which ends as that of any other: what computes asks it now and then, so it needs neither timer nor
// channel of its own.
type computing struct {
	context.Context
	until time.Time
	call  *call
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
	return c.call.ends.Err()
}
