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

type doing func(context.Context) error

func (d doing) Do(ctx context.Context, _ *adapters.Call) (adapters.Result, error) {
	return adapters.Result{}, d(ctx)
}

var (
	down    = &adapters.Fault{Message: "down", Down: true}
	refused = &adapters.Fault{Message: "no", Status: 404}
)

func through(t *testing.T, g *adapters.Guard, err error) error {
	t.Helper()
	_, got := g.Do(t.Context(), doing(func(context.Context) error { return err }), nil)
	return got
}

func open(t *testing.T, err error) bool {
	t.Helper()
	var f *adapters.Fault
	return errors.As(err, &f) && f.Untouched && strings.Contains(f.Message, "left alone") && f.After > 0
}

func TestABreakerOpensAfterFailuresInARow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := adapters.NewGuard("shop", hcl.ConnectionLimits{Breaker: &hcl.Breaker{Failures: 3, Window: 10 * time.Second, Cooldown: 20 * time.Second}})
		for _, err := range []error{down, down, nil, down, down, refused, down, down, errors.New("a fault of ours")} {
			if got := through(t, g, err); got != err {
				t.Fatalf("%v became %v", err, got)
			}
		}
		time.Sleep(11 * time.Second) // what failed before is out of the window
		through(t, g, down)
		through(t, g, down)
		if g.State() != "closed" {
			t.Fatalf("it is %s after two", g.State())
		}
		through(t, g, down)
		if got := through(t, g, nil); !open(t, got) || g.State() != "open" {
			t.Fatalf("it is %s after three, and answers %v", g.State(), got)
		}
		time.Sleep(20 * time.Second)
		if g.State() != "half-open" {
			t.Errorf("it is %s after the cooldown", g.State())
		}
		_, tried := g.Do(t.Context(), doing(func(context.Context) error {
			if got := through(t, g, nil); !open(t, got) {
				t.Errorf("beside the one that tries: %v", got)
			}
			return down
		}), nil)
		if tried != down || g.State() != "open" {
			t.Errorf("the one that tried got %v, and the breaker is %s", tried, g.State())
		}
		time.Sleep(20 * time.Second)
		if got := through(t, g, refused); got != refused || g.State() != "closed" {
			t.Errorf("an answer that refuses leaves it %s: %v", g.State(), got)
		}
	})
}

func TestATrialThatSaysNothingIsFollowedByAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := adapters.NewGuard("shop", hcl.ConnectionLimits{Breaker: &hcl.Breaker{Failures: 1, Window: time.Second, Cooldown: time.Second}})
		through(t, g, down)
		time.Sleep(time.Second)
		func() {
			defer func() { _ = recover() }()
			g.Do(t.Context(), doing(func(context.Context) error { panic("the adapter") }), nil)
		}()
		gone, cancel := context.WithCancel(t.Context())
		g.Do(gone, doing(func(ctx context.Context) error { cancel(); return ctx.Err() }), nil)
		if got := through(t, g, nil); got != nil || g.State() != "closed" {
			t.Errorf("%v, %s", got, g.State())
		}
	})
}

func TestNoAnswerInTimeIsAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := adapters.NewGuard("shop", hcl.ConnectionLimits{Breaker: &hcl.Breaker{Failures: 1, Window: time.Second, Cooldown: time.Second}})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		g.Do(ctx, doing(func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }), nil)
		if g.State() != "open" {
			t.Errorf("it is %s", g.State())
		}
	})
}

func TestABulkheadHoldsSoManyAndNoMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := adapters.NewGuard("shop", hcl.ConnectionLimits{Concurrency: 2})
		release := make(chan struct{})
		running, most := make(chan int, 10), 0
		for range 5 {
			go g.Do(t.Context(), doing(func(context.Context) error { running <- 1; <-release; <-running; return nil }), nil)
		}
		synctest.Wait()
		if most = len(running); most != 2 {
			t.Errorf("%d run at once", most)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := g.Do(ctx, doing(func(context.Context) error { t.Error("it runs"); return nil }), nil)
		var f *adapters.Fault
		if !errors.As(err, &f) || !f.Untouched || !strings.Contains(f.Message, "busy") {
			t.Errorf("one that cannot wait is told %v", err)
		}
		close(release)
		synctest.Wait()
		if through(t, g, nil) != nil {
			t.Error("what has ended keeps its place")
		}
	})
}

func TestNoGuardIsNone(t *testing.T) {
	g := adapters.NewGuard("shop", hcl.ConnectionLimits{})
	if g != nil || g.State() != "" || through(t, g, down) != down {
		t.Error("there is one")
	}
}
