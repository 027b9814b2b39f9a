package credential

import (
	"context"
	"sync"
	"time"

	"hatchel/adapters"
	"hatchel/internal/backoff"
)

// Life says how long a credential is used. A zero time never comes.
type Life struct {
	Renew   time.Time // a new one is fetched from then on, while this one is still used
	Expires time.Time
}

const (
	renewBefore  = 5 * time.Minute  // the end of a credential, unless a quarter of its life is shorter
	expireBefore = 10 * time.Second // the end of a credential, for clocks that differ and for requests on their way
)

// NewLife returns the life of a credential that was requested at a time and is valid for a lifetime from then on.
func NewLife(requested time.Time, lifetime time.Duration) Life {
	return Life{
		Renew:   requested.Add(lifetime - min(lifetime/4, renewBefore)),
		Expires: requested.Add(lifetime - min(lifetime/10, expireBefore)),
	}
}

// renewalPauses are the pauses between renewals that fail, while the credential is still valid.
var renewalPauses = backoff.Policy{First: time.Second, Max: 30 * time.Second, Jitter: 0.2}

// Fetches are the fetches of credentials that run in the background, for one connection. They end with the connection.
type Fetches struct {
	ctx     context.Context
	running sync.WaitGroup
}

// NewFetches returns the fetches of a connection. They keep the values of ctx and do not end with it, but when the
// connection is closed, which waits for them.
func NewFetches(ctx context.Context, env adapters.Env) *Fetches {
	f := new(Fetches)
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	f.ctx = ctx
	env.Defer(func() error {
		cancel()
		f.running.Wait()
		return nil
	})
	return f
}

// Cache holds one credential. At most one fetch runs at a time, and it does not end with the call that started it. A
// caller with a valid credential never waits: it is renewed in the background, and used until its end while renewals
// fail. A Cache may be used concurrently.
type Cache[T any] struct {
	fetches *Fetches
	fetch   func(context.Context) (T, Life, error) // nil if each call has its own

	mu       sync.Mutex
	current  *fetched[T]  // nil if there is none; guarded by mu
	running  *fetching[T] // nil if no fetch runs; guarded by mu
	failures int          // of fetches since the last one that succeeded; guarded by mu
	last     error        // of the last fetch; nil if it succeeded; guarded by mu
	resume   time.Time    // no renewal begins earlier; guarded by mu
}

// fetched is a credential.
type fetched[T any] struct {
	credential T
	life       Life
}

// fetching is one fetch; result and err are written before done is closed.
type fetching[T any] struct {
	done   chan struct{}
	result *fetched[T]
	err    error
}

// NewCache returns an empty cache. fetch bounds its own time.
func NewCache[T any](fetches *Fetches, fetch func(context.Context) (T, Life, error)) *Cache[T] {
	return &Cache[T]{fetches: fetches, fetch: fetch}
}

// Get returns a valid credential. It waits for a fetch only if there is none, and returns the error of that fetch, or
// that of ctx if it ends first.
func (c *Cache[T]) Get(ctx context.Context) (credential T, err error) { return c.get(ctx, c.fetch) }

// get is Get with a fetch that the cache does not keep.
func (c *Cache[T]) get(
	ctx context.Context, fetch func(context.Context) (T, Life, error),
) (credential T, err error) {
	c.mu.Lock()
	now := time.Now()
	current := c.valid(now)
	renews := current != nil && !current.life.Renew.IsZero() && now.After(current.life.Renew) && !now.Before(c.resume)
	if c.running == nil && (current == nil || renews) {
		c.start(fetch)
	}
	running := c.running
	c.mu.Unlock()
	if current != nil {
		return current.credential, nil
	}
	select {
	case <-running.done:
	case <-ctx.Done():
		return credential, ctx.Err()
	}
	if running.err != nil {
		return credential, running.err
	}
	return running.result.credential, nil
}

// valid returns the credential if it has not ended; nil if there is none. The caller holds mu.
func (c *Cache[T]) valid(now time.Time) *fetched[T] {
	if c.current != nil && !c.current.life.Expires.IsZero() && now.After(c.current.life.Expires) {
		c.current = nil
	}
	return c.current
}

// start starts a fetch. The caller holds mu.
func (c *Cache[T]) start(fetch func(context.Context) (T, Life, error)) {
	f := &fetching[T]{done: make(chan struct{})}
	c.running = f
	c.fetches.running.Go(func() {
		credential, life, err := fetch(c.fetches.ctx)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.running, c.last = nil, err
		if f.err = err; err == nil {
			f.result = &fetched[T]{credential, life}
			c.current, c.failures = f.result, 0
		} else {
			c.failures++
			c.resume = time.Now().Add(renewalPauses.Pause(c.failures))
		}
		close(f.done)
	})
}

// Invalidate drops a credential that was refused, unless it was replaced already. refused reports whether a credential
// is that one.
func (c *Cache[T]) Invalidate(refused func(T) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.current != nil && refused(c.current.credential) {
		c.current = nil
	}
}

// Status says what a cache holds, for people who operate a server. It has no credential.
type Status struct {
	Valid   bool
	Expires time.Time // zero without a credential, and for one whose end is unknown
	Failure error     // of the last fetch; nil if it succeeded, or if there was none
}

// State returns the status with the identity of the credential, as connections report it.
func (s Status) State(identity string) *adapters.CredentialState {
	state := &adapters.CredentialState{Identity: identity, Valid: s.Valid, Expires: s.Expires}
	if s.Failure != nil {
		state.Failure = s.Failure.Error()
	}
	return state
}

// Status returns what the cache holds. It fetches nothing.
func (c *Cache[T]) Status() (s Status) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if current := c.valid(time.Now()); current != nil {
		s.Valid, s.Expires = true, current.life.Expires
	}
	s.Failure = c.last
	return s
}
