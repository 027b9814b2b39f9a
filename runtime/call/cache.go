package call

import (
	"context"
	"errors"

	"hatchel/runtime/audit"
	"hatchel/runtime/digest"
	"hatchel/runtime/elicit"
	"hatchel/runtime/idempotency"
	"hatchel/runtime/limit"
	"hatchel/runtime/metrics"
)

// useCache fails with errHasResult when another call has asked the same, and this one has its
// result. Otherwise the call is to be carried out, and other calls may wait for it.
func (p *Program) useCache(c *call) error {
	if p.tool.Cache == nil || c.approval != nil {
		return nil
	}
	key, err := p.cacheKey(c)
	if err != nil {
		return c.evalError(err)
	}
	found := metrics.CacheHit
	for {
		cached, flight, owner := p.Env.Results.Join(key)
		if owner {
			p.meter.Cached(metrics.CacheMiss)
			c.reuse.flight, c.reuse.cacheKey = flight, key
			return nil
		}
		if cached == nil {
			found = metrics.CacheShared
			if err := c.waitWithTimeout(func(ctx context.Context) error { return flight.Wait(ctx) }); err != nil {
				return err
			}
			if flight.Uncacheable {
				p.meter.Cached(metrics.CacheMiss)
				return nil
			}
			cached, err = flight.Result, flight.Err
		}
		if cached == nil && err == nil {
			continue // the other call ended for a reason of its own
		}
		p.meter.Cached(found)
		c.reuse.replayedFrom = audit.FromCache
		if cached != nil {
			err = c.result.Restore(cached)
		}
		if err == nil {
			err = errHasResult
		}
		return err
	}
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
		return digest.Of("result", p.Decl.Name, p.Decl.Digest, string(frozen)), err
	}
	caller, err := elicit.AppendFrozen(nil, c.frame.Caller)
	return digest.Of("result", p.Decl.Name, p.Decl.Digest, string(frozen), c.action.Owner, string(caller)), err
}

// keepResult keeps the shaped result for calls that wait for this one, and for calls with the same
// idempotency key.
func (c *call) keepResult() error {
	if c.reuse.flight == nil && !c.reuse.claim.Held() {
		return nil
	}
	cached, err := c.result.Cached()
	if flight := c.reuse.flight; flight != nil {
		flight.Result, flight.Uncacheable = cached, err != nil
	}
	if claim := c.reuse.claim; claim.Held() {
		claim.Result = cached
		if err != nil {
			claim.Record.Failure = &idempotency.RecordedFailure{Message: resultNotKept}
		}
	}
	return nil
}

// finishFlight wakes the calls that wait for this one. When it ends for a reason of its own, one of
// them tries instead.
func (p *Program) finishFlight(c *call, err error) {
	flight := c.reuse.flight
	if flight == nil {
		return
	}
	c.reuse.flight = nil
	ownReason := c.frame.Context.Err() != nil || c.timing.stopCtx.Err() != nil || errors.As(err, new(*limit.Error))
	if flight.Result == nil && !flight.Uncacheable && !ownReason {
		flight.Err = err
	}
	p.Env.Results.Finish(c.reuse.cacheKey, flight, p.tool.Cache.TTL)
}
