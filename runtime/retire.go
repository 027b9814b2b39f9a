package runtime

import (
	"time"

	"hatchel/runtime/call"
)

const (
	// retiredBit is set in Generation.calls when no more calls are admitted.
	retiredBit = 1 << 40
	// forceStopAfter is how long cancelled calls have to end before their backends are closed.
	forceStopAfter = 10 * time.Second
)

// enter admits a call, unless the generation is retired. A call that was admitted must leave.
func (g *Generation) enter() bool {
	if g.calls.Add(1) < retiredBit {
		return true
	}
	g.leave()
	return false
}

func (g *Generation) leave() {
	if g.calls.Add(-1) == retiredBit {
		g.once.Do(func() { close(g.drained) })
	}
}

// Pin implements call.Generation.
func (g *Generation) Pin() {
	g.pinned.Add(1)
	g.leave()
}

// Unpin implements call.Generation.
func (g *Generation) Unpin() {
	g.calls.Add(1)
	g.pinned.Done()
}

// Retain implements call.Generation.
func (g *Generation) Retain() { g.pinned.Add(1) }

// Release implements call.Generation.
func (g *Generation) Release() { g.pinned.Done() }

// retire admits no more calls, waits for those that run, and closes the generation. Calls that are
// left after the grace period, or once stopNow is closed, are cancelled; pinned calls are cancelled
// only once stopNow is closed.
func (g *Generation) retire(grace time.Duration, stopNow <-chan struct{}) {
	if g.calls.Add(retiredBit) == retiredBit {
		g.once.Do(func() { close(g.drained) })
	}
	if !waitUntil(g.drained, grace, stopNow) {
		cause := call.ErrReplaced
		if waitUntil(stopNow, 0, nil) {
			cause = call.ErrStopped
		}
		g.cancel(cause)
		if !waitUntil(g.drained, forceStopAfter, nil) {
			g.log().Warn("cancelled calls did not end, closing their backends", "calls", g.calls.Load()-retiredBit)
		}
	}
	g.awaitPinned(stopNow)
	g.close()
}

// awaitPinned waits for pinned calls and tasks.
func (g *Generation) awaitPinned(stopNow <-chan struct{}) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		g.pinned.Wait()
	}()
	select {
	case <-ended:
		return
	case <-stopNow:
	}
	g.cancelPinned(call.ErrStopped)
	if !waitUntil(ended, forceStopAfter, nil) {
		g.log().Warn("cancelled tasks or waiting calls did not end, closing their backends")
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
	g.probing.Wait()
	if err := g.cleanups.run(); err != nil {
		g.log().Warn("configuration not closed cleanly", "error", err)
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
