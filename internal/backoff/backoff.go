// Package backoff has the pauses between the attempts of work that may fail.
package backoff

import (
	"context"
	"iter"
	"math/rand/v2"
	"time"

	"hatchel/internal/ctxtime"
)

// Policy says how long the pauses between attempts are. They double from First to Max, or are those of Steps, of which
// the last one repeats. Up to Jitter times a pause is added to it at random, so that processes that have failed
// together do not try again together. A Policy is a value, and may be used concurrently.
//
//	failures                          1     2     3     4     5     6     7     8
//	First: 1s                         1s    1s    1s    1s    1s    1s    1s    1s
//	First: 1s, Max: 30s               1s    2s    4s    8s    16s   30s   30s   30s
//	First: 50ms, Max: 450ms, at least 50ms  100ms 200ms 400ms 450ms 450ms 450ms 450ms
//	  with Jitter: 1, less than       100ms 200ms 400ms 800ms 900ms 900ms 900ms 900ms
//	Steps: {2s, 5s, 30s}              2s    5s    30s   30s   30s   30s   30s   30s
type Policy struct {
	First  time.Duration
	Max    time.Duration // 0 for pauses that stay the same
	Steps  []time.Duration
	Jitter float64
}

// Pause returns how long to wait after a number of failures in a row. Less than one counts as one.
func (p Policy) Pause(failures int) time.Duration {
	pause := p.First
	if n := len(p.Steps); n > 0 {
		pause = p.Steps[min(max(failures, 1), n)-1]
	}
	for ; failures > 1 && pause < p.Max; failures-- {
		pause = min(2*pause, p.Max)
	}
	return pause + time.Duration(rand.Float64()*p.Jitter*float64(pause))
}

// Attempts yields the numbers of attempts from 1, the first one at once, with the pauses between them, until ctx ends.
// Its user leaves the loop when the work is done, or will never be.
func (p Policy) Attempts(ctx context.Context) iter.Seq[int] {
	return func(yield func(int) bool) {
		for n := 1; yield(n) && ctxtime.Sleep(ctx, p.Pause(n)) == nil; n++ {
		}
	}
}
