package http

import (
	"context"
	"math/rand/v2"
	nethttp "net/http"
	"slices"
	"strconv"
	"time"

	"hatchel/hcl"
)

// retry is a retry block.
type retry struct {
	Attempts int
	On       []string
	Backoff  time.Duration
}

const (
	defaultAttempts = 3
	maxAttempts     = 10
	defaultBackoff  = 200 * time.Millisecond
	longestBackoff  = 10 * time.Second
	longestWait     = 60 * time.Second // that a service may ask for
	network         = "network"
)

func (r *retry) spec() hcl.Spec {
	r.Attempts, r.Backoff = defaultAttempts, defaultBackoff
	return hcl.Spec{
		hcl.Attr(&r.Attempts, "attempts", "How often a request is sent at most.").DefaultDoc("3"),
		hcl.Attr(&r.On, "on", "The statuses that are worth another attempt, and \"network\" for a connection that fails or breaks. A request that may not be repeated is never sent again once a connection broke under it.").DefaultDoc(`["429", "502", "503", "504", "network"], for a request that may not be repeated ["429", "503", "network"]`),
		hcl.Attr(&r.Backoff, "backoff", "How long to wait before the second attempt; it doubles from there and varies at random. A Retry-After of up to a minute is obeyed.").DefaultDoc(`"200ms"`),
	}
}

func (r *retry) check() (errs []error) {
	if r.Attempts < 1 || r.Attempts > maxAttempts {
		errs = append(errs, hcl.Blame(&r.Attempts, "attempts is between 1 and %d.", maxAttempts))
	}
	for _, on := range r.On {
		if _, err := parseStatus(on); on != network && err != nil {
			errs = append(errs, hcl.Blame(&r.On, "%v Or write %q for connections that fail or break.", err, network))
		}
	}
	return errs
}

// A policy is a retry block that was checked.
type policy struct {
	attempts int
	on       statuses
	network  bool
	chosen   bool // the author wrote which failures
	backoff  time.Duration
}

var (
	passing  = statuses{{429, 429}, {502, 504}}
	rejected = statuses{{429, 429}, {503, 503}} // the request was certainly not carried out
)

func (r *retry) policy() *policy {
	p := &policy{attempts: r.Attempts, network: r.On == nil || slices.Contains(r.On, network), chosen: r.On != nil, backoff: r.Backoff, on: passing}
	if p.chosen {
		p.on, _ = parseStatuses(slices.DeleteFunc(slices.Clone(r.On), func(s string) bool { return s == network }))
	}
	return p
}

// forUnsafe is the policy for a request whose repetition could do its work twice.
func (p *policy) forUnsafe() *policy {
	if p.chosen {
		return p
	}
	c := *p
	c.on = rejected
	return &c
}

// again says whether a failure is worth another attempt, and after how long.
func (p *policy) again(f *failure, attempt int, repeatable bool) (time.Duration, bool) {
	if p == nil || attempt >= p.attempts || f.final {
		return 0, false
	}
	switch {
	case f.status != 0:
		if !p.on.has(f.status) {
			return 0, false
		}
	case !p.network || !repeatable && !f.unsent:
		return 0, false
	}
	if f.after > longestWait {
		return 0, false
	}
	wait := min(p.backoff<<(attempt-1), longestBackoff)
	wait = wait/2 + rand.N(wait/2+1)
	return max(wait, f.after), true
}

// pause waits, and reports false when the call ends before or could not go on after.
func pause(ctx context.Context, wait time.Duration) bool {
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= wait {
		return false
	}
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// retryAfter reads how long a service asks to wait; 0 when it does not say.
func retryAfter(h nethttp.Header) time.Duration {
	text := h.Get("Retry-After")
	if seconds, err := strconv.Atoi(text); err == nil && seconds > 0 {
		return time.Duration(min(seconds, 24*3600)) * time.Second
	}
	if at, err := nethttp.ParseTime(text); err == nil {
		return max(time.Until(at), 0)
	}
	return 0
}
