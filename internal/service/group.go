package service

import (
	"context"
	"sync"
	"time"
)

// Group is goroutines of one owner that end together. Make one with NewGroup. Its methods may be called concurrently.
type Group struct {
	ctx     context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup

	mu     sync.Mutex // held to add to running
	closed bool       // guarded by mu
}

// NewGroup returns a Group without goroutines. They have the values of ctx, which does not end them.
func NewGroup(ctx context.Context) *Group {
	g := new(Group)
	g.ctx, g.cancel = context.WithCancel(context.WithoutCancel(ctx))
	return g
}

// Context returns the context of the goroutines, which ends with the Group.
func (g *Group) Context() context.Context { return g.ctx }

// Go calls do in a goroutine. It reports false, and calls nothing, when the Group was closed.
func (g *Group) Go(do func(ctx context.Context)) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	g.running.Go(func() { do(g.ctx) })
	return true
}

// Close ends the context, and waits until all goroutines have returned.
func (g *Group) Close() { g.Drain(0) }

// Drain waits until all goroutines have returned, and ends their context after a while. It reports whether they have
// returned before.
func (g *Group) Drain(while time.Duration) bool {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	if while <= 0 {
		g.cancel()
	}
	timer := time.AfterFunc(while, g.cancel)
	g.running.Wait()
	inTime := timer.Stop()
	g.cancel()
	return inTime
}
