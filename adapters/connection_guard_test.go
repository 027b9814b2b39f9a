package adapters_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/internal/ctxtime"
)

// pages is an action that asks for a page a second, until ctx ends.
type pages struct{}

func (pages) Do(ctx context.Context, call *adapters.Call) (any, error) {
	for ctx.Err() == nil {
		call.Asked = time.Now()
		ctxtime.Sleep(ctx, time.Second)
	}
	return nil, ctx.Err()
}

type actionFunc func(context.Context) error

func (f actionFunc) Do(ctx context.Context, _ *adapters.Call) (any, error) {
	return nil, f(ctx)
}

var (
	down     = &adapters.Fault{Message: "down", Unavailable: true}
	rejected = &adapters.Fault{Message: "no", Status: 404}
)

func newBreaker(failures int, window, cooldown time.Duration) *adapters.ConnectionGuard {
	breaker := &hcl.Breaker{Failures: failures, Window: window, Cooldown: cooldown}
	return adapters.NewConnectionGuard("shop", hcl.ConnectionLimits{Breaker: breaker}, nil)
}

// callWith makes a call through the guard whose action returns an error.
func callWith(t *testing.T, g *adapters.ConnectionGuard, err error) error {
	t.Helper()
	_, got := g.Do(t.Context(), actionFunc(func(context.Context) error { return err }), &adapters.Call{})
	return got
}

func isSuspended(err error) bool {
	var f *adapters.Fault
	return errors.As(err, &f) && f.NotSent && strings.Contains(f.Message, "suspended") && f.RetryAfter > 0
}

func wantState(t *testing.T, g *adapters.ConnectionGuard, want string) {
	t.Helper()
	if got := g.State(); got != want {
		t.Errorf("the breaker is %s, want %s", got, want)
	}
}

func TestBreaker(t *testing.T) {
	// openBreaker returns a breaker that three failures have opened.
	openBreaker := func(t *testing.T) *adapters.ConnectionGuard {
		g := newBreaker(3, 10*time.Second, 20*time.Second)
		for range 3 {
			callWith(t, g, down)
		}
		return g
	}
	for name, test := range map[string]func(*testing.T){
		"opens after consecutive failures": func(t *testing.T) {
			g := openBreaker(t)
			wantState(t, g, "open")
			if err := callWith(t, g, nil); !isSuspended(err) {
				t.Errorf("got %v", err)
			}
		},
		"returns the results of calls while it is closed": func(t *testing.T) {
			g := newBreaker(3, 10*time.Second, 20*time.Second)
			for _, err := range []error{down, down, nil, down, down, rejected, down, down, errors.New("internal")} {
				if got := callWith(t, g, err); got != err {
					t.Fatalf("%v became %v", err, got)
				}
			}
			wantState(t, g, "closed")
		},
		"ignores failures outside of its window": func(t *testing.T) {
			g := newBreaker(3, 10*time.Second, 20*time.Second)
			callWith(t, g, down)
			time.Sleep(11 * time.Second)
			callWith(t, g, down)
			callWith(t, g, down)
			wantState(t, g, "closed")
		},
		"accepts one trial after the cooldown": func(t *testing.T) {
			g := openBreaker(t)
			time.Sleep(20 * time.Second)
			wantState(t, g, "half-open")
			_, err := g.Do(t.Context(), actionFunc(func(context.Context) error {
				if err := callWith(t, g, nil); !isSuspended(err) {
					t.Errorf("a second call during the trial returned %v", err)
				}
				return down
			}), &adapters.Call{})
			if err != down {
				t.Errorf("the trial returned %v", err)
			}
			wantState(t, g, "open")
		},
		"closes after a trial that the backend rejects": func(t *testing.T) {
			g := openBreaker(t)
			time.Sleep(20 * time.Second)
			if err := callWith(t, g, rejected); err != rejected {
				t.Errorf("the trial returned %v", err)
			}
			wantState(t, g, "closed")
		},
		"accepts another trial after a panic or a canceled call": func(t *testing.T) {
			g := newBreaker(1, time.Second, time.Second)
			callWith(t, g, down)
			time.Sleep(time.Second)
			func() {
				defer func() { _ = recover() }()
				g.Do(t.Context(), actionFunc(func(context.Context) error { panic("in the adapter") }), &adapters.Call{})
			}()
			ctx, cancel := context.WithCancel(t.Context())
			g.Do(ctx, actionFunc(func(ctx context.Context) error { cancel(); return ctx.Err() }), &adapters.Call{})
			if err := callWith(t, g, nil); err != nil {
				t.Errorf("the third trial returned %v", err)
			}
			wantState(t, g, "closed")
		},
		"counts a timeout as a failure": func(t *testing.T) {
			g := newBreaker(1, time.Second, time.Second)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			g.Do(ctx, actionFunc(func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }), &adapters.Call{})
			wantState(t, g, "open")
		},
		"does not count a timeout that earlier steps used up": func(t *testing.T) {
			g := newBreaker(1, time.Second, time.Second)
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
			defer cancel()
			wait := actionFunc(func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
			g.Do(ctx, wait, &adapters.Call{Timeout: time.Minute})
			wantState(t, g, "closed")
		},
		"does not count a timeout among pages that came in time": func(t *testing.T) {
			g := newBreaker(1, time.Second, time.Second)
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			g.Do(ctx, pages{}, &adapters.Call{Timeout: 10 * time.Second})
			wantState(t, g, "closed")
		},
		"counts a timeout after an attempt that failed": func(t *testing.T) {
			g := newBreaker(1, time.Second, time.Second)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			g.Do(ctx, actionFunc(func(ctx context.Context) error { <-ctx.Done(); return down }), &adapters.Call{Timeout: time.Minute})
			wantState(t, g, "open")
		},
		"does not count a call that sent nothing in all its time": func(t *testing.T) {
			g := newBreaker(1, time.Second, time.Second)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			busy := actionFunc(func(ctx context.Context) error { <-ctx.Done(); return &adapters.Fault{NotSent: true} })
			g.Do(ctx, busy, &adapters.Call{Timeout: time.Second})
			wantState(t, g, "closed")
		},
	} {
		t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
	}
}

func TestConcurrencyLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := adapters.NewConnectionGuard("shop", hcl.ConnectionLimits{Concurrency: 2}, nil)
		release := make(chan struct{})
		running := make(chan int, 10)
		action := actionFunc(func(context.Context) error { running <- 1; <-release; <-running; return nil })
		for range 5 {
			go g.Do(t.Context(), action, &adapters.Call{})
		}
		synctest.Wait()
		if n := len(running); n != 2 {
			t.Errorf("%d calls run concurrently", n)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := g.Do(ctx, actionFunc(func(context.Context) error { t.Error("the call was run"); return nil }), &adapters.Call{})
		var f *adapters.Fault
		if !errors.As(err, &f) || !f.NotSent || !strings.Contains(f.Message, "busy") {
			t.Errorf("a call that timed out while waiting returned %v", err)
		}
		close(release)
		synctest.Wait()
		if callWith(t, g, nil) != nil {
			t.Error("an ended call still holds its slot")
		}
	})
}

func TestNoGuardWithoutLimits(t *testing.T) {
	g := adapters.NewConnectionGuard("shop", hcl.ConnectionLimits{}, nil)
	if g != nil || g.State() != "" || callWith(t, g, down) != down {
		t.Error("there is a guard")
	}
}

func TestAnOpenBreakerSaysWhyWithoutWhatWasReceived(t *testing.T) {
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}
	for want, err := range map[string]error{
		"the last call was answered with status 503":         &adapters.Fault{Message: "it says hunter2", Status: 503, Unavailable: true},
		"the last call failed: dial tcp: connection refused": &adapters.Fault{Message: "hunter2", Cause: refused, Unavailable: true},
		"the last call timed out":                            &adapters.Fault{Message: "hunter2", Cause: context.DeadlineExceeded, Unavailable: true},
		"the last call found it unavailable":                 &adapters.Fault{Message: "hunter2", Unavailable: true},
	} {
		g := newBreaker(2, time.Minute, time.Minute)
		callWith(t, g, err)
		if got := g.Reason(); got != "" {
			t.Errorf("a closed breaker says %q", got)
		}
		callWith(t, g, err)
		if got := g.Reason(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
