package runtime

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"hatchel/adapters"
	"hatchel/hcl"
)

// Connections are the open connections of all generations. A connection whose block did not change
// is shared by the generations that declare it, and is closed with the last of them. Its methods
// may be called concurrently.
type Connections struct {
	mu   sync.Mutex
	open map[string]*connection // by kind, name and digest; guarded by mu
}

// connection is one open connection block.
type connection struct {
	handle   any
	guard    *adapters.ConnectionGuard
	users    int // guarded by Connections.mu
	cleanups cleanups
}

// acquire returns a connection, which it opens when no generation has, and the function that gives
// it back.
func (cs *Connections) acquire(ctx context.Context, conn *hcl.Connection, b *Build) (*connection, func() error, error) {
	key := conn.Kind + " " + conn.Name + " " + conn.Digest
	cs.mu.Lock()
	defer cs.mu.Unlock()
	c := cs.open[key]
	if c == nil {
		var err error
		if c, err = openConnection(ctx, conn, b); err != nil {
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

func openConnection(ctx context.Context, conn *hcl.Connection, b *Build) (*connection, error) {
	connector, ok := b.Set.Connector(conn.Kind)
	if !ok {
		return nil, fmt.Errorf("this program has no connections of the kind %q", conn.Kind)
	}
	c := &connection{guard: adapters.NewConnectionGuard(conn.Name, conn.Limits)}
	env := b.adapterEnv(&c.cleanups)
	env.Log = b.Log.With("connection", conn.Kind+"."+conn.Name)
	handle, err := connector.Open(ctx, conn, env)
	if err != nil {
		if failed := c.cleanups.run(); failed != nil {
			env.Log.Warn("rejected connection not closed cleanly", "error", failed)
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

// cleanups undo what their owner has opened. They run once, newest first.
type cleanups struct {
	mu   sync.Mutex
	list []func() error // guarded by mu
}

func (c *cleanups) add(undo func() error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list = append(c.list, undo)
}

// run runs all cleanups that have not run, whatever errors the others return.
func (c *cleanups) run() error {
	c.mu.Lock()
	list := c.list
	c.list = nil
	c.mu.Unlock()
	var errs []error
	for i := len(list) - 1; i >= 0; i-- {
		errs = append(errs, list[i]())
	}
	return errors.Join(errs...)
}
