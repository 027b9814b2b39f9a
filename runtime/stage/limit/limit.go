// Package limit decides whether a call of a tool may run now, later or not at all.
//
// A [Limiter] counts running calls and queues others in the memory of the process. The rate of
// calls is counted in the state store, so that all processes that share a store share it.
package limit

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"hatchel/hcl"
	"hatchel/internal/ctxtime"
	"hatchel/runtime/durable/state"
	"hatchel/runtime/stage/failure"
)

// Limit is one limit that the calls of a tool are subject to.
type Limit struct {
	tool string // empty for the limit of the whole server
	rule *hcl.Limit
}

// defaultLimit applies to each caller of a server that authenticates its callers and declares no
// limit.
var defaultLimit = &hcl.Limit{Concurrency: 10, Queue: 100, MaxWait: 10 * time.Second}

// Of returns the limits of a tool. The limit of the server comes first, so that a call does not
// occupy a place of the tool while it waits for the server.
func Of(cfg *hcl.Config, t *hcl.Tool) (all []Limit) {
	switch {
	case cfg.Server.Limit != nil:
		all = append(all, Limit{"", cfg.Server.Limit})
	case cfg.Auth != nil:
		all = append(all, Limit{"", defaultLimit})
	}
	if t.Limit != nil {
		all = append(all, Limit{"tool " + t.Name, t.Limit})
	}
	return all
}

// OfServer reports whether the limit is that of the whole server. Calls that are steps of another
// call do not count there.
func (l Limit) OfServer() bool { return l.tool == "" }

// HasRate reports whether the limit has a rate, which takes a state store.
func (l Limit) HasRate() bool { return l.rule.Rate.Calls > 0 }

// rate returns how often calls may begin.
func (l Limit) rate() state.Rate {
	r := state.Rate{Interval: l.rule.Rate.Every(), Burst: l.rule.Burst}
	if l.rule.Queue > 0 {
		r.MaxWait = l.rule.MaxWait
	}
	return r
}

// subject returns what is limited, as part of a sentence.
func (l Limit) subject() string {
	subject := "this tool"
	if l.tool == "" {
		subject = "the tools of this server"
	}
	if l.rule.Shared {
		return subject + " by all callers"
	}
	return subject + " by one caller"
}

func (l Limit) errTooMany() error {
	const text = "Too many calls of %s at once: at most %d run at a time."
	const advice = "Try again when one has ended, in %v at the earliest."
	return &Error{
		Message: fmt.Sprintf(text, l.subject(), l.rule.Concurrency), Advice: fmt.Sprintf(advice, time.Second),
		RetryAfter: time.Second,
	}
}

func (l Limit) errRateLimited(retryAfter time.Duration) error {
	retryAfter = max(retryAfter.Round(time.Second), time.Second)
	return &Error{
		Message: fmt.Sprintf("Too many calls of %s: at most %s.", l.subject(), l.rule.Rate),
		Advice:  fmt.Sprintf("Try again in %v.", retryAfter), RetryAfter: retryAfter,
	}
}

// Error is a call that a limit rejects.
type Error struct {
	Message    string // for the model, without what was done
	Advice     string // what to do if the call has done nothing
	RetryAfter time.Duration
}

func (e *Error) Error() string { return failure.NotDone{Message: e.Message, Advice: e.Advice}.Error() }

// Failure implements the interface of package failure.
func (e *Error) Failure() *failure.Failure {
	f := failure.NotDone{Message: e.Message, Advice: e.Advice}.Failure()
	f.RetryAfter = e.RetryAfter
	return f
}

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
	reserving chan struct{} // has room for the one call that reserves at the rate; nil until one does
}

// isBusy reports whether a call runs or waits.
func (b *bucket) isBusy() bool { return b.running > 0 || b.queued > 0 || len(b.waiters) > 0 }

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
	l.update(key, func(b *bucket) { b.running++ })
}

// Release reports the end of a call.
func (l *Limiter) Release(key Key) {
	l.update(key, func(b *bucket) {
		b.running--
		b.admitWaiters()
	})
}

// update changes the bucket of a key.
func (l *Limiter) update(key Key, change func(*bucket)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change(l.bucket(key))
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
	if i := slices.Index(b.waiters, w); i >= 0 {
		b.waiters = slices.Delete(b.waiters, i, i+1)
		return err
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
			if !b.isBusy() {
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

// acquireRate waits until the rate admits a call. Without the state store, no call is admitted.
func (l *Limiter) acquireRate(ctx context.Context, key Key, limit Limit, deadline time.Time) error {
	delay, err := l.reserve(ctx, key, limit, deadline)
	if delay == 0 || err != nil {
		return err
	}
	defer l.addQueued(key, -1)
	return ctxtime.Sleep(ctx, delay)
}

// reserve takes the next turn at the rate and returns how long the call has to wait for it; a call
// that has to wait counts as queued. Where calls may wait, they reserve one at a time, so that the
// queue does not overflow.
func (l *Limiter) reserve(
	ctx context.Context, key Key, limit Limit, deadline time.Time,
) (delay time.Duration, err error) {
	if limit.rule.Queue > 0 {
		reserving := l.reserving(key)
		select {
		case reserving <- struct{}{}:
			defer func() { <-reserving }()
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
	store, err := l.open(ctx)
	if err != nil {
		return 0, rateUnavailable(err)
	}
	delay, ok, err := store.Reserve(ctx, key.String(), limit.rate(), l.maxWait(key, limit, deadline))
	switch {
	case err != nil:
		return 0, rateUnavailable(err)
	case !ok:
		return 0, limit.errRateLimited(delay)
	case delay > 0:
		l.addQueued(key, 1)
	}
	return delay, nil
}

func rateUnavailable(err error) error {
	return failure.NotDone{
		Message: "the calls of this tool are rate limited, and the state store that counts them is unavailable.",
		Advice:  failure.StateAdvice(err), Cause: failure.StateError(err),
	}
}

// reserving returns a channel with room for the one call that reserves. Its bucket stays: the call
// is running.
func (l *Limiter) reserving(key Key) (reserving chan struct{}) {
	l.update(key, func(b *bucket) {
		if b.reserving == nil {
			b.reserving = make(chan struct{}, 1)
		}
		reserving = b.reserving
	})
	return reserving
}

// maxWait returns how long a call may wait for its turn.
func (l *Limiter) maxWait(key Key, limit Limit, deadline time.Time) (maxWait time.Duration) {
	l.update(key, func(b *bucket) {
		if b.queued < limit.rule.Queue {
			maxWait = max(time.Until(deadline), 0)
		}
	})
	return maxWait
}

// addQueued changes how many calls wait for the rate.
func (l *Limiter) addQueued(key Key, n int) {
	l.update(key, func(b *bucket) { b.queued += n })
}
