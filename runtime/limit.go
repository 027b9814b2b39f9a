package runtime

import (
	"context"
	"fmt"
	"sync"
	"time"

	"hatchel/hcl"
)

// limiter count the calls of what is limited that run, or wait, in this process. They outlive generations. How often calls come is counted in the store.
type limiter struct {
	mu      sync.Mutex
	buckets map[limitKey]*bucket // guarded by mu, as what is in it
	swept   time.Time            // guarded by mu
}

// limitKey is what a meter counts the calls of: a tool, or all of them where that is empty; by one caller, or by all where that is empty.
type limitKey struct{ tool, caller string }

// bucket counts calls.
type bucket struct {
	running   int
	queued    int           // calls that wait for the rate
	waiters   []*waiter     // of the calls that wait for others to end, first come first
	notBefore time.Time     // before which the rate has no turn, so far as this process knows
	rule      *hcl.Limit    // that says so
	reserving chan struct{} // has room for the one call that asks for its turn; nil before one does
}

// waiter is the place of a call in a queue.
type waiter struct {
	maxRunning int
	ready      chan struct{} // closed when it is counted as running
}

func newLimiter() *limiter { return &limiter{buckets: map[limitKey]*bucket{}} }

// limitError is a call that a limit refuses.
type limitError struct {
	message    string
	retryAfter time.Duration
}

func (t *limitError) Error() string { return t.message }

// limit is a limit that calls of a program are held to.
type limit struct {
	tool string // empty for the one of the whole server
	rule *hcl.Limit
}

func (b limit) key(caller string) limitKey {
	if b.rule.Shared {
		caller = ""
	} else {
		caller = "of " + caller // of nobody, too
	}
	return limitKey{b.tool, caller}
}

// defaultLimit is what a server that knows its callers lets each of them do when the configuration does not say.
var defaultLimit = &hcl.Limit{Concurrency: 10, Queue: 100, MaxWait: 10 * time.Second}

// newLimits are the limits of a tool: of the server first, so that no place of the tool is held while that is waited for.
func newLimits(cfg *hcl.Config, t *hcl.Tool) (all []limit) {
	switch {
	case cfg.Server.Limit != nil:
		all = append(all, limit{"", cfg.Server.Limit})
	case cfg.Auth != nil:
		all = append(all, limit{"", defaultLimit})
	}
	if t.Limit != nil {
		all = append(all, limit{"tool " + t.Name, t.Limit})
	}
	return all
}

// acquireLimits counts the call in all the limits of its tool, and refuses it where they do. A call that goes on is counted and not refused.
func (p *Program) acquireLimits(c *call) error {
	ms := p.generation.build.caches.limiter
	for _, b := range p.limits {
		if b.tool == "" && c.nested {
			continue // the call that it is a step of is counted
		}
		m := b.key(c.action.Owner)
		if c.resumed {
			ms.readmit(m)
		} else if err := p.waitWithTimeout(c, func(ctx context.Context) error { return ms.acquire(ctx, p.generation.build.State, m, b) }); err != nil {
			return err
		}
		c.limits = append(c.limits, m)
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

// release undoes enter.
func (c *call) release() {
	c.removeCopies()
	c.releaseLimits()
}

// releaseLimits takes the call out of the limits that count it.
func (c *call) releaseLimits() {
	for _, m := range c.limits {
		c.operation.generation.build.caches.limiter.release(m)
	}
	c.limits = nil
}

// acquire counts a call, after it has waited for its turn if it may.
func (ms *limiter) acquire(ctx context.Context, s *State, of limitKey, b limit) error {
	patience := time.Now().Add(b.rule.MaxWait)
	if err := ms.acquireSlot(ctx, of, b, patience); err != nil {
		return err
	}
	if b.rule.Rate.Calls == 0 {
		return nil
	}
	if err := ms.acquireRate(ctx, s, of, b, patience); err != nil {
		ms.release(of)
		return err
	}
	return nil
}

// acquireSlot counts a call as one that runs.
func (ms *limiter) acquireSlot(ctx context.Context, of limitKey, b limit, patience time.Time) error {
	ms.mu.Lock()
	m := ms.bucket(of)
	if b.rule.Concurrency == 0 || m.running < b.rule.Concurrency && len(m.waiters) == 0 {
		m.running++
		ms.mu.Unlock()
		return nil
	}
	if len(m.waiters) >= b.rule.Queue {
		ms.mu.Unlock()
		return b.errTooMany()
	}
	t := &waiter{b.rule.Concurrency, make(chan struct{})}
	m.waiters = append(m.waiters, t)
	ms.mu.Unlock()
	err := waitUntil(ctx, t.ready, patience, b.errTooMany())
	if err == nil {
		return nil
	}
	ms.mu.Lock()
	defer ms.mu.Unlock()
	for i, other := range m.waiters {
		if other == t {
			m.waiters = append(m.waiters[:i], m.waiters[i+1:]...)
			return err
		}
	}
	m.running-- // its turn came meanwhile
	m.admitWaiters()
	return err
}

// waitUntil waits for done, or for the moment, and returns late then.
func waitUntil(ctx context.Context, done <-chan struct{}, moment time.Time, late error) error {
	timer := time.NewTimer(time.Until(moment))
	defer timer.Stop()
	select {
	case <-done:
		return nil
	case <-timer.C:
		return late
	case <-ctx.Done():
		return ctx.Err()
	}
}

// readmit counts a call whatever the limit says.
func (ms *limiter) readmit(of limitKey) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	ms.bucket(of).running++
}

// release says that a call has ended.
func (ms *limiter) release(of limitKey) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	m := ms.bucket(of)
	m.running--
	m.admitWaiters()
}

// admitWaiters lets those run whose turn it is.
func (m *bucket) admitWaiters() {
	for len(m.waiters) > 0 && m.running < m.waiters[0].maxRunning {
		m.running++
		close(m.waiters[0].ready)
		m.waiters = m.waiters[1:]
	}
}

// bucket finds a meter, or begins one. Those that say nothing any more are forgotten now and then.
func (ms *limiter) bucket(of limitKey) *bucket {
	if now := time.Now(); now.Sub(ms.swept) > time.Minute {
		ms.swept = now
		for key, m := range ms.buckets {
			if m.running == 0 && m.queued == 0 && len(m.waiters) == 0 && !now.Before(m.notBefore) {
				delete(ms.buckets, key)
			}
		}
	}
	m := ms.buckets[of]
	if m == nil {
		m = new(bucket)
		ms.buckets[of] = m
	}
	return m
}

// subject says in a sentence what is limited.
func (b limit) subject() string {
	whose := "this tool"
	if b.tool == "" {
		whose = "the tools of this server"
	}
	if b.rule.Shared {
		return whose + " by all callers"
	}
	return whose + " by one caller"
}

func (b limit) errTooMany() error {
	return &limitError{fmt.Sprintf("Too many calls of %s at once: at most %d run at a time. Nothing was done. Try again when one has ended, in %v at the earliest.", b.subject(), b.rule.Concurrency, time.Second), time.Second}
}

func (b limit) errRateLimited(early time.Duration) error {
	early = max(early.Round(time.Second), time.Second)
	return &limitError{fmt.Sprintf("Too many calls of %s: at most %s. Nothing was done. Try again in %v.", b.subject(), b.rule.Rate, early), early}
}
