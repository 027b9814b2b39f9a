package sql

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"hatchel/adapters"
)

// retryInterval is how long calls fail without another attempt after connecting failed.
const retryInterval = 2 * time.Second

// unreachableError reports that there is no connection to the database. Its text is for the operator.
type unreachableError struct{ cause error }

func (e *unreachableError) Error() string {
	var inner *unreachableError
	if errors.As(e.cause, &inner) {
		return inner.Error()
	}
	return "the database is not reachable: " + connectReason(e.cause)
}

func (e *unreachableError) Unwrap() error { return e.cause }

// connectReason returns why a server or the network refused a connection.
func connectReason(err error) string {
	if r, ok := readReport(err); ok {
		return r.text
	}
	if reason := adapters.DialReason(err); reason != "" {
		return reason
	}
	return err.Error()
}

// readiness delays calls until the first connection is made. The first call connects and the others
// wait for its attempt. After a failure all calls fail for retryInterval.
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
		return &unreachableError{r.failure}
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
		return nil, &unreachableError{r.failure}
	case r.ctx.Err() != nil:
		return nil, &unreachableError{r.ctx.Err()}
	case r.pending == nil:
		r.pending = make(chan struct{})
		r.attempt.Go(r.connect)
	}
	return r.pending, nil
}

func (r *readiness) connect() {
	ctx, cancel := context.WithTimeout(r.ctx, r.timeout)
	defer cancel()
	err := r.dial(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.record(err)
	close(r.pending)
	r.pending = nil
}

// record stores the result of an attempt. The caller holds mu.
func (r *readiness) record(err error) {
	r.failure = err
	r.retryAt = time.Now().Add(retryInterval)
	r.ready.Store(err == nil)
}

// markDown records that the database went away.
func (r *readiness) markDown(err error) *unreachableError {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.record(err)
	return &unreachableError{err}
}

// close cancels the current attempt and waits for its end.
func (r *readiness) close() {
	r.cancel()
	r.attempt.Wait()
}

var errPingTimeout = errors.New("the database did not answer in time")

// pingError returns the error of a Ping, worded if its context ended first.
func pingError(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return errPingTimeout
	}
	return err
}
