package adapters

import (
	"context"
	"fmt"
	"sync"
	"time"

	"hatchel/hcl"
	"hatchel/internal/ctxtime"
)

// Pace spaces the requests over a connection with a rate. It is safe for concurrent use. A nil Pace limits nothing.
type Pace struct {
	name  string
	rate  hcl.Rate
	turns Turns

	mu        sync.Mutex
	notBefore time.Time // no request is sent before; guarded by mu
}

// Turns counts the requests over a connection, for all processes that share a state store.
type Turns interface {
	// Reserve takes the next turn, and returns how long that has to be waited for. If the wait is longer than maxWait,
	// it takes no turn and reports false.
	Reserve(ctx context.Context, maxWait time.Duration) (wait time.Duration, ok bool, err error)
	// Postpone lets the next turn that is not taken yet begin after a pause.
	Postpone(ctx context.Context, pause time.Duration) error
}

// unlimitedWait is how long a request without a deadline waits for its turn at most.
const unlimitedWait = 24 * time.Hour

// Wait waits for the turn of a request. It returns a *Fault at once if the turn is later than the deadline of ctx.
func (p *Pace) Wait(ctx context.Context) error {
	if p == nil {
		return nil
	}
	maxWait := unlimitedWait
	if deadline, ok := ctx.Deadline(); ok {
		maxWait = time.Until(deadline)
	}
	for until := time.Now().Add(maxWait); ; {
		if pause := p.pause(); pause > time.Until(until) {
			return p.refuse("the service has asked for a pause", pause)
		} else if err := ctxtime.Sleep(ctx, pause); err != nil {
			return err
		}
		wait, ok, err := p.turns.Reserve(ctx, time.Until(until))
		switch {
		case err != nil:
			const text = "requests to %q are limited to %s, and the state store that counts them is unavailable; " +
				"this request was not sent"
			return &Fault{
				Message: fmt.Sprintf(text, p.name, p.rate), Advice: "Try again in a moment", Cause: err, NotSent: true,
			}
		case !ok:
			return p.refuse("the next turn is later than this call can wait", wait)
		}
		if err := ctxtime.Sleep(ctx, wait); err != nil {
			return err
		}
		if p.pause() == 0 {
			return nil
		}
	}
}

// Postpone lets no request be sent for d, because the service has asked for that. Requests of this process that wait
// for their turn already are held back, too.
func (p *Pace) Postpone(ctx context.Context, d time.Duration) {
	if p == nil || d == 0 {
		return
	}
	p.mu.Lock()
	if until := time.Now().Add(d); until.After(p.notBefore) {
		p.notBefore = until
	}
	p.mu.Unlock()
	_ = p.turns.Postpone(ctx, d) // a store that fails also refuses the next turn, and says why
}

// pause returns how long no request is sent yet.
func (p *Pace) pause() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return max(time.Until(p.notBefore), 0)
}

func (p *Pace) refuse(reason string, wait time.Duration) error {
	wait = max(wait.Round(time.Second), time.Second)
	const text = "requests to %q are limited to %s, and %s; this request was not sent"
	return &Fault{
		Message: fmt.Sprintf(text, p.name, p.rate, reason), Advice: fmt.Sprintf("Try again in %v", wait),
		NotSent: true, RetryAfter: wait,
	}
}
