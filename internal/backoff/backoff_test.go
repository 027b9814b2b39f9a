package backoff_test

import (
	"context"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"hatchel/internal/backoff"
)

const ms = time.Millisecond

// policies are the lines of the table in the documentation of Policy.
var policies = []struct {
	backoff.Policy
	pauses []time.Duration
}{
	{backoff.Policy{First: time.Second}, seconds(1, 1, 1, 1, 1, 1, 1, 1)},
	{backoff.Policy{First: time.Second, Max: 30 * time.Second}, seconds(1, 2, 4, 8, 16, 30, 30, 30)},
	{
		backoff.Policy{First: 50 * ms, Max: 450 * ms, Jitter: 1},
		[]time.Duration{50 * ms, 100 * ms, 200 * ms, 400 * ms, 450 * ms, 450 * ms, 450 * ms, 450 * ms},
	},
	{backoff.Policy{Steps: seconds(2, 5, 30)}, seconds(2, 5, 30, 30, 30, 30, 30, 30)},
	{backoff.Policy{Steps: seconds(0, 1), Jitter: 0.5}, seconds(0, 1, 1, 1)},
}

func seconds(numbers ...int) (all []time.Duration) {
	for _, n := range numbers {
		all = append(all, time.Duration(n)*time.Second)
	}
	return all
}

// bound returns the bound of a pause, which is reached only without jitter.
func bound(p backoff.Policy, least time.Duration) time.Duration {
	return least + time.Duration(p.Jitter*float64(least))
}

func TestPausesAreThoseOfTheTable(t *testing.T) {
	for _, p := range policies {
		for i, least := range p.pauses {
			seen := map[time.Duration]bool{}
			for range 100 {
				pause := p.Pause(i + 1)
				if pause < least || pause > bound(p.Policy, least) {
					t.Fatalf("%+v: the pause after %d failures is %v, want %v to %v",
						p.Policy, i+1, pause, least, bound(p.Policy, least))
				}
				seen[pause] = true
			}
			if varies := least > 0 && p.Jitter > 0; varies != (len(seen) > 1) {
				t.Errorf("%+v: 100 pauses after %d failures have %d values", p.Policy, i+1, len(seen))
			}
		}
	}
}

func TestPausesAreBoundedForAnyNumberOfFailures(t *testing.T) {
	for _, p := range policies {
		first, last := p.pauses[0], p.pauses[len(p.pauses)-1]
		for _, failures := range []int{math.MinInt, -1, 0} {
			if pause := p.Pause(failures); pause < first || pause > bound(p.Policy, first) {
				t.Errorf("%+v: the pause after %d failures is %v", p.Policy, failures, pause)
			}
		}
		for _, failures := range []int{64, 1000, math.MaxInt} {
			if pause := p.Pause(failures); pause < last || pause > bound(p.Policy, last) {
				t.Errorf("%+v: the pause after %d failures is %v", p.Policy, failures, pause)
			}
		}
	}
}

func TestAttemptsPauseUntilTheLoopIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var at []time.Duration
		for n := range (backoff.Policy{First: time.Second, Max: 4 * time.Second}).Attempts(t.Context()) {
			if at = append(at, time.Since(began)); n == 5 {
				break
			}
		}
		if want := seconds(0, 1, 3, 7, 11); !slices.Equal(at, want) {
			t.Errorf("attempts at %v, want %v", at, want)
		}
	})
}

func TestAttemptsEndWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 1500*ms)
		defer cancel()
		began, attempts := time.Now(), 0
		for n := range (backoff.Policy{First: time.Second}).Attempts(ctx) {
			attempts = n
		}
		if took := time.Since(began); attempts != 2 || took != 1500*ms {
			t.Errorf("%d attempts in %v, want 2 in 1.5s", attempts, took)
		}
		attempts = 0
		for n := range (backoff.Policy{Steps: seconds(0)}).Attempts(ctx) {
			attempts = n
		}
		if attempts != 1 {
			t.Errorf("%d attempts with a context that has ended, want the first one alone", attempts)
		}
	})
}
