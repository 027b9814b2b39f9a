package adapters_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hatchel/adapters"
	"hatchel/hcl"
)

// turns gives a turn each interval.
type turns struct {
	interval  time.Duration
	next      time.Time
	postponed time.Duration
	err       error
}

func (t *turns) Reserve(_ context.Context, maxWait time.Duration) (time.Duration, bool, error) {
	wait := max(time.Until(t.next), 0)
	if wait > maxWait || t.err != nil {
		return wait, false, t.err
	}
	t.next = time.Now().Add(wait + t.interval)
	return wait, true, nil
}

func (t *turns) Postpone(_ context.Context, pause time.Duration) error {
	t.postponed = pause
	return t.err
}

func spaced(interval time.Duration) *turns { return &turns{interval: interval} }

func newPacedGuard(of adapters.Turns) *adapters.ConnectionGuard {
	limits := hcl.ConnectionLimits{Rate: hcl.Rate{Calls: 1, Per: time.Minute}}
	return adapters.NewConnectionGuard("shop", limits, of)
}

type pacedAction func(ctx context.Context, p *adapters.Pace) error

func (f pacedAction) Do(ctx context.Context, c *adapters.Call) (any, error) {
	return nil, f(ctx, c.Pace)
}

func TestRateOfAConnection(t *testing.T) {
	nothing := pacedAction(func(context.Context, *adapters.Pace) error { return nil })
	for claim, test := range map[string]func(*testing.T){
		"spaces calls": func(t *testing.T) {
			g, began := newPacedGuard(spaced(time.Minute)), time.Now()
			for range 3 {
				if _, err := g.Do(t.Context(), nothing, &adapters.Call{}); err != nil {
					t.Fatal(err)
				}
			}
			if took := time.Since(began); took != 2*time.Minute {
				t.Errorf("three calls took %v", took)
			}
		},
		"spaces the requests of one call": func(t *testing.T) {
			g, began := newPacedGuard(spaced(time.Minute)), time.Now()
			twice := pacedAction(func(ctx context.Context, p *adapters.Pace) error { return p.Wait(ctx) })
			if _, err := g.Do(t.Context(), twice, &adapters.Call{}); err != nil || time.Since(began) != time.Minute {
				t.Errorf("%v after %v", err, time.Since(began))
			}
		},
		"refuses a call that cannot wait, at once": func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			g, began := newPacedGuard(spaced(time.Minute)), time.Now()
			_, _ = g.Do(ctx, nothing, &adapters.Call{})
			_, err := g.Do(ctx, nothing, &adapters.Call{})
			var f *adapters.Fault
			const want = `requests to "shop" are limited to 1 a minute, and the next turn is later than this call can wait; ` +
				`this request was not sent. Try again in 1m0s`
			if !errors.As(err, &f) || f.Error() != want || !f.NotSent || f.RetryAfter != time.Minute || time.Since(began) != 0 {
				t.Errorf("%v after %v", err, time.Since(began))
			}
		},
		"waits as long as the service asks for": func(t *testing.T) {
			all := spaced(0)
			g, began := newPacedGuard(all), time.Now()
			refused := pacedAction(func(ctx context.Context, p *adapters.Pace) error { p.Postpone(ctx, 7*time.Second); return nil })
			_, _ = g.Do(t.Context(), refused, &adapters.Call{})
			if _, err := g.Do(t.Context(), nothing, &adapters.Call{}); err != nil || time.Since(began) != 7*time.Second || all.postponed != 7*time.Second {
				t.Errorf("%v after %v, other processes after %v", err, time.Since(began), all.postponed)
			}
		},
		"holds back a request that waited for its turn when the service asks": func(t *testing.T) {
			g, began := newPacedGuard(spaced(5*time.Second)), time.Now()
			refused := pacedAction(func(ctx context.Context, p *adapters.Pace) error {
				time.Sleep(time.Second)
				p.Postpone(ctx, time.Minute)
				return nil
			})
			go g.Do(t.Context(), refused, &adapters.Call{})
			synctest.Wait()
			if _, err := g.Do(t.Context(), nothing, &adapters.Call{}); err != nil || time.Since(began) < time.Minute {
				t.Errorf("%v after %v", err, time.Since(began))
			}
		},
		"says that the service asks for a longer pause than a call has": func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			g := newPacedGuard(spaced(0))
			refused := pacedAction(func(ctx context.Context, p *adapters.Pace) error { p.Postpone(ctx, time.Hour); return nil })
			_, _ = g.Do(ctx, refused, &adapters.Call{})
			if _, err := g.Do(ctx, nothing, &adapters.Call{}); err == nil || !strings.Contains(err.Error(), "the service has asked for a pause; this request was not sent. Try again in 1h0m0s") {
				t.Error(err)
			}
		},
		"sends nothing that cannot be counted": func(t *testing.T) {
			g := newPacedGuard(&turns{err: errors.New("disk")})
			sent := pacedAction(func(context.Context, *adapters.Pace) error { t.Error("sent"); return nil })
			if _, err := g.Do(t.Context(), sent, &adapters.Call{}); err == nil || !strings.Contains(err.Error(), "the state store that counts them is unavailable") {
				t.Error(err)
			}
		},
	} {
		t.Run(claim, func(t *testing.T) { synctest.Test(t, test) })
	}
}
