package webhook

import "time"

// A streak is how many tries to deliver to one webhook have failed in a row because its receiver is not there, as this process has seen it. From as many as are sent at once
// the receiver is away: then one delivery is tried at a time, ever more rarely, and the others wait, so that an outage does not wear out what stands behind the store, and
// what was never tried is delivered as soon as the receiver is back.
type streak struct {
	failed int
	rest   time.Time // until which nothing is tried
	said   string    // of what the last one failed
}

// rests are how long nothing is tried after each failure of a receiver that is away, and after all others.
var rests = [...]time.Duration{2 * time.Second, 5 * time.Second, 15 * time.Second, 30 * time.Second}

// longestRest is the most that a receiver which asks to wait is left alone by all deliveries.
const longestRest = time.Hour

// away reports whether the receiver is.
func (s *streak) away() bool { return s != nil && s.failed >= most }

// saw counts what came of a try; nil when the receiver has taken it.
func (o *Outbox) saw(hook string, why *failure, now time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case why != nil && why.stopped:
		return // it says nothing of the receiver
	case why == nil || !why.away:
		delete(o.streaks, hook)
		return
	}
	s := o.streaks[hook]
	if s == nil {
		s = &streak{}
		o.streaks[hook] = s
	}
	s.failed++
	s.said = why.said
	if s.away() {
		pause := max(rests[min(s.failed-most, len(rests)-1)], min(why.after, longestRest))
		s.rest = now.Add(pause)
	}
}

// rest is until when nothing is tried to deliver to a webhook; in the past when something may be.
func (o *Outbox) rest(hook string) (until time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if s := o.streaks[hook]; s != nil {
		until = s.rest
	}
	return until
}

// absence is of what the receiver of a webhook that is away has failed last, and empty when it is not away.
func (o *Outbox) absence(hook string) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if s := o.streaks[hook]; s.away() {
		return s.said
	}
	return ""
}
