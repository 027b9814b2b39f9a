package sql

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	driver "github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"

	"hatchel/adapters"
)

// coolDown is how long after a failed connection attempt calls are refused without another.
const coolDown = 2 * time.Second

// unreachable says that there is no connection to the database. Its text is for the operator.
type unreachable struct{ cause error }

func (u *unreachable) Error() string {
	var inner *unreachable
	if errors.As(u.cause, &inner) {
		return inner.Error()
	}
	return "the database is not reachable: " + connectReason(u.cause)
}

// connectReason is what a server or a network said to the attempt to connect.
func connectReason(err error) string {
	var postgres *pgconn.PgError
	var mysql *driver.MySQLError
	switch {
	case errors.As(err, &postgres):
		return postgres.Message
	case errors.As(err, &mysql):
		return mysql.Message
	}
	if reason := adapters.DialReason(err); reason != "" {
		return reason
	}
	return err.Error()
}

func (u *unreachable) Unwrap() error { return u.cause }

// A gate lets calls through once a connection was made. The first call makes it and the others wait for that one attempt; after a failure all are refused
// for a short while.
type gate struct {
	dial    func(context.Context) error
	timeout time.Duration
	ctx     context.Context // ends when the gate is shut
	shut    context.CancelFunc
	attempt sync.WaitGroup

	ready atomic.Bool

	mu      sync.Mutex
	pending chan struct{} // closed when the attempt under way is over; guarded by mu
	failed  error         // guarded by mu
	until   time.Time     // guarded by mu
}

func newGate(ctx context.Context, timeout time.Duration, dial func(context.Context) error) *gate {
	g := &gate{dial: dial, timeout: timeout}
	g.ctx, g.shut = context.WithCancel(context.WithoutCancel(ctx))
	return g
}

// pass returns when there is a connection, or why there is none.
func (g *gate) pass(ctx context.Context) error {
	if g.ready.Load() {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	g.mu.Lock()
	if g.ready.Load() {
		g.mu.Unlock()
		return nil
	}
	if g.failed != nil && time.Now().Before(g.until) {
		defer g.mu.Unlock()
		return &unreachable{g.failed}
	}
	if err := g.ctx.Err(); err != nil {
		g.mu.Unlock()
		return &unreachable{err}
	}
	done := g.pending
	if done == nil {
		done = make(chan struct{})
		g.pending = done
		g.attempt.Go(g.try)
	}
	g.mu.Unlock()
	select {
	case <-done:
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.failed != nil {
			return &unreachable{g.failed}
		}
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (g *gate) try() {
	ctx, cancel := context.WithTimeout(g.ctx, g.timeout)
	defer cancel()
	err := g.dial(ctx)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.settle(err)
	close(g.pending)
	g.pending = nil
}

// settle notes the end of an attempt. The caller holds mu.
func (g *gate) settle(err error) {
	g.failed = err
	g.until = time.Now().Add(coolDown)
	g.ready.Store(err == nil)
}

// lost notes that the other side went away.
func (g *gate) lost(err error) *unreachable {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.settle(err)
	return &unreachable{err}
}

// close ends an attempt under way and waits for it.
func (g *gate) close() {
	g.shut()
	g.attempt.Wait()
}

var errSlow = errors.New("the database did not answer in time")

// pinged words the end of a Ping whose context ended first.
func pinged(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return errSlow
	}
	return err
}
