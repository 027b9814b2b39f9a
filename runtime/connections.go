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
	"hatchel/internal/digest"
	"hatchel/runtime/durable/state"
	"hatchel/runtime/durable/store"
)

// shared are open things that generations share: by a key, each is opened for the first generation
// that needs it, and closed with the last one. Its methods may be called concurrently; nothing is opened
// or closed under its lock.
type shared[T any] struct {
	mu   sync.Mutex
	open map[string]*sharedThing[T] // guarded by mu
}

// sharedThing is one thing from the moment when it is being opened until it is closed. Its fields are
// guarded by shared.mu.
type sharedThing[T any] struct {
	thing T
	users int
	busy  chan struct{} // closed at the end of the opening or the closing that is under way; nil if none is
}

// acquire returns the thing of a key, which it opens when no generation has, and the function that
// gives it back. Nothing is opened again before it is closed. While another generation opens or closes
// it, acquire waits until ctx ends.
func (s *shared[T]) acquire(
	ctx context.Context, key string, open func() (T, error), closeThing func(T) error,
) (thing T, release func() error, err error) {
	t, isNew, err := s.join(ctx, key)
	if err != nil {
		return thing, nil, err
	}
	if isNew {
		thing, err = open()
		s.mu.Lock()
		t.thing = thing
		s.endBusy(key, t, err == nil)
		s.mu.Unlock()
		if err != nil {
			return thing, nil, err
		}
	}
	return t.thing, func() error { return s.release(key, t, closeThing) }, nil
}

// join adds a user to the thing of a key. If there is none, the caller must open it.
func (s *shared[T]) join(ctx context.Context, key string) (t *sharedThing[T], isNew bool, err error) {
	for {
		s.mu.Lock()
		t = s.open[key]
		if t == nil {
			t = &sharedThing[T]{users: 1, busy: make(chan struct{})}
			if s.open == nil {
				s.open = map[string]*sharedThing[T]{}
			}
			s.open[key] = t
			s.mu.Unlock()
			return t, true, nil
		}
		busy := t.busy
		if busy == nil {
			t.users++
			s.mu.Unlock()
			return t, false, nil
		}
		s.mu.Unlock()
		select {
		case <-busy:
		case <-ctx.Done():
			return nil, false, context.Cause(ctx)
		}
	}
}

// endBusy ends the opening or the closing of a thing. The caller holds mu.
func (s *shared[T]) endBusy(key string, t *sharedThing[T], isOpen bool) {
	if !isOpen {
		delete(s.open, key)
	}
	close(t.busy)
	t.busy = nil
}

func (s *shared[T]) release(key string, t *sharedThing[T], closeThing func(T) error) error {
	s.mu.Lock()
	t.users--
	if t.users > 0 {
		s.mu.Unlock()
		return nil
	}
	t.busy = make(chan struct{})
	s.mu.Unlock()
	err := closeThing(t.thing)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endBusy(key, t, false)
	return err
}

// Connections are the open connections of all generations. A connection whose block did not change
// is shared by the generations that declare it.
type Connections struct{ shared[*connection] }

// connection is one open connection block.
type connection struct {
	handle   any
	guards   adapters.ConnectionGuards
	health   map[string]*atomic.Int32 // see probe.Connection; by the keys of its instances
	observer *upstreamObserver
	cleanups cleanups
}

func openConnection(ctx context.Context, conn *hcl.Connection, b *Build) (*connection, error) {
	connector, ok := b.Set.Connector(conn.Kind)
	if !ok {
		return nil, fmt.Errorf("this program has no connections of the kind %q", conn.Kind)
	}
	name := conn.Kind + "." + conn.Name
	c := &connection{
		health:   map[string]*atomic.Int32{},
		observer: &upstreamObserver{build: b, name: name, connection: conn.Name},
	}
	c.guards = adapters.NewConnectionGuards(conn,
		func(name string) adapters.Turns { return newRequestTurns(b.State, conn, name) },
		func(name, state string) { b.publishConnection(conn.Kind+"."+name, state, "") })
	for _, key := range conn.Instances() {
		c.health[key] = new(atomic.Int32)
	}
	env := b.adapterEnv(&c.cleanups)
	env.Log = b.Log.With("connection", name)
	env.StateChanged = c.observer.observe
	handle, err := connector.Open(ctx, conn, env)
	if err != nil {
		if failed := c.cleanups.run(); failed != nil {
			env.Log.Warn("rejected connection not closed cleanly", "error", failed)
		}
		return nil, err
	}
	c.handle = handle
	if upstream, ok := handle.(adapters.Upstream); ok {
		c.observer.attach(upstream)
	}
	return c, nil
}

// requestTurns implements adapters.Turns with the state store.
type requestTurns struct {
	state *store.State
	key   string
	rate  state.Rate
}

// newRequestTurns returns what counts the requests over a connection or an instance with a name. A tenth of the rate
// may be used at once, and the rest is spaced so that no period has more requests than the rate says.
func newRequestTurns(s *store.State, conn *hcl.Connection, name string) *requestTurns {
	limit := conn.Limits.Rate
	burst := max(limit.Calls/10, 1)
	return &requestTurns{
		state: s,
		key:   digest.Of("requests", conn.Kind, name, limit.String()).String(),
		rate: state.Rate{
			Interval: limit.Per / time.Duration(max(limit.Calls-burst+1, 1)), Burst: burst, MaxWait: 24 * time.Hour,
		},
	}
}

// Reserve implements adapters.Turns.
func (t *requestTurns) Reserve(ctx context.Context, maxWait time.Duration) (time.Duration, bool, error) {
	store, err := t.state.OpenStore(ctx)
	if err != nil {
		return 0, false, err
	}
	return store.Reserve(ctx, t.key, t.rate, maxWait)
}

// Postpone implements adapters.Turns.
func (t *requestTurns) Postpone(ctx context.Context, pause time.Duration) error {
	store, err := t.state.OpenStore(ctx)
	if err != nil {
		return err
	}
	return store.Postpone(ctx, t.key, t.rate, pause)
}

func (c *connection) close() error {
	c.observer.stop()
	return c.cleanups.run()
}

// instance returns the handle of the instance with a key; that of the connection for an empty key.
func (c *connection) instance(key string) any {
	if i, ok := c.handle.(adapters.Instanced); ok && key != "" {
		return i.Instance(key)
	}
	return c.handle
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
