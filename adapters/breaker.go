package adapters

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"hatchel/hcl"
)

// A Guard stands before a connection: it bounds how many calls use it at once, and leaves it alone for a while when it fails again and again. Its methods may be called
// by many goroutines at once. A nil Guard lets everything pass.
type Guard struct {
	name    string
	breaker *hcl.Breaker  // nil for none
	slots   chan struct{} // holds one element for each call under way; nil for any number

	mu     sync.Mutex
	failed []time.Time // when the last calls in a row failed, oldest first; guarded by mu
	until  time.Time   // nothing is sent before; zero while the breaker is closed; guarded by mu
	trying bool        // one call tries whether the other side works again; guarded by mu
}

// NewGuard returns the Guard of a connection of this name; nil when its block asks for none.
func NewGuard(name string, g hcl.ConnectionLimits) *Guard {
	if g.Breaker == nil && g.Concurrency == 0 {
		return nil
	}
	guard := &Guard{name: name, breaker: g.Breaker}
	if g.Concurrency > 0 {
		guard.slots = make(chan struct{}, g.Concurrency)
	}
	return guard
}

// Do has the action do a call, when it may. What it refuses is an Untouched Fault.
func (g *Guard) Do(ctx context.Context, a Action, call *Call) (Result, error) {
	if g == nil {
		return a.Do(ctx, call)
	}
	if err := g.enter(ctx); err != nil {
		return Result{}, err
	}
	defer g.leave()
	trial, err := g.admit()
	if err != nil {
		return Result{}, err
	}
	said := unknown
	defer func() { g.learn(said, trial) }() // a panic, too, ends a trial
	r, err := a.Do(ctx, call)
	said = outcomeOf(ctx, err)
	return r, err
}

// enter waits for a place, for as long as the call has time.
func (g *Guard) enter(ctx context.Context) error {
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
		return &Fault{Message: fmt.Sprintf("%q was busy with %d calls at once for as long as this one could wait; nothing was sent to it", g.name, cap(g.slots)), Cause: ctx.Err(), Untouched: true}
	}
}

func (g *Guard) leave() {
	if g.slots != nil {
		<-g.slots
	}
}

// admit refuses a call while the breaker is open, but for the one that tries.
func (g *Guard) admit() (trial bool, err error) {
	if g.breaker == nil {
		return false, nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	left := time.Until(g.until)
	switch {
	case g.until.IsZero():
		return false, nil
	case left <= 0 && !g.trying:
		g.trying = true
		return true, nil
	}
	left = max(left, time.Second).Round(time.Second)
	return false, &Fault{Message: fmt.Sprintf("%q has failed %d times in a row, so it is left alone for a while, and nothing was sent to it. Try again in %v", g.name, g.breaker.Failures, left), Untouched: true, After: left}
}

// What a call says of the other side.
type outcome int

const (
	unknown outcome = iota
	works
	fails
)

func outcomeOf(ctx context.Context, err error) outcome {
	var f *Fault
	switch {
	case err == nil:
		return works
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fails
	case ctx.Err() != nil:
		return unknown // who called has gone
	case errors.As(err, &f) && f.Down:
		return fails
	case errors.As(err, &f) && f.Status != 0:
		return works // it refuses, and so it answers
	}
	return unknown
}

// learn counts what a call said. A call that the other side answered closes the breaker.
func (g *Guard) learn(said outcome, trial bool) {
	if g.breaker == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if trial {
		g.trying = false
	}
	now := time.Now()
	switch {
	case said == works && (trial || g.until.IsZero()):
		g.failed, g.until = g.failed[:0], time.Time{}
	case said != fails:
	case trial:
		g.until = now.Add(g.breaker.Cooldown)
	case g.until.IsZero():
		if g.failed = append(g.failed, now); len(g.failed) > g.breaker.Failures {
			g.failed = append(g.failed[:0], g.failed[1:]...)
		}
		if len(g.failed) == g.breaker.Failures && now.Sub(g.failed[0]) <= g.breaker.Window {
			g.failed, g.until = g.failed[:0], now.Add(g.breaker.Cooldown)
		}
	}
}

// State says of the breaker "closed", "open", or "half-open" when the next call tries or one does; empty when there is none.
func (g *Guard) State() string {
	if g == nil || g.breaker == nil {
		return ""
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.until.IsZero():
		return "closed"
	case time.Until(g.until) > 0:
		return "open"
	}
	return "half-open"
}
