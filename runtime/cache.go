package runtime

import (
	"context"
	"errors"

	"hatchel/runtime/audit"
	"hatchel/runtime/digest"
	"hatchel/runtime/elicit"
	"hatchel/runtime/limit"
	"hatchel/runtime/result"
)

// runCached gives the call a cached result, waits for another call that asks the same, or performs it.
func (p *Program) runCached(c *call) error {
	key, err := p.cacheKey(c)
	if err != nil {
		return c.evalError(err)
	}
	cache := p.generation.build.caches.results
	for {
		cached, flight, owner := cache.Join(key)
		switch {
		case cached != nil:
			c.replayedFrom = audit.FromCache
			return c.result.Restore(cached)
		case owner:
			return p.performFlight(c, key, flight)
		}
		if err := p.waitWithTimeout(c, func(ctx context.Context) error { return flight.Wait(ctx) }); err != nil {
			return err
		}
		switch {
		case flight.Result != nil:
			c.replayedFrom = audit.FromCache
			return c.result.Restore(flight.Result)
		case flight.Err != nil:
			c.replayedFrom = audit.FromCache
			return flight.Err
		case flight.Uncacheable:
			return p.perform(c)
		}
	}
}

// performFlight performs the call for all calls that wait for it. When it ends for a reason of its own, one of these
// performs it instead.
func (p *Program) performFlight(c *call, key digest.Digest, flight *result.Flight) (err error) {
	defer p.generation.build.caches.results.Finish(key, flight, p.tool.Cache.TTL)
	if err := p.perform(c); err != nil {
		limited := errors.As(err, new(*limit.Error))
		if c.frame.Context.Err() == nil && c.stopCtx.Err() == nil && !limited {
			flight.Err = err
		}
		return err
	}
	if flight.Result, err = c.result.Cached(); err != nil {
		flight.Uncacheable = true
	}
	return nil
}

// cacheKey returns what the result of the call depends on.
func (p *Program) cacheKey(c *call) (digest.Digest, error) {
	input := any(c.frame.Input)
	if p.tool.Cache.Key != nil {
		var err error
		if input, err = p.tool.Cache.Key.Eval(c.frame); err != nil {
			return digest.Digest{}, err
		}
	}
	frozen, err := elicit.AppendFrozen(nil, input)
	if err != nil || p.tool.Cache.Public {
		return digest.Of("answer", p.decl.Name, p.decl.Digest, string(frozen)), err
	}
	caller, err := elicit.AppendFrozen(nil, c.frame.Caller)
	return digest.Of("answer", p.decl.Name, p.decl.Digest, string(frozen), c.action.Owner, string(caller)), err
}
