package limit

import (
	"context"
	"sync"
	"time"

	"hatchel/hcl"
	"hatchel/runtime/state"
)

// Limiter counts the calls of limited tools that run or wait in this process. It outlives
// generations.
type Limiter struct {
	open func(context.Context) (state.Store, error)

	mu      sync.Mutex
	buckets map[Key]*bucket // guarded by mu, with what is in them
	swept   time.Time       // guarded by mu
}

// bucket counts the calls of one key.
type bucket struct {
	running   int
	queued    int           // calls that wait for the rate
	waiters   []*waiter     // calls that wait for others to end, first in, first out
	notBefore time.Time     // when the rate of rule admits the next call, as far as this process knows
	rule      *hcl.Limit    // the limit that notBefore belongs to
	reserving chan struct{} // has room for the one call that reserves at the rate; nil until one does
}

// waiter is a call in a queue.
type waiter struct {
	maxRunning int
	ready      chan struct{} // closed when the call is counted as running
}

// New returns a Limiter that counts rates in the store that open returns.
func New(open func(context.Context) (state.Store, error)) *Limiter {
	return &Limiter{open: open, buckets: map[Key]*bucket{}}
}

// Acquire counts a call under key, after it has waited for its turn where the limit allows that.
// The error is an [Error] when the limit rejects the call. The caller must call Release when the
// call has ended.
func (l *Limiter) Acquire(ctx context.Context, key Key, limit Limit) error {
	deadline := time.Now().Add(limit.rule.MaxWait)
	if err := l.acquireSlot(ctx, key, limit, deadline); err != nil {
		return err
	}
	if !limit.HasRate() {
		return nil
	}
	if err := l.acquireRate(ctx, key, limit, deadline); err != nil {
		l.Release(key)
		return err
	}
	return nil
}

// Readmit counts a call that was admitted before, regardless of the limit.
func (l *Limiter) Readmit(key Key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.bucket(key).running++
}

// Release reports the end of a call.
func (l *Limiter) Release(key Key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.bucket(key)
	b.running--
	b.admitWaiters()
}

// acquireSlot counts a call as running.
func (l *Limiter) acquireSlot(ctx context.Context, key Key, limit Limit, deadline time.Time) error {
	l.mu.Lock()
	b := l.bucket(key)
	if limit.rule.Concurrency == 0 || b.running < limit.rule.Concurrency && len(b.waiters) == 0 {
		b.running++
		l.mu.Unlock()
		return nil
	}
	if len(b.waiters) >= limit.rule.Queue {
		l.mu.Unlock()
		return limit.errTooMany()
	}
	w := &waiter{limit.rule.Concurrency, make(chan struct{})}
	b.waiters = append(b.waiters, w)
	l.mu.Unlock()
	err := w.wait(ctx, deadline, limit)
	if err == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, other := range b.waiters {
		if other == w {
			b.waiters = append(b.waiters[:i], b.waiters[i+1:]...)
			return err
		}
	}
	b.running-- // it was admitted in the meantime
	b.admitWaiters()
	return err
}

// wait returns nil when the call is admitted before the deadline.
func (w *waiter) wait(ctx context.Context, deadline time.Time, limit Limit) error {
	timer := time.NewTimer(time.Until(deadline))
	defer timer.Stop()
	select {
	case <-w.ready:
		return nil
	case <-timer.C:
		return limit.errTooMany()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// admitWaiters counts those calls as running whose turn it is.
func (b *bucket) admitWaiters() {
	for len(b.waiters) > 0 && b.running < b.waiters[0].maxRunning {
		b.running++
		close(b.waiters[0].ready)
		b.waiters = b.waiters[1:]
	}
}

// bucket returns the bucket of a key. The caller holds mu. Idle buckets are removed once a minute.
func (l *Limiter) bucket(key Key) *bucket {
	if now := time.Now(); now.Sub(l.swept) > time.Minute {
		l.swept = now
		for key, b := range l.buckets {
			if b.running == 0 && b.queued == 0 && len(b.waiters) == 0 && !now.Before(b.notBefore) {
				delete(l.buckets, key)
			}
		}
	}
	b := l.buckets[key]
	if b == nil {
		b = new(bucket)
		l.buckets[key] = b
	}
	return b
}
