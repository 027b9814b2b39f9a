package runtime

import (
	"container/list"
	"context"
	"errors"
	"sync"
	"time"

	"hatchel/runtime/audit"
	"hatchel/runtime/digest"
	"hatchel/runtime/limit"
)

// resultCache are what tools that only read have answered lately. They outlive generations: a tool that has changed is another one.
type resultCache struct {
	mu       sync.Mutex
	entries  map[digest.Digest]*list.Element // of *keptAnswer; guarded by mu
	recent   *list.List                      // of the same, the one that was asked for last in front; guarded by mu
	size     int                             // bytes, about; guarded by mu
	inflight map[digest.Digest]*inflight     // guarded by mu
}

// maxCacheSize is how many bytes of answers a process keeps: what was not asked for longest goes first.
const maxCacheSize = 64 << 20

type cacheEntry struct {
	key    digest.Digest
	result *cachedResult
	until  time.Time
}

// inflight is a call under way that others wait for.
type inflight struct {
	done        chan struct{} // closed when it is over
	result      *cachedResult // what it came to, or nil; set before landed is closed, as err and alone
	err         error         // what it failed of, if that is the others' failure, too
	uncacheable bool          // it has an answer that cannot be kept
}

func newResultCache() *resultCache {
	return &resultCache{entries: map[digest.Digest]*list.Element{}, recent: list.New(), inflight: map[digest.Digest]*inflight{}}
}

// join returns an answer; or else the flight to wait for, or to land, when it is the caller's own.
func (as *resultCache) join(of digest.Digest) (m *cachedResult, f *inflight, own bool) {
	as.mu.Lock()
	defer as.mu.Unlock()
	if e := as.entries[of]; e != nil {
		k := e.Value.(*cacheEntry)
		if time.Now().Before(k.until) {
			as.recent.MoveToFront(e)
			return k.result, nil, false
		}
		as.drop(e)
	}
	if f := as.inflight[of]; f != nil {
		return nil, f, false
	}
	f = &inflight{done: make(chan struct{})}
	as.inflight[of] = f
	return nil, f, true
}

// finish ends a flight, and keeps its answer.
func (as *resultCache) finish(of digest.Digest, f *inflight, ttl time.Duration) {
	as.mu.Lock()
	defer as.mu.Unlock()
	delete(as.inflight, of)
	close(f.done)
	if f.result == nil {
		return
	}
	as.entries[of] = as.recent.PushFront(&cacheEntry{of, f.result, time.Now().Add(ttl)})
	for as.size += f.result.size(); as.size > maxCacheSize; {
		as.drop(as.recent.Back())
	}
}

// drop forgets an answer. The caller holds mu.
func (as *resultCache) drop(e *list.Element) {
	k := as.recent.Remove(e).(*cacheEntry)
	delete(as.entries, k.key)
	as.size -= k.result.size()
}

// runCached answers the call from what is kept, waits for another that asks the same, or performs it.
func (p *Program) runCached(c *call) error {
	of, err := p.cacheKey(c)
	if err != nil {
		return c.evalError(err)
	}
	as := p.generation.build.caches.results
	for {
		m, f, own := as.join(of)
		switch {
		case m != nil:
			c.replayedFrom = audit.FromCache
			return c.useCached(m)
		case own:
			return p.runForWaiters(c, of, f)
		}
		if err := p.waitWithTimeout(c, func(ctx context.Context) error { return awaitInflight(ctx, f) }); err != nil {
			return err
		}
		switch {
		case f.result != nil:
			c.replayedFrom = audit.FromCache
			return c.useCached(f.result)
		case f.err != nil:
			c.replayedFrom = audit.FromCache
			return f.err
		case f.uncacheable:
			return p.perform(c)
		}
	}
}

func awaitInflight(ctx context.Context, f *inflight) error {
	select {
	case <-f.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// runForWaiters performs the call for all that wait for it. When it ends for a reason of its own, one of those tries instead.
func (p *Program) runForWaiters(c *call, of digest.Digest, f *inflight) (err error) {
	defer p.generation.build.caches.results.finish(of, f, p.tool.Cache.TTL)
	if err := p.perform(c); err != nil {
		if own := new(*limit.Error); c.frame.Context.Err() == nil && c.stopCtx.Err() == nil && !errors.As(err, own) {
			f.err = err
		}
		return err
	}
	if f.result, err = c.cachedResult(); err != nil {
		f.uncacheable = true
	}
	return nil
}

// cacheKey is what the call asks, so far as the answer depends on it.
func (p *Program) cacheKey(c *call) (digest.Digest, error) {
	input := any(c.frame.Input)
	if p.tool.Cache.Key != nil {
		var err error
		if input, err = p.tool.Cache.Key.Eval(c.frame); err != nil {
			return digest.Digest{}, err
		}
	}
	frozen, err := appendFrozen(nil, input)
	if err != nil || p.tool.Cache.Public {
		return digest.Of("answer", p.decl.Name, p.decl.Digest, string(frozen)), err
	}
	caller, err := appendFrozen(nil, c.frame.Caller)
	return digest.Of("answer", p.decl.Name, p.decl.Digest, string(frozen), c.action.Owner, string(caller)), err
}
