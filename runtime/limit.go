package runtime

import (
	"context"
	"fmt"
	"sync"
	"time"

	"hatchel/hcl"
)

// meters count the calls of what is limited that run, or wait, in this process. They outlive generations. How often calls come is counted in the store.
type meters struct {
	mu    sync.Mutex
	of    map[metered]*meter // guarded by mu, as what is in it
	swept time.Time          // guarded by mu
}

// metered is what a meter counts the calls of: a tool, or all of them where that is empty; by one caller, or by all where that is empty.
type metered struct{ tool, caller string }

// meter counts calls.
type meter struct {
	running int
	late    int           // calls that wait for the rate
	queue   []*turn       // of the calls that wait for others to end, first come first
	next    time.Time     // before which the rate has no turn, so far as this process knows
	rule    *hcl.Limit    // that says so
	asking  chan struct{} // has room for the one call that asks for its turn; nil before one does
}

// turn is the place of a call in a queue.
type turn struct {
	most  int
	ready chan struct{} // closed when it is counted as running
}

func newMeters() *meters { return &meters{of: map[metered]*meter{}} }

// tooMany is a call that a limit refuses.
type tooMany struct {
	message string
	after   time.Duration
}

func (t *tooMany) Error() string { return t.message }

// bound is a limit that calls of a program are held to.
type bound struct {
	tool string // empty for the one of the whole server
	rule *hcl.Limit
}

func (b bound) metered(caller string) metered {
	if b.rule.Together {
		caller = ""
	} else {
		caller = "of " + caller // of nobody, too
	}
	return metered{b.tool, caller}
}

// crowded is what a server that knows its callers lets each of them do when the configuration does not say.
var crowded = &hcl.Limit{Concurrency: 10, Queue: 100, Wait: 10 * time.Second}

// bounds are the limits of a tool: of the server first, so that no place of the tool is held while that is waited for.
func bounds(cfg *hcl.Config, t *hcl.Tool) (all []bound) {
	switch {
	case cfg.Server.Limit != nil:
		all = append(all, bound{"", cfg.Server.Limit})
	case cfg.Auth != nil:
		all = append(all, bound{"", crowded})
	}
	if t.Limit != nil {
		all = append(all, bound{"tool " + t.Name, t.Limit})
	}
	return all
}

// enter counts the call in all the limits of its tool, and refuses it where they do. A call that goes on is counted and not refused.
func (p *Program) enter(c *call) error {
	ms := p.generation.build.memory.meters
	for _, b := range p.bounds {
		if b.tool == "" && c.nested {
			continue // the call that it is a step of is counted
		}
		m := b.metered(c.action.Owner)
		if c.resumed {
			ms.force(m)
		} else if err := p.await(c, func(ctx context.Context) error { return ms.enter(ctx, p.generation.build.State, m, b) }); err != nil {
			return err
		}
		c.counted = append(c.counted, m)
	}
	return nil
}

// await does something that may take a while, under the timeout of the call.
func (p *Program) await(c *call, do func(context.Context) error) error {
	c.limit(c.clock())
	defer func() { c.unlimit() }()
	if err := do(c.frame.Context); err != nil {
		return c.why(err)
	}
	return nil
}

// leave undoes enter.
func (c *call) leave() {
	c.detach()
	c.uncount()
}

// uncount takes the call out of the limits that count it.
func (c *call) uncount() {
	for _, m := range c.counted {
		c.routine.generation.build.memory.meters.leave(m)
	}
	c.counted = nil
}

// enter counts a call, after it has waited for its turn if it may.
func (ms *meters) enter(ctx context.Context, s *State, of metered, b bound) error {
	patience := time.Now().Add(b.rule.Wait)
	if err := ms.place(ctx, of, b, patience); err != nil {
		return err
	}
	if b.rule.Rate.Calls == 0 {
		return nil
	}
	if err := ms.pace(ctx, s, of, b, patience); err != nil {
		ms.leave(of)
		return err
	}
	return nil
}

// place counts a call as one that runs.
func (ms *meters) place(ctx context.Context, of metered, b bound, patience time.Time) error {
	ms.mu.Lock()
	m := ms.meter(of)
	if b.rule.Concurrency == 0 || m.running < b.rule.Concurrency && len(m.queue) == 0 {
		m.running++
		ms.mu.Unlock()
		return nil
	}
	if len(m.queue) >= b.rule.Queue {
		ms.mu.Unlock()
		return b.crowded()
	}
	t := &turn{b.rule.Concurrency, make(chan struct{})}
	m.queue = append(m.queue, t)
	ms.mu.Unlock()
	err := until(ctx, t.ready, patience, b.crowded())
	if err == nil {
		return nil
	}
	ms.mu.Lock()
	defer ms.mu.Unlock()
	for i, other := range m.queue {
		if other == t {
			m.queue = append(m.queue[:i], m.queue[i+1:]...)
			return err
		}
	}
	m.running-- // its turn came meanwhile
	m.advance()
	return err
}

// until waits for done, or for the moment, and returns late then.
func until(ctx context.Context, done <-chan struct{}, moment time.Time, late error) error {
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

// force counts a call whatever the limit says.
func (ms *meters) force(of metered) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	ms.meter(of).running++
}

// leave says that a call has ended.
func (ms *meters) leave(of metered) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	m := ms.meter(of)
	m.running--
	m.advance()
}

// advance lets those run whose turn it is.
func (m *meter) advance() {
	for len(m.queue) > 0 && m.running < m.queue[0].most {
		m.running++
		close(m.queue[0].ready)
		m.queue = m.queue[1:]
	}
}

// meter finds a meter, or begins one. Those that say nothing any more are forgotten now and then.
func (ms *meters) meter(of metered) *meter {
	if now := time.Now(); now.Sub(ms.swept) > time.Minute {
		ms.swept = now
		for key, m := range ms.of {
			if m.running == 0 && m.late == 0 && len(m.queue) == 0 && !now.Before(m.next) {
				delete(ms.of, key)
			}
		}
	}
	m := ms.of[of]
	if m == nil {
		m = new(meter)
		ms.of[of] = m
	}
	return m
}

// whose says in a sentence what is limited.
func (b bound) whose() string {
	whose := "this tool"
	if b.tool == "" {
		whose = "the tools of this server"
	}
	if b.rule.Together {
		return whose + " by all callers"
	}
	return whose + " by one caller"
}

func (b bound) crowded() error {
	return &tooMany{fmt.Sprintf("Too many calls of %s at once: at most %d run at a time. Nothing was done. Try again when one has ended, in %v at the earliest.", b.whose(), b.rule.Concurrency, time.Second), time.Second}
}

func (b bound) hurried(early time.Duration) error {
	early = max(early.Round(time.Second), time.Second)
	return &tooMany{fmt.Sprintf("Too many calls of %s: at most %s. Nothing was done. Try again in %v.", b.whose(), b.rule.Rate, early), early}
}
