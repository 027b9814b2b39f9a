package mcp

import (
	"context"
	"sync"
)

// gate counts what is inside, up to a limit, and can be shut.
type gate struct {
	limit int

	mu    sync.Mutex
	n     int           // guarded by mu
	shut  bool          // guarded by mu
	empty chan struct{} // closed when n reaches 0 while shut; made by close; guarded by mu
}

// enter reports whether there was room. Who entered must leave.
func (g *gate) enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut || g.n >= g.limit {
		return false
	}
	g.n++
	return true
}

func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.n--; g.n == 0 && g.shut {
		close(g.empty)
	}
}

// close lets nobody in any more. It may be called again.
func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut {
		return
	}
	g.shut, g.empty = true, make(chan struct{})
	if g.n == 0 {
		close(g.empty)
	}
}

// drained waits until nobody is inside a closed gate.
func (g *gate) drained(ctx context.Context) error {
	select {
	case <-g.empty:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
