package runtime

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"hatchel/runtime/call"
	"hatchel/runtime/edge/endpoint"
	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/edge/served"
	"hatchel/runtime/stage/approval"
)

// Generation is one configuration that is ready to be called. Compile makes it; a Generation that
// no Host has must be closed.
type Generation struct {
	*served.Served

	build    *Build
	scrapes  *endpoint.Listener // nil when metrics have no listener of their own
	pages    *endpoint.Listener // nil when the console has no listener of its own
	cleanups cleanups

	upstreams []*upstreamObserver // of the connections to upstream servers

	cancel       context.CancelCauseFunc // ends env.Running
	cancelPinned context.CancelCauseFunc // ends env.Pinned

	// uses counts running calls; by onePinned, tasks and calls that wait for people, which no grace
	// period ends; and has retiredBit once no more are admitted.
	uses      atomic.Int64
	drainOnce sync.Once     // closes drained
	drained   chan struct{} // closed when the generation is retired and no call runs
	endOnce   sync.Once     // closes ended
	ended     chan struct{} // closed when nothing uses the retired generation
}

// Serving implements call.Generation.
func (g *Generation) Serving(tool string, caller *mcp.Caller) (p *call.Program, known bool) {
	if g.build.current == nil {
		return g.Programs[tool], true
	}
	serving := g.build.current()
	return serving.Programs[tool], caller == nil || serving.StillKnown(caller)
}

// voidApprovals voids the approvals that are pending for tools of the generation before, and no
// longer valid.
func (g *Generation) voidApprovals(before *Generation) {
	filters := map[string]approval.VoidFilter{}
	for name, p := range before.Programs {
		if filter, changed := p.VoidFilter(g.Programs[name]); changed {
			filters[name] = filter
		}
	}
	if len(filters) == 0 || g.build.State.Current() == nil {
		return
	}
	ctx := g.Env.Running
	voided, err := g.build.State.Approvals().VoidAll(ctx, filters)
	if err != nil && ctx.Err() == nil {
		g.Env.LogVoidFailure(ctx, err)
	}
	if voided > 0 {
		g.Env.Log.LogAttrs(ctx, slog.LevelInfo, "outdated approvals voided", slog.Int("approvals", voided))
	}
}

const (
	// onePinned is one pinned call or task in Generation.uses.
	onePinned = 1 << 24
	// retiredBit is set in Generation.uses when no more calls are admitted.
	retiredBit = 1 << 48
	// forceStopAfter is how long cancelled calls have to end before their backends are closed.
	forceStopAfter = 10 * time.Second
)

// enter admits a call, unless the generation is retired. A call that was admitted must leave.
func (g *Generation) enter() bool {
	if g.uses.Add(1) < retiredBit {
		return true
	}
	g.leave()
	return false
}

func (g *Generation) leave() { g.addUses(-1) }

// Pin implements call.Generation.
func (g *Generation) Pin() { g.addUses(onePinned - 1) }

// Unpin implements call.Generation.
func (g *Generation) Unpin() { g.addUses(1 - onePinned) }

// Retain implements call.Generation.
func (g *Generation) Retain() { g.addUses(onePinned) }

// Release implements call.Generation.
func (g *Generation) Release() { g.addUses(-onePinned) }

// addUses changes how the generation is used, in one step, so that a use that becomes another one is
// never missed.
func (g *Generation) addUses(n int64) {
	uses := g.uses.Add(n)
	if uses < retiredBit {
		return
	}
	if uses%onePinned == 0 {
		g.drainOnce.Do(func() { close(g.drained) })
	}
	if uses == retiredBit {
		g.endOnce.Do(func() { close(g.ended) })
	}
}

// retire admits no more calls, waits for those that run, and closes the generation. Calls that are
// left after the grace period, or once stopNow is closed, are cancelled; pinned calls are cancelled
// only once stopNow is closed.
func (g *Generation) retire(grace time.Duration, stopNow <-chan struct{}) {
	g.addUses(retiredBit)
	if !waitUntil(g.drained, grace, stopNow) {
		cause := call.ErrReplaced
		if waitUntil(stopNow, 0, nil) {
			cause = call.ErrStopped
		}
		g.cancel(cause)
		if !waitUntil(g.drained, forceStopAfter, nil) {
			g.Env.Log.Warn("cancelled calls did not end, closing their backends", "calls", g.uses.Load()%onePinned)
		}
	}
	g.awaitPinned(stopNow)
	g.close()
}

// awaitPinned waits for pinned calls and tasks.
func (g *Generation) awaitPinned(stopNow <-chan struct{}) {
	select {
	case <-g.ended:
		return
	case <-stopNow:
	}
	g.cancelPinned(call.ErrStopped)
	if !waitUntil(g.ended, forceStopAfter, nil) {
		g.Env.Log.Warn("cancelled tasks or waiting calls did not end, closing their backends")
	}
}

// Close closes a generation that no Host has.
func (g *Generation) Close() {
	now := make(chan struct{})
	close(now)
	g.retire(0, now)
}

func (g *Generation) close() {
	g.cancel(nil)
	g.cancelPinned(nil)
	g.Probes.Wait()
	if err := g.cleanups.run(); err != nil {
		g.Env.Log.Warn("configuration not closed cleanly", "error", err)
	}
}

// waitUntil reports whether done is closed before d has passed and before interrupt, which may be
// nil, is closed.
func waitUntil(done <-chan struct{}, d time.Duration, interrupt <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
	case <-interrupt:
	}
	select {
	case <-done:
		return true
	default:
		return false
	}
}
