package adapters

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"hatchel/hcl"
)

// ConnectionGuard enforces the limits of a connection: the number of concurrent calls, the rate of requests, and a
// circuit breaker that stops calls after repeated failures. It is safe for concurrent use. A nil Guard has no limits.
type ConnectionGuard struct {
	name    string
	breaker *hcl.Breaker  // nil if there is none
	slots   chan struct{} // has one element for each active call; nil means no limit
	pace    *Pace         // nil if there is no rate
	changed func(string)  // is called with each new state of the breaker; nil for nobody

	mu        sync.Mutex
	failures  []time.Time // of the last consecutive calls, oldest first; guarded by mu
	openUntil time.Time   // zero while the breaker is closed; guarded by mu
	reason    string      // of the last failure that the breaker has counted; guarded by mu
	trial     bool        // a call tests whether the backend works again; guarded by mu
}

// NewConnectionGuard returns the Guard of a connection, or nil if its block sets no limits. Turns counts at its rate.
func NewConnectionGuard(name string, limits hcl.ConnectionLimits, turns Turns) *ConnectionGuard {
	if limits == (hcl.ConnectionLimits{}) {
		return nil
	}
	guard := &ConnectionGuard{name: name, breaker: limits.Breaker}
	if limits.Rate.Calls > 0 {
		guard.pace = &Pace{name: name, rate: limits.Rate, turns: turns}
	}
	if limits.Concurrency > 0 {
		guard.slots = make(chan struct{}, limits.Concurrency)
	}
	return guard
}

// Do runs a call of an action within the limits. A call that exceeds them
// fails with a Fault and is not sent.
func (g *ConnectionGuard) Do(ctx context.Context, a Action, call *Call) (any, error) {
	if g == nil {
		return a.Do(ctx, call)
	}
	if err := g.acquireSlot(ctx); err != nil {
		return nil, err
	}
	defer g.releaseSlot()
	trial, err := g.checkBreaker()
	if err != nil {
		return nil, err
	}
	seen := healthUnknown
	var failed error
	defer func() { g.record(seen, trial, failed) }() // also after a panic, which ends a trial
	if err := g.pace.Wait(ctx); err != nil {
		return nil, err
	}
	call.Pace = g.pace
	defer func() { call.Pace = nil }()
	call.Asked = time.Now()
	output, err := a.Do(ctx, call)
	failed = err
	seen = healthAfter(ctx, err, time.Since(call.Asked) >= call.Timeout/2)
	return output, err
}

// acquireSlot waits until another call may run, or until ctx ends.
func (g *ConnectionGuard) acquireSlot(ctx context.Context) error {
	if g.slots == nil {
		return nil
	}
	select {
	case g.slots <- struct{}{}:
		return nil
	default:
	}
	select {
	case g.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		message := fmt.Sprintf("%q was busy with %d concurrent calls for as long as this call could wait",
			g.name, cap(g.slots))
		return &Fault{Message: message, Cause: ctx.Err(), NotSent: true}
	}
}

func (g *ConnectionGuard) releaseSlot() {
	if g.slots != nil {
		<-g.slots
	}
}

// checkBreaker rejects a call while the breaker is open. After the cooldown it accepts one trial.
func (g *ConnectionGuard) checkBreaker() (trial bool, err error) {
	if g.breaker == nil {
		return false, nil
	}
	defer func() {
		if trial {
			g.report("half-open")
		}
	}()
	g.mu.Lock()
	defer g.mu.Unlock()
	left := time.Until(g.openUntil)
	switch {
	case g.openUntil.IsZero():
		return false, nil
	case left <= 0 && !g.trial:
		g.trial = true
		return true, nil
	}
	left = max(left, time.Second).Round(time.Second)
	message := fmt.Sprintf("%q has failed %d times in a row, so calls to it are suspended",
		g.name, g.breaker.Failures)
	advice := fmt.Sprintf("try again in %v", left)
	return false, &Fault{Message: message, Advice: advice, NotSent: true, RetryAfter: left}
}

// health is what the result of a call shows about the backend.
type health int

const (
	healthUnknown health = iota
	healthy
	unhealthy
)

// healthAfter judges the backend by the result of a call. Most of the call's time must have been
// the backend's for a timeout to count: earlier steps, pages and waits may have left it next to none.
func healthAfter(ctx context.Context, err error, hadMostOfTime bool) health {
	if err == nil {
		return healthy
	}
	f := new(Fault)
	errors.As(err, &f) // any other error leaves it empty
	switch {
	case f.Unavailable:
		return unhealthy
	case f.NotSent:
		return healthUnknown
	case errors.Is(context.Cause(ctx), context.DeadlineExceeded) && hadMostOfTime:
		return unhealthy
	case ctx.Err() != nil:
		return healthUnknown // the caller canceled the call, or its time was over
	case f.Status != 0:
		return healthy // it responded, even if it rejected the request
	}
	return healthUnknown
}

// record updates the breaker after a call. A healthy backend closes it.
func (g *ConnectionGuard) record(seen health, trial bool, failed error) {
	if g.breaker == nil {
		return
	}
	changed := ""
	defer func() { g.report(changed) }() // without the lock
	g.mu.Lock()
	defer g.mu.Unlock()
	if trial {
		g.trial = false
	}
	if seen == unhealthy {
		g.reason = outageReason(failed)
	}
	now := time.Now()
	switch {
	case seen == healthy && (trial || g.openUntil.IsZero()):
		if trial {
			changed = "closed"
		}
		g.failures, g.openUntil = g.failures[:0], time.Time{}
	case seen != unhealthy:
	case trial:
		changed, g.openUntil = "open", now.Add(g.breaker.Cooldown)
	case g.openUntil.IsZero():
		if g.failures = append(g.failures, now); len(g.failures) > g.breaker.Failures {
			g.failures = append(g.failures[:0], g.failures[1:]...)
		}
		if len(g.failures) == g.breaker.Failures && now.Sub(g.failures[0]) <= g.breaker.Window {
			changed, g.failures, g.openUntil = "open", g.failures[:0], now.Add(g.breaker.Cooldown)
		}
	}
}

// report tells of a new state of the breaker; empty for none.
func (g *ConnectionGuard) report(state string) {
	if state != "" && g.changed != nil {
		g.changed(state)
	}
}

// State returns the state of the breaker: "closed", "open", or "half-open" if a trial runs or comes next.
// It returns "" if there is no breaker.
func (g *ConnectionGuard) State() string {
	if g == nil || g.breaker == nil {
		return ""
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.openUntil.IsZero():
		return "closed"
	case time.Until(g.openUntil) > 0:
		return "open"
	}
	return "half-open"
}

// Reason says what the last failure was that the breaker has counted, without anything that a call has sent or
// received. It is empty while the breaker is closed.
func (g *ConnectionGuard) Reason() string {
	if state := g.State(); state == "" || state == "closed" {
		return ""
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.reason
}

// outageReason describes a failure of an unhealthy backend. A Message may have what the backend has answered, which
// may repeat inputs.
func outageReason(err error) string {
	var f *Fault
	var network *net.OpError
	switch {
	case errors.As(err, &f) && f.Status != 0:
		return fmt.Sprintf("the last call was answered with status %d", f.Status)
	case errors.As(err, &network):
		return "the last call failed: " + network.Error()
	case errors.Is(err, context.DeadlineExceeded):
		return "the last call timed out"
	}
	return "the last call found it unavailable"
}
