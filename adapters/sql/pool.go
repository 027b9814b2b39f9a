package sql

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"hatchel/adapters"
)

var (
	errClosed = errors.New("the connection was closed")
	// errBusy is the error of a call that waited for a connection until its context ended.
	errBusy = errors.New("all connections to the database are in use")
)

// pool lends connections. It lends the most recently used one first, because its statements are
// prepared.
type pool[C interface{ close() error }] struct {
	open    func(context.Context) (C, error)
	slots   chan struct{}
	maxIdle time.Duration // 0 means no limit

	mu     sync.Mutex
	idle   []idleConn[C] // oldest first; guarded by mu
	reaper *time.Timer   // guarded by mu
	closed bool          // guarded by mu
}

type idleConn[C any] struct {
	conn  C
	since time.Time
}

func newPool[C interface{ close() error }](size int, open func(context.Context) (C, error)) *pool[C] {
	return &pool[C]{open: open, slots: make(chan struct{}, size)}
}

// usage returns how many connections are lent, and how many may be.
func (p *pool[C]) usage() (inUse, maximum int) { return len(p.slots), cap(p.slots) }

// acquire lends a connection and opens one if none is idle. The caller must release it.
func (p *pool[C]) acquire(ctx context.Context) (c C, err error) {
	if err := ctx.Err(); err != nil {
		return c, err
	}
	select {
	case p.slots <- struct{}{}:
	default:
		select {
		case p.slots <- struct{}{}:
		case <-ctx.Done():
			return c, errBusy
		}
	}
	p.mu.Lock()
	if n := len(p.idle); n > 0 && !p.closed {
		c = p.idle[n-1].conn
		p.idle = p.idle[:n-1]
		p.mu.Unlock()
		return c, nil
	}
	closed := p.closed
	p.mu.Unlock()
	err = errClosed
	if !closed {
		c, err = p.open(ctx)
	}
	if err != nil {
		<-p.slots
		if ctx.Err() != nil {
			return c, ctx.Err()
		}
		return c, &unreachableError{cause: err}
	}
	return c, nil
}

// release returns a connection to the pool, which closes it unless it is usable.
func (p *pool[C]) release(c C, usable bool) {
	p.mu.Lock()
	keep := usable && !p.closed
	if keep {
		last := idleConn[C]{conn: c}
		if p.maxIdle > 0 {
			last.since = time.Now()
			if p.reaper == nil {
				p.reaper = time.AfterFunc(p.maxIdle, p.closeIdle)
			}
		}
		p.idle = append(p.idle, last)
	}
	p.mu.Unlock()
	if !keep {
		_ = c.close() // a connection that is not reused has no error to handle
	}
	<-p.slots
}

// offer adds an idle connection to the pool.
func (p *pool[C]) offer(c C) {
	p.mu.Lock()
	closed := p.closed
	if !closed {
		p.idle = append(p.idle, idleConn[C]{conn: c})
	}
	p.mu.Unlock()
	if closed {
		_ = c.close()
	}
}

// drain waits until no connection is lent, and lends none before the caller calls free.
func (p *pool[C]) drain(ctx context.Context) (free func(), err error) {
	taken := 0
	free = func() {
		for ; taken > 0; taken-- {
			<-p.slots
		}
	}
	for ; taken < cap(p.slots); taken++ {
		select {
		case p.slots <- struct{}{}:
		case <-ctx.Done():
			free()
			return nil, ctx.Err()
		}
	}
	return free, nil
}

// closeIdle closes the connections that were idle for longer than maxIdle.
func (p *pool[C]) closeIdle() {
	p.mu.Lock()
	p.reaper = nil
	if p.closed {
		p.mu.Unlock()
		return
	}
	limit := time.Now().Add(-p.maxIdle)
	n := 0
	for n < len(p.idle) && !p.idle[n].since.After(limit) {
		n++
	}
	expired := p.idle[:n]
	p.idle = slices.Clone(p.idle[n:])
	if len(p.idle) > 0 {
		p.reaper = time.AfterFunc(time.Until(p.idle[0].since.Add(p.maxIdle)), p.closeIdle)
	}
	p.mu.Unlock()
	_ = closeConns(expired)
}

// discardIdle closes all idle connections. Those that are lent are not affected.
func (p *pool[C]) discardIdle() {
	p.mu.Lock()
	idle := p.idle
	p.idle = nil
	p.mu.Unlock()
	_ = closeConns(idle)
}

// close closes the idle connections. Those that are lent are closed when they are released, so a call that
// does not end holds nobody back.
func (p *pool[C]) close() error {
	p.mu.Lock()
	p.closed = true
	if p.reaper != nil {
		p.reaper.Stop()
	}
	idle := p.idle
	p.idle = nil
	p.mu.Unlock()
	return closeConns(idle)
}

// closeConns closes connections, which takes network round trips. The caller holds no lock.
func closeConns[C interface{ close() error }](conns []idleConn[C]) error {
	var errs []error
	for _, c := range conns {
		errs = append(errs, c.conn.close())
	}
	return errors.Join(errs...)
}

// check opens a connection if none is idle, and returns it to the pool.
func (p *pool[C]) check(ctx context.Context) error {
	c, err := p.acquire(ctx)
	if err == nil {
		p.release(c, true)
	}
	return err
}

// After connecting failed, calls fail without another attempt for as long as the attempt took, within these limits:
// a database that does not answer delays few calls, and one that is back serves the next one.
const (
	minRetryPause = 50 * time.Millisecond
	maxRetryPause = 2 * time.Second
)

// unreachableError reports that there is no connection to the database. Its text is for the operator.
type unreachableError struct {
	cause    error
	repeated bool // it is that of an earlier attempt
}

// lost reports whether the database did not answer when this call tried to connect. An answer, such
// as that there are too many connections, says that the server is there.
func (e *unreachableError) lost() bool {
	_, answered := readReport(e.cause)
	return !answered && !e.repeated && mistakeOf(e.cause) == ""
}

func (e *unreachableError) Error() string {
	var inner *unreachableError
	if errors.As(e.cause, &inner) {
		return inner.Error()
	}
	reason := adapters.DialReason(e.cause)
	if r, ok := readReport(e.cause); ok {
		reason = r.text
	}
	if failed, ok := errors.AsType[*signInError](e.cause); ok {
		reason = failed.text
	}
	text := "no connection to the database: " + cmp.Or(reason, driverReason(e.cause))
	if correction := mistakeOf(e.cause).correction(); correction != "" {
		text += "; " + correction
	}
	return text
}

func (e *unreachableError) Unwrap() error { return e.cause }

// driverReason returns the text of an error without the name of the user and the database that the driver for
// PostgreSQL writes before it.
func driverReason(err error) string {
	if connect := new(pgconn.ConnectError); errors.As(err, &connect) {
		err = connect.Unwrap()
	}
	return err.Error()
}

// readiness delays calls until the first connection is made. The first call connects and the others
// wait for its attempt. After a failure all calls fail for a moment.
type readiness struct {
	dial    func(context.Context) error
	timeout time.Duration
	ctx     context.Context // ends with close
	cancel  context.CancelFunc
	attempt sync.WaitGroup

	ready atomic.Bool

	mu      sync.Mutex
	pending chan struct{} // closed when the current attempt ends; guarded by mu
	failure error         // guarded by mu
	retryAt time.Time     // guarded by mu
}

func newReadiness(ctx context.Context, timeout time.Duration, dial func(context.Context) error) *readiness {
	r := &readiness{dial: dial, timeout: timeout}
	r.ctx, r.cancel = context.WithCancel(context.WithoutCancel(ctx))
	return r
}

// wait returns nil once there is a connection, or the reason why there is none.
func (r *readiness) wait(ctx context.Context) error {
	if r.ready.Load() {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	done, err := r.startAttempt()
	if done == nil {
		return err
	}
	select {
	case <-done:
	case <-ctx.Done():
		return ctx.Err()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failure != nil {
		return &unreachableError{cause: r.failure}
	}
	return nil
}

// startAttempt joins the current attempt to connect, or begins one. It returns no channel if the
// result is known already.
func (r *readiness) startAttempt() (done chan struct{}, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.ready.Load():
		return nil, nil
	case r.failure != nil && time.Now().Before(r.retryAt):
		return nil, &unreachableError{r.failure, true}
	case r.ctx.Err() != nil:
		return nil, &unreachableError{cause: r.ctx.Err()}
	case r.pending == nil:
		r.pending = make(chan struct{})
		r.attempt.Go(r.connect)
	}
	return r.pending, nil
}

func (r *readiness) connect() {
	ctx, cancel := context.WithTimeout(r.ctx, r.timeout)
	defer cancel()
	began := time.Now()
	err := r.dial(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.record(err, time.Since(began))
	close(r.pending)
	r.pending = nil
}

// record stores the result of an attempt that took some time. The caller holds mu.
func (r *readiness) record(err error, took time.Duration) {
	r.failure = err
	r.retryAt = time.Now().Add(min(max(took, minRetryPause), maxRetryPause))
	r.ready.Store(err == nil)
}

// markDown records that the database went away, unless the server itself has refused one more
// connection: those that are open still work.
func (r *readiness) markDown(err error) *unreachableError {
	down := &unreachableError{cause: err}
	if down.lost() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.record(err, minRetryPause)
	}
	return down
}

// close cancels the current attempt and waits for its end.
func (r *readiness) close() {
	r.cancel()
	r.attempt.Wait()
}

var errPingTimeout = errors.New("the database did not answer in time")

// pingError returns the error of a Ping, worded if its context ended first.
func pingError(ctx context.Context, err error) error {
	if err != nil && err != errBusy && ctx.Err() != nil {
		return errPingTimeout
	}
	return err
}
