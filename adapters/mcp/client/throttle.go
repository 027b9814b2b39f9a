package client

import "time"

// Throttle slows down who reads what a server sends by itself: a server that sends without end waits for its reader,
// and takes little of a processor. One goroutine uses it at a time.
type Throttle struct {
	rate  float64 // bytes in a second
	burst float64 // bytes at once
	left  float64
	at    time.Time // of left; zero before the first read
}

// NewThrottle returns a Throttle for a number of bytes in a second, and for a burst that may come at once.
func NewThrottle(rate, burst int) *Throttle {
	return &Throttle{rate: float64(rate), burst: float64(burst)}
}

// readCost is how many bytes a read counts for beyond those that were read.
const readCost = 1 << 10

// Pause counts a read of n bytes, and returns how long to wait before the next one.
func (t *Throttle) Pause(n int) time.Duration {
	now := time.Now()
	if t.at.IsZero() {
		t.left = t.burst
	} else {
		t.left = min(t.left+now.Sub(t.at).Seconds()*t.rate, t.burst)
	}
	t.at = now
	if t.left -= float64(n + readCost); t.left >= 0 {
		return 0
	}
	return time.Duration(-t.left / t.rate * float64(time.Second))
}

// The limits of messages that belong to no request.
const (
	messageRate  = 1 << 20 // bytes in a second
	messageBurst = 4 << 20
)

func throttleMessages() *Throttle { return NewThrottle(messageRate, messageBurst) }
