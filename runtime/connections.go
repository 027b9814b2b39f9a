package runtime

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/runtime/digest"
	"hatchel/runtime/state"
)

// shared are open things that generations share: by a key, each is opened for the first generation
// that needs it, and closed with the last one. Its methods may be called concurrently.
type shared[T any] struct {
	mu   sync.Mutex
	open map[string]*sharedThing[T] // guarded by mu
}

type sharedThing[T any] struct {
	thing T
	users int           // none while it is being closed; guarded by shared.mu
	gone  chan struct{} // closed when it is closed
}

// acquire returns the thing of a key, which it opens when no generation has, and the function that
// gives it back. Nothing is opened again before it is closed.
func (s *shared[T]) acquire(
	key string, open func() (T, error), closeThing func(T) error,
) (thing T, release func() error, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.open[key]
	for ; t != nil && t.users == 0; t = s.open[key] {
		s.mu.Unlock()
		<-t.gone
		s.mu.Lock()
	}
	if t == nil {
		if thing, err = open(); err != nil {
			return thing, nil, err
		}
		t = &sharedThing[T]{thing: thing, gone: make(chan struct{})}
		if s.open == nil {
			s.open = map[string]*sharedThing[T]{}
		}
		s.open[key] = t
	}
	t.users++
	return t.thing, func() error { return s.release(key, t, closeThing) }, nil
}

func (s *shared[T]) release(key string, t *sharedThing[T], closeThing func(T) error) error {
	s.mu.Lock()
	t.users--
	last := t.users == 0
	s.mu.Unlock()
	if !last {
		return nil
	}
	err := closeThing(t.thing)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, key)
	close(t.gone)
	return err
}

// Connections are the open connections of all generations. A connection whose block did not change
// is shared by the generations that declare it.
type Connections struct{ shared[*connection] }

// connection is one open connection block.
type connection struct {
	handle   any
	guard    *adapters.ConnectionGuard
	health   atomic.Int32 // see connectionProbe
	cleanups cleanups
}

func openConnection(ctx context.Context, conn *hcl.Connection, b *Build) (*connection, error) {
	connector, ok := b.Set.Connector(conn.Kind)
	if !ok {
		return nil, fmt.Errorf("this program has no connections of the kind %q", conn.Kind)
	}
	c := &connection{guard: adapters.NewConnectionGuard(conn.Name, conn.Limits, newRequestTurns(b.State, conn))}
	c.guard.OnChange(func(state string) { b.publishConnection(conn.Kind+"."+conn.Name, state, "") })
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

// requestTurns implements adapters.Turns with the state store.
type requestTurns struct {
	state *State
	key   string
	rate  state.Rate
}

// newRequestTurns returns what counts the requests over a connection. A tenth of the rate may be used at once, and
// the rest is spaced so that no period has more requests than the rate says.
func newRequestTurns(s *State, conn *hcl.Connection) *requestTurns {
	limit := conn.Limits.Rate
	burst := max(limit.Calls/10, 1)
	return &requestTurns{
		state: s,
		key:   digest.Of("requests", conn.Kind, conn.Name, limit.String()).String(),
		rate: state.Rate{
			Interval: limit.Per / time.Duration(max(limit.Calls-burst+1, 1)), Burst: burst, MaxWait: 24 * time.Hour,
		},
	}
}

// Reserve implements adapters.Turns.
func (t *requestTurns) Reserve(ctx context.Context, maxWait time.Duration) (time.Duration, bool, error) {
	store, err := t.state.openStore(ctx)
	if err != nil {
		return 0, false, err
	}
	return store.Reserve(ctx, t.key, t.rate, maxWait)
}

// Postpone implements adapters.Turns.
func (t *requestTurns) Postpone(ctx context.Context, pause time.Duration) error {
	store, err := t.state.openStore(ctx)
	if err != nil {
		return err
	}
	return store.Postpone(ctx, t.key, t.rate, pause)
}

func (c *connection) close() error { return c.cleanups.run() }

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
