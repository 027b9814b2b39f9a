package webhook

import (
	"time"

	"hatchel/internal/backoff"
)

// maxConcurrent is how many requests this process sends to one webhook at the same time.
const maxConcurrent = 8

// endpointState is what this process knows of the receiver of a webhook. After maxConcurrent
// failures in a row that concern the receiver as a whole it counts as unavailable: then a single
// delivery is attempted at growing intervals, and the others wait without using up their attempts.
type endpointState struct {
	sending     int             // requests in flight
	resolved    map[string]bool // deliveries that [Outbox.Resolve] has named
	settled     bool            // no delivery to it waits for the outcome of an event
	failures    int             // in a row
	pausedUntil time.Time       // until when nothing is sent; may be in the past
	lastError   string
}

// receiverBackoff is how often an unavailable receiver is tried again.
var receiverBackoff = backoff.Policy{
	Steps: []time.Duration{2 * time.Second, 5 * time.Second, 15 * time.Second, 30 * time.Second},
}

// maxPause limits how long a Retry-After header holds up all deliveries to a webhook.
const maxPause = time.Hour

// endpoint returns the state of a webhook. The caller holds mu.
func (o *Outbox) endpoint(hook string) *endpointState {
	e := o.endpoints[hook]
	if e == nil {
		e = &endpointState{resolved: map[string]bool{}}
		o.endpoints[hook] = e
	}
	return e
}

func (e *endpointState) unavailable() bool { return e.failures >= maxConcurrent }

// succeeded ends the backoff.
func (e *endpointState) succeeded() { e.failures, e.pausedUntil, e.lastError = 0, time.Time{}, "" }

// lastFailure returns the last error of an unavailable receiver, or an empty string.
func (e *endpointState) lastFailure() string {
	if e.unavailable() {
		return e.lastError
	}
	return ""
}

// freeSlots returns how many more requests may be sent.
func (e *endpointState) freeSlots() int {
	if e.unavailable() {
		return 1 - e.sending
	}
	return maxConcurrent - e.sending
}

// recordAttempt counts the result of an attempt; failed is nil after a success.
func (o *Outbox) recordAttempt(hook string, failed *failure, now time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	e := o.endpoint(hook)
	switch {
	case failed != nil && failed.stopped:
		return // it is no evidence about the receiver
	case failed == nil || !failed.unavailable:
		e.succeeded()
		return
	}
	e.failures++
	e.lastError = failed.message
	if e.unavailable() {
		pause := receiverBackoff.Pause(e.failures - maxConcurrent + 1)
		e.pausedUntil = now.Add(max(pause, min(failed.retryAfter, maxPause)))
	}
}

// stateOf returns what is known of the receiver of a webhook now.
func (o *Outbox) stateOf(hook string) endpointState {
	o.mu.Lock()
	defer o.mu.Unlock()
	return *o.endpoint(hook)
}
