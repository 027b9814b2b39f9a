package http

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/internal/backoff"
	"hatchel/internal/ctxtime"
	"hatchel/internal/lazyregexp"
)

// retry is a retry block.
type retry struct {
	Attempts int
	On       hcl.Statuses
	Backoff  time.Duration
}

const (
	defaultAttempts = 3
	maxAttempts     = 10
	defaultBackoff  = 200 * time.Millisecond
	maxBackoff      = 10 * time.Second
	maxRetryAfter   = 60 * time.Second
	onNetwork       = "network" // value of the argument on
)

func (r *retry) spec() hcl.Spec {
	r.Attempts, r.Backoff = defaultAttempts, defaultBackoff
	return hcl.Spec{
		hcl.Attr(&r.Attempts, "attempts", "The maximum number of attempts, including the first one.").DefaultDoc("3"),
		hcl.Attr(&r.On, "on", "The statuses after which a request is retried, and \"network\" for connections that "+
			"fail or break. A request that is not safe to repeat is never retried once it may have been sent.").
			DefaultDoc(`["429", "502", "503", "504", "network"]; for requests that are not safe to repeat ` +
				`["429", "503", "network"]`),
		hcl.Attr(&r.Backoff, "backoff", "The delay before the second attempt. It doubles with every attempt and is "+
			"randomised. A Retry-After header of up to a minute is obeyed.").DefaultDoc(`"200ms"`),
	}
}

func (r *retry) check(checks *adapters.Checks) {
	checks.Refuse(r.Attempts < 1 || r.Attempts > maxAttempts, &r.Attempts,
		"attempts must be between 1 and %d.", maxAttempts)
	for _, on := range r.On {
		_, err := parseStatuses([]string{on})
		checks.Refuse(err != nil && on != onNetwork, &r.On, "%v. Or write %q for connections that fail or break.",
			err, onNetwork)
	}
}

// retryPolicy is a retry block in the form used by calls. A nil policy retries nothing.
type retryPolicy struct {
	*retry
	statuses statuses
	network  bool
}

var (
	retryableStatuses = statuses{{429, 429}, {502, 504}}
	// notExecutedStatuses mean that the service has certainly not carried out the request.
	notExecutedStatuses = statuses{{429, 429}, {503, 503}}
)

// policy returns the policy for requests that are safe to repeat, or not.
func (r *retry) policy(repeatable bool) *retryPolicy {
	p := &retryPolicy{retry: r, statuses: retryableStatuses, network: true}
	switch {
	case r.On != nil:
		p.network = slices.Contains(r.On, onNetwork)
		isNetwork := func(s string) bool { return s == onNetwork }
		p.statuses, _ = parseStatuses(slices.DeleteFunc(slices.Clone(r.On), isNetwork))
	case !repeatable:
		p.statuses = notExecutedStatuses
	}
	return p
}

// next reports whether a failed attempt is retried, and the delay before that.
func (p *retryPolicy) next(f *failure, attempt int, repeatable bool) (time.Duration, bool) {
	switch {
	case p == nil, attempt >= p.Attempts, f.permanent, f.RetryAfter > maxRetryAfter,
		f.Status != 0 && !p.statuses.contains(f.Status),
		f.Status == 0 && (!p.network || !repeatable && !f.unsent):
		return 0, false
	}
	return max(p.backoff().Pause(attempt), f.RetryAfter), true
}

// backoff returns the delays. They are randomised from the half of what the block says.
func (r *retry) backoff() backoff.Policy {
	return backoff.Policy{First: min(r.Backoff, maxBackoff) / 2, Max: maxBackoff / 2, Jitter: 1}
}

// waitForRetry waits, and reports whether the call has time left afterwards. It does not wait if the
// deadline of the call is earlier, and not for a mock.
func (s *service) waitForRetry(ctx context.Context, wait time.Duration) bool {
	deadline, ok := ctx.Deadline()
	if ok && time.Until(deadline) <= wait {
		return false
	}
	if s.mocks != nil {
		wait = 0
	}
	return ctxtime.Sleep(ctx, wait) == nil
}

// statuses are the statuses that patterns such as "2xx" and "404" match.
type statuses []statusRange

type statusRange struct{ from, to int }

func (s statuses) contains(status int) bool {
	return slices.ContainsFunc(s, func(r statusRange) bool { return r.from <= status && status <= r.to })
}

var statusPattern = lazyregexp.New(`^[1-5](\d\d|[xX]{2})$`)

// parseStatuses parses patterns such as "2xx" and "404".
func parseStatuses(patterns []string) (all statuses, err error) {
	for _, p := range patterns {
		if !statusPattern.MatchString(p) {
			return nil, fmt.Errorf(`%q is not a status. Write one such as "404", or a class such as "2xx"`, p)
		}
		status, err := strconv.Atoi(p)
		if err != nil { // a class
			from := int(p[0]-'0') * 100
			all = append(all, statusRange{from, from + 99})
			continue
		}
		all = append(all, statusRange{status, status})
	}
	return all, nil
}
