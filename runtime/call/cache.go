package call

import (
	"context"
	"errors"
	"maps"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/internal/digest"
	"hatchel/runtime/observe/metrics"
	"hatchel/runtime/stage/elicit"
	"hatchel/runtime/stage/idempotency"
	"hatchel/runtime/stage/limit"
	"hatchel/runtime/stage/result"
)

// cacheUse is what a call came to at the cache: it has the result of another call, or other calls may wait for it.
type cacheUse struct {
	result *result.Cached
	flight *result.Flight // other calls wait for this one; nil when none can
	key    digest.Digest  // of flight
	err    error          // of the other call
}

// useCache asks the cache for the result of a call that was asked the same.
func (p *Program) useCache(call *adapters.Call, k *clock) (use cacheUse, err error) {
	if use.key, err = p.cacheKey(call); err != nil {
		return use, k.evalError(err)
	}
	found := metrics.CacheHit
	for {
		cached, flight, owner := p.Env.Results.Join(use.key)
		if owner {
			p.meter.Cached(metrics.CacheMiss)
			use.flight = flight
			return use, nil
		}
		if cached == nil {
			found = metrics.CacheShared
			if err := k.bound(func(ctx context.Context) error { return flight.Wait(ctx) }); err != nil {
				return use, err
			}
			if flight.Uncacheable {
				p.meter.Cached(metrics.CacheMiss)
				return use, nil
			}
			cached, use.err = flight.Result, flight.Err
		}
		if cached == nil && use.err == nil {
			continue // the other call ended for a reason of its own
		}
		p.meter.Cached(found)
		use.result = cached
		return use, nil
	}
}

// withdrawn returns the failure of an upstream tool that is known not to be as reviewed, and that a step of the
// operation, or of a tool that it calls, would call; nil for none. A result in the cache was made of it.
func (o *Operation) withdrawn() error {
	for _, s := range o.Steps {
		if action, ok := s.Action.(adapters.Withdrawable); ok {
			if fault := action.Withdrawn(); fault != nil {
				return fault
			}
		}
	}
	for _, p := range o.CallsTools() {
		if err := p.withdrawn(); err != nil {
			return err
		}
	}
	return nil
}

// cacheKey returns what the result of a call depends on.
func (p *Program) cacheKey(call *adapters.Call) (digest.Digest, error) {
	input := any(call.Frame.Input)
	if p.tool.Cache.Key != nil {
		var err error
		if input, err = p.tool.Cache.Key.Eval(call.Frame); err != nil {
			return digest.Digest{}, err
		}
	}
	if call.Frame.Page != nil { // whatever the key is, and not by the cursor, which is another one each time
		if all, ok := input.(map[string]any); ok {
			all = maps.Clone(all)
			delete(all, hcl.CursorInput)
			input = all
		}
		input = []any{input, call.Frame.Page}
	}
	frozen, err := elicit.AppendFrozen(nil, input)
	if err != nil || p.tool.Cache.Public {
		return digest.Of(p.appendIdentity([]string{"result", p.Decl.Name, p.Decl.Digest, string(frozen)}, call)...), err
	}
	caller, err := elicit.AppendFrozen(nil, call.Frame.ReadCaller())
	return digest.Of("result", p.Decl.Name, p.Decl.Digest, string(frozen), call.Owner, string(caller)), err
}

// keep keeps a shaped result for calls that wait for this one, and for calls with the same idempotency key.
func (r *reuse) keep(shaped *result.Result) {
	if r.flight == nil && !r.claim.Held() {
		return
	}
	cached, err := shaped.Cached()
	if flight := r.flight; flight != nil {
		flight.Result, flight.Uncacheable = cached, err != nil
	}
	if claim := r.claim; claim.Held() {
		claim.Result = cached
		if err != nil {
			claim.Record.Failure = &idempotency.RecordedFailure{Message: resultNotKept}
		}
	}
}

// finishFlight wakes the calls that wait for the flight of a call. When that ends for a reason of its own, one of them
// tries instead.
func (p *Program) finishFlight(r *reuse, err error, ownReason bool) {
	flight := r.flight
	if flight == nil {
		return
	}
	r.flight = nil
	if flight.Result == nil && !flight.Uncacheable && !ownReason && !errors.As(err, new(*limit.Error)) {
		flight.Err = err
	}
	p.Env.Results.Finish(r.cacheKey, flight, p.tool.Cache.TTL)
}
