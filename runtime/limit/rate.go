package limit

import (
	"context"
	"time"

	"hatchel/adapters"
	"hatchel/internal/ctxtime"
	"hatchel/runtime/failure"
)

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
	maxWait, retryAfter := l.maxWait(key, limit, deadline)
	if retryAfter > 0 {
		return 0, limit.errRateLimited(retryAfter)
	}
	store, err := l.open(ctx)
	if err != nil {
		return 0, rateUnavailable(err)
	}
	delay, ok, err := store.Reserve(ctx, key.String(), limit.rate(), maxWait)
	switch {
	case err != nil:
		return 0, rateUnavailable(err)
	case !ok:
		l.noteRejected(key, limit, delay)
		return 0, limit.errRateLimited(delay)
	case delay > 0:
		l.addQueued(key, 1)
	}
	return delay, nil
}

func rateUnavailable(err error) error {
	const text = "the calls of this tool are rate limited, and the state store that counts them is unavailable. " +
		"Nothing was done; try again in a moment"
	return &adapters.Fault{Message: text, Cause: failure.StateError(err), NotSent: true}
}

// reserving returns a channel with room for the one call that reserves. Its bucket stays: the call
// is running.
func (l *Limiter) reserving(key Key) chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.bucket(key)
	if b.reserving == nil {
		b.reserving = make(chan struct{}, 1)
	}
	return b.reserving
}

// maxWait returns how long a call may wait for its turn. Where the turn is known to come later,
// retryAfter says when: callers that repeat a rejected call do not load the state store.
func (l *Limiter) maxWait(key Key, limit Limit, deadline time.Time) (maxWait, retryAfter time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b, now := l.bucket(key), time.Now()
	if b.queued < limit.rule.Queue {
		maxWait = max(deadline.Sub(now), 0)
	}
	if next := b.notBefore.Sub(now); b.rule == limit.rule && next > maxWait {
		retryAfter = next
	}
	return maxWait, retryAfter
}

// addQueued changes how many calls wait for the rate.
func (l *Limiter) addQueued(key Key, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.bucket(key).queued += n
}

// noteRejected notes that the rate admits no call earlier.
func (l *Limiter) noteRejected(key Key, limit Limit, retryAfter time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.bucket(key)
	b.notBefore, b.rule = time.Now().Add(retryAfter), limit.rule
}
