package runtime

import (
	"context"
	"fmt"
	"sync"

	"hatchel/adapters"
	"hatchel/hcl"
)

// Connections are the open connections of all generations. One whose block did not change is shared by the generations that have it, and is
// closed when the last of them is gone.
type Connections struct {
	mu   sync.Mutex
	open map[string]*connection // by identity; guarded by mu
}

// connection is one open connection block.
type connection struct {
	handle   any
	guard    *adapters.Guard
	users    int // guarded by Connections.mu
	cleanups cleanups
}

// acquire returns a connection, opening it when no generation has it open, and the function that gives it back.
func (cs *Connections) acquire(ctx context.Context, conn *hcl.Connection, b *Build) (*connection, func() error, error) {
	key := conn.Kind + " " + conn.Name + " " + conn.Digest
	cs.mu.Lock()
	defer cs.mu.Unlock()
	c := cs.open[key]
	if c == nil {
		var err error
		if c, err = open(ctx, conn, b); err != nil {
			return nil, nil, err
		}
		if cs.open == nil {
			cs.open = map[string]*connection{}
		}
		cs.open[key] = c
	}
	c.users++
	return c, func() error { return cs.release(key, c) }, nil
}

func open(ctx context.Context, conn *hcl.Connection, b *Build) (*connection, error) {
	connector, ok := b.Set.Connector(conn.Kind)
	if !ok {
		return nil, fmt.Errorf("this program has no connections of the kind %q", conn.Kind)
	}
	c := &connection{guard: adapters.NewGuard(conn.Name, conn.Limits)}
	env := b.env(&c.cleanups)
	env.Log = b.Log.With("connection", conn.Kind+"."+conn.Name)
	handle, err := connector.Open(ctx, conn, env)
	if err != nil {
		if undone := c.cleanups.run(); undone != nil {
			env.Log.Warn("what a refused connection had opened did not close", "error", undone)
		}
		return nil, err
	}
	c.handle = handle
	return c, nil
}

func (cs *Connections) release(key string, c *connection) error {
	cs.mu.Lock()
	c.users--
	last := c.users == 0
	if last {
		delete(cs.open, key)
	}
	cs.mu.Unlock()
	if last {
		return c.cleanups.run()
	}
	return nil
}
