package runtime

import "context"

// acquireLimits counts the call in all limits of its tool, and fails where one rejects it. A call that resumes is
// counted and never rejected.
func (p *Program) acquireLimits(c *call) error {
	limiter := p.generation.build.caches.limiter
	for _, l := range p.limits {
		if c.nested && l.OfServer() {
			continue // the call that it is a step of is counted
		}
		key := l.Key(c.action.Owner)
		if c.resumed {
			limiter.Readmit(key)
		} else if err := p.waitWithTimeout(c, func(ctx context.Context) error { return limiter.Acquire(ctx, key, l) }); err != nil {
			return err
		}
		c.limits = append(c.limits, key)
	}
	return nil
}

// waitWithTimeout does something that may take a while, under the timeout of the call.
func (p *Program) waitWithTimeout(c *call, do func(context.Context) error) error {
	c.startTimeout(c.clock())
	defer func() { c.stopTimeout() }()
	if err := do(c.frame.Context); err != nil {
		return c.contextCause(err)
	}
	return nil
}

// release gives back what the call holds.
func (c *call) release() {
	c.removeCopies()
	c.releaseLimits()
}

// releaseLimits takes the call out of the limits that count it.
func (c *call) releaseLimits() {
	for _, key := range c.limits {
		c.operation.generation.build.caches.limiter.Release(key)
	}
	c.limits = nil
}
