package client

import (
	"time"

	"golang.org/x/time/rate"
)

// Throttle slows down who reads what a server sends by itself: a server that sends without end waits for its reader,
// and takes little of a processor. One goroutine uses it at a time.
type Throttle struct{ limiter *rate.Limiter }

// NewThrottle returns a Throttle for a number of bytes in a second, and for a burst that may come at once.
func NewThrottle(perSecond, burst int) *Throttle {
	return &Throttle{rate.NewLimiter(rate.Limit(perSecond), burst)}
}

// readCost is how many bytes a read counts for beyond those that were read.
const readCost = 1 << 10

// Pause counts a read of n bytes, which may be more than the burst, and returns how long to wait before the next one.
func (t *Throttle) Pause(n int) (pause time.Duration) {
	now, burst := time.Now(), t.limiter.Burst()
	for left := n + readCost; left > 0; left -= burst {
		pause = t.limiter.ReserveN(now, min(left, burst)).DelayFrom(now)
	}
	return pause
}

// The limits of messages that belong to no request.
const (
	messageRate  = 1 << 20 // bytes in a second
	messageBurst = 4 << 20
)

func throttleMessages() *Throttle { return NewThrottle(messageRate, messageBurst) }
