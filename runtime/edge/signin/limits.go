package signin

import (
	"context"
	"sync"
	"time"
)

const (
	requestPeriod = time.Minute
	maxRequests   = 60     // of one network in a period that have not led to a token
	maxNetworks   = 10_000 // that are remembered; the others share the requests of one
	maxAtOnce     = 16     // requests of a kind that are handled at the same time
	maxQueue      = 512    // requests of a kind that wait for that
	queueTime     = 5 * time.Second
)

// requestCounts counts the requests of each network, anew after each period.
type requestCounts struct {
	mu    sync.Mutex
	since time.Time      // guarded by mu
	made  map[string]int // by network; guarded by mu
}

// take counts a request and reports whether the network may make it. A request that has led to a token is given back.
func (c *requestCounts) take(network string, now time.Time) (giveBack func(), ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now.Sub(c.since) >= requestPeriod {
		c.since, c.made = now, map[string]int{}
	}
	if _, known := c.made[network]; !known && len(c.made) >= maxNetworks {
		network = ""
	}
	if c.made[network] >= maxRequests {
		return nil, false
	}
	c.made[network]++
	since := c.since
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.since.Equal(since) {
			c.made[network]--
		}
	}, true
}

// queue admits a bounded number of requests at once, and lets a bounded number wait.
type queue struct {
	running, waiting chan struct{}
}

func newQueue() queue {
	return queue{make(chan struct{}, maxAtOnce), make(chan struct{}, maxQueue)}
}

// enter waits until a request may be handled, and returns what ends it. It reports false when too many wait.
func (q queue) enter(ctx context.Context) (leave func(), ok bool) {
	leave = func() { <-q.running }
	select {
	case q.running <- struct{}{}:
		return leave, true
	default:
	}
	select {
	case q.waiting <- struct{}{}:
		defer func() { <-q.waiting }()
	default:
		return nil, false
	}
	ctx, cancel := context.WithTimeout(ctx, queueTime)
	defer cancel()
	select {
	case q.running <- struct{}{}:
		return leave, true
	case <-ctx.Done():
		return nil, false
	}
}
