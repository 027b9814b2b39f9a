package runtime

import (
	"errors"
	"time"
)

// Why the context of a call ends before the call does.
var (
	errReplaced = errors.New("the configuration was replaced")
	errStopped  = errors.New("the server was stopped")
)

const retiredBit = 1 << 40

// enter admits a call, unless the generation is retired. Who entered must leave.
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

// pin lets a call that has entered, and that ctx has not ended, go on for as long as it takes. It must let go before it leaves.
func (g *Generation) pin() {
	g.pinnedCalls.Add(1)
	g.leave()
}

func (g *Generation) unpin() {
	g.calls.Add(1)
	g.pinnedCalls.Done()
}

// forceStopAfter is how long what was cancelled has to end before its backends are closed under it.
const forceStopAfter = 10 * time.Second

// retire admits no further call, waits for those in flight, and undoes the generation. What is left of the calls after the grace period, or once hurry
// is closed, is cancelled; what holds the generation is cancelled once hurry is closed, and not before.
func (g *Generation) retire(grace time.Duration, hurry <-chan struct{}) {
	if g.calls.Add(retiredBit) == retiredBit {
		g.once.Do(func() { close(g.drained) })
	}
	if !waitUntil(g.drained, grace, hurry) {
		why := errReplaced
		if waitUntil(hurry, 0, nil) {
			why = errStopped
		}
		g.cancel(why)
		if !waitUntil(g.drained, forceStopAfter, nil) {
			g.log().Warn("calls do not end; their backends are closed under them", "calls", g.calls.Load()-retiredBit)
		}
	}
	g.awaitPinned(hurry)
	g.close()
}

// awaitPinned waits for what holds the generation.
func (g *Generation) awaitPinned(hurry <-chan struct{}) {
	released := make(chan struct{})
	go func() {
		defer close(released)
		g.pinnedCalls.Wait()
	}()
	select {
	case <-released:
		return
	case <-hurry:
	}
	g.cancelPinned(errStopped)
	if !waitUntil(released, forceStopAfter, nil) {
		g.log().Warn("tasks, or calls that have asked their clients, do not end; their backends are closed under them")
	}
}

// Close undoes a generation that no Host has.
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
		g.log().Warn("a configuration did not close cleanly", "error", err)
	}
}

// waitUntil reports whether done is closed before d has passed and before interrupt, which may be nil, is closed.
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
