package runtime

import (
	"container/list"
	"context"
	"errors"
	"sync"
	"time"

	"hatchel/runtime/audit"
)

// answers are what tools that only read have answered lately. They outlive generations: a tool that has changed is another one.
type answers struct {
	mu      sync.Mutex
	kept    map[purpose]*list.Element // of *keptAnswer; guarded by mu
	recent  *list.List                // of the same, the one that was asked for last in front; guarded by mu
	size    int                       // bytes, about; guarded by mu
	flights map[purpose]*flight       // guarded by mu
}

// mostAnswers is how many bytes of answers a process keeps: what was not asked for longest goes first.
const mostAnswers = 64 << 20

type keptAnswer struct {
	of    purpose
	memo  *memo
	until time.Time
}

// flight is a call under way that others wait for.
type flight struct {
	landed chan struct{} // closed when it is over
	memo   *memo         // what it came to, or nil; set before landed is closed, as err and alone
	err    error         // what it failed of, if that is the others' failure, too
	alone  bool          // it has an answer that cannot be kept
}

func newAnswers() *answers {
	return &answers{kept: map[purpose]*list.Element{}, recent: list.New(), flights: map[purpose]*flight{}}
}

// find returns an answer; or else the flight to wait for, or to land, when it is the caller's own.
func (as *answers) find(of purpose) (m *memo, f *flight, own bool) {
	as.mu.Lock()
	defer as.mu.Unlock()
	if e := as.kept[of]; e != nil {
		k := e.Value.(*keptAnswer)
		if time.Now().Before(k.until) {
			as.recent.MoveToFront(e)
			return k.memo, nil, false
		}
		as.drop(e)
	}
	if f := as.flights[of]; f != nil {
		return nil, f, false
	}
	f = &flight{landed: make(chan struct{})}
	as.flights[of] = f
	return nil, f, true
}

// land ends a flight, and keeps its answer.
func (as *answers) land(of purpose, f *flight, ttl time.Duration) {
	as.mu.Lock()
	defer as.mu.Unlock()
	delete(as.flights, of)
	close(f.landed)
	if f.memo == nil {
		return
	}
	as.kept[of] = as.recent.PushFront(&keptAnswer{of, f.memo, time.Now().Add(ttl)})
	for as.size += f.memo.size(); as.size > mostAnswers; {
		as.drop(as.recent.Back())
	}
}

// drop forgets an answer. The caller holds mu.
func (as *answers) drop(e *list.Element) {
	k := as.recent.Remove(e).(*keptAnswer)
	delete(as.kept, k.of)
	as.size -= k.memo.size()
}

// remembered answers the call from what is kept, waits for another that asks the same, or performs it.
func (p *Program) remembered(c *call) error {
	of, err := p.asked(c)
	if err != nil {
		return c.broken(err)
	}
	as := p.generation.build.memory.answers
	for {
		m, f, own := as.find(of)
		switch {
		case m != nil:
			c.replayed = audit.FromCache
			return c.recall(m)
		case own:
			return p.fly(c, of, f)
		}
		if err := p.await(c, func(ctx context.Context) error { return landed(ctx, f) }); err != nil {
			return err
		}
		switch {
		case f.memo != nil:
			c.replayed = audit.FromCache
			return c.recall(f.memo)
		case f.err != nil:
			c.replayed = audit.FromCache
			return f.err
		case f.alone:
			return p.perform(c)
		}
	}
}

func landed(ctx context.Context, f *flight) error {
	select {
	case <-f.landed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// fly performs the call for all that wait for it. When it ends for a reason of its own, one of those tries instead.
func (p *Program) fly(c *call, of purpose, f *flight) (err error) {
	defer p.generation.build.memory.answers.land(of, f, p.tool.Memo.TTL)
	if err := p.perform(c); err != nil {
		if own := new(*tooMany); c.frame.Context.Err() == nil && c.ends.Err() == nil && !errors.As(err, own) {
			f.err = err
		}
		return err
	}
	if f.memo, err = c.memo(); err != nil {
		f.alone = true
	}
	return nil
}

// asked is what the call asks, so far as the answer depends on it.
func (p *Program) asked(c *call) (purpose, error) {
	input := any(c.frame.Input)
	if p.tool.Memo.Key != nil {
		var err error
		if input, err = p.tool.Memo.Key.Eval(c.frame); err != nil {
			return purpose{}, err
		}
	}
	frozen, err := appendFrozen(nil, input)
	if err != nil || p.tool.Memo.Public {
		return purposeOf("answer", p.decl.Name, p.decl.Digest, string(frozen)), err
	}
	caller, err := appendFrozen(nil, c.frame.Caller)
	return purposeOf("answer", p.decl.Name, p.decl.Digest, string(frozen), c.action.Owner, string(caller)), err
}
