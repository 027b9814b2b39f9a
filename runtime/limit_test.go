package runtime

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hatchel/adapters"
	"hatchel/runtime/edge/mcp"
)

// callAs calls a tool as somebody, and returns the result as it is sent.
func callAs(t testing.TB, h *Host, who, tool, arguments string) string {
	t.Helper()
	return callWithContext(t.Context(), h, who, tool, arguments)
}

func callWithContext(ctx context.Context, h *Host, who, tool, arguments string) string {
	return callWithin(ctx, h, &mcp.CallRequest{Name: tool, Arguments: []byte(arguments), Caller: &mcp.Caller{Revision: mcp.Revision20260728, Subject: who}})
}

func isLimited(said string) bool {
	return strings.Contains(said, `"isError":true`) && strings.Contains(said, "Too many calls") && strings.Contains(said, "Try again") && strings.Contains(said, `"retryAfter":`)
}

func TestARateIsHeldForEachCaller(t *testing.T) {
	const src = `tool "x" {
		description = "x"
		limit {
			rate  = "6/m"
			burst = 3
		}
		text = "done"
	}`
	inBubble(t, src, new(fakeBackend).use, func(t *testing.T, h *Host) {
		for i := range 3 {
			if said := callAs(t, h, "ann", "x", `{}`); isLimited(said) {
				t.Fatalf("call %d: %s", i, said)
			}
		}
		said := callAs(t, h, "ann", "x", `{}`)
		if !isLimited(said) || !strings.Contains(said, "at most 6 a minute") || !strings.Contains(said, "Try again in 10s") || !strings.Contains(said, `"retryAfter":10`) {
			t.Errorf("the fourth: %s", said)
		}
		if said := callAs(t, h, "ben", "x", `{}`); isLimited(said) {
			t.Errorf("another caller: %s", said)
		}
		time.Sleep(9 * time.Second)
		load(t, h, src+"\n# changed\n")
		if said := callAs(t, h, "ann", "x", `{}`); !isLimited(said) {
			t.Errorf("after a reload: %s", said)
		}
		time.Sleep(time.Second)
		if said := callAs(t, h, "ann", "x", `{}`); isLimited(said) {
			t.Errorf("when it was to come back: %s", said)
		}
		time.Sleep(time.Hour)
		for range 3 {
			callAs(t, h, "ann", "x", `{}`)
		}
		if said := callAs(t, h, "ann", "x", `{}`); !isLimited(said) {
			t.Errorf("an hour without calls makes room for more than the burst: %s", said)
		}
	})
}

func TestALimitOfTheToolIsSharedByItsCallers(t *testing.T) {
	inBubble(t, `tool "x" {
		description = "x"
		limit {
			rate = "1/m"
			per  = "tool"
		}
		text = "done"
	}`, new(fakeBackend).use, func(t *testing.T, h *Host) {
		callAs(t, h, "ann", "x", `{}`)
		if said := callAs(t, h, "ben", "x", `{}`); !isLimited(said) || !strings.Contains(said, "by all callers") {
			t.Error(said)
		}
	})
}

// slowBackend is a backend whose block "slow" runs until the test ends it, and counts how many run.
type slowBackend struct {
	fakeBackend
	running chan struct{}
	end     chan struct{}
}

func newSlowBackend() *slowBackend {
	s := &slowBackend{running: make(chan struct{}, 1000)}
	s.do = map[string]func(context.Context, *adapters.Call) (any, error){"slow": func(ctx context.Context, c *adapters.Call) (any, error) {
		s.running <- struct{}{}
		defer func() { <-s.running }()
		select {
		case <-s.end:
			return "done", nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}}
	return s
}

func TestNoMoreRunAtOnceThanTheLimitSays(t *testing.T) {
	s := newSlowBackend()
	inBubble(t, `tool "x" {
		description = "x"
		limit {
			concurrency = 2
			queue       = 2
			max_wait        = "5s"
		}
		fake { do = "slow" }
	}`, s.use, func(t *testing.T, h *Host) {
		s.end = make(chan struct{})
		said := make(chan string, 10)
		for range 5 {
			go func() { said <- callAs(t, h, "ann", "x", `{}`) }()
		}
		synctest.Wait()
		if len(s.running) != 2 || len(said) != 1 {
			t.Fatalf("%d run, and %d were refused", len(s.running), len(said))
		}
		if s := <-said; !isLimited(s) || !strings.Contains(s, "at most 2 run at a time") {
			t.Error(s)
		}
		if s := callWithContext(contextWithTimeout(t, time.Second), h, "ann", "x", `{}`); !isLimited(s) {
			t.Errorf("one more: %s", s)
		}
		s.end <- struct{}{}
		synctest.Wait()
		if got := <-said; isLimited(got) || len(s.running) != 2 {
			t.Errorf("one has ended: %s; %d run", got, len(s.running))
		}
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if got := <-said; !isLimited(got) {
			t.Errorf("one has waited too long: %s", got)
		}
		close(s.end)
		for range 2 {
			if got := <-said; isLimited(got) {
				t.Error(got)
			}
		}
		if got := callAs(t, h, "ann", "x", `{}`); isLimited(got) {
			t.Errorf("a place is lost: %s", got)
		}
	})
}

func contextWithTimeout(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

func TestWhoeverGoesAwayGivesUpItsPlace(t *testing.T) {
	s := newSlowBackend()
	inBubble(t, `tool "x" {
		description = "x"
		limit {
			concurrency = 1
			queue       = 5
			max_wait        = "1h"
		}
		fake { do = "slow" }
	}`, s.use, func(t *testing.T, h *Host) {
		s.end = make(chan struct{})
		said := make(chan string, 10)
		go func() { said <- callAs(t, h, "ann", "x", `{}`) }()
		synctest.Wait()
		gone, cancel := context.WithCancel(t.Context())
		for range 3 {
			go func() { said <- callWithContext(gone, h, "ann", "x", `{}`) }()
		}
		synctest.Wait()
		go func() { said <- callAs(t, h, "ann", "x", `{}`) }()
		synctest.Wait()
		cancel()
		for range 3 {
			if got := <-said; !strings.Contains(got, "cancelled") {
				t.Error(got)
			}
		}
		close(s.end)
		for range 2 {
			if got := <-said; !strings.Contains(got, "done") {
				t.Error(got)
			}
		}
	})
}

func TestAQueueAlsoWaitsForTheRate(t *testing.T) {
	inBubble(t, `tool "x" {
		description = "x"
		limit {
			rate  = "1/s"
			queue = 2
			max_wait  = "10s"
		}
		text = "done"
	}`, new(fakeBackend).use, func(t *testing.T, h *Host) {
		began := time.Now()
		said := make(chan string, 10)
		for range 4 {
			go func() { said <- callAs(t, h, "ann", "x", `{}`) }()
		}
		refused := 0
		for range 4 {
			if isLimited(<-said) {
				refused++
			}
		}
		if took := time.Since(began); refused != 1 || took != 2*time.Second {
			t.Errorf("%d of four are refused, and the others took %v", refused, took)
		}
	})
}

func TestTheServersLimitCountsAllToolsAndNoSteps(t *testing.T) {
	s := newSlowBackend()
	inBubble(t, `
	server {
		limit { concurrency = 1 }
	}
	tool "inner" {
		description = "x"
		text        = "done"
	}
	tool "outer" {
		description = "x"
		step "a" {
			tool "inner" {}
		}
		text = "${step.a.text}"
	}
	tool "slow" {
		description = "x"
		fake { do = "slow" }
	}`, s.use, func(t *testing.T, h *Host) {
		if got := callAs(t, h, "ann", "outer", `{}`); !strings.Contains(got, "done") {
			t.Errorf("a step counts: %s", got)
		}
		s.end = make(chan struct{})
		said := make(chan string)
		go func() { said <- callAs(t, h, "ann", "slow", `{}`) }()
		synctest.Wait()
		if got := callAs(t, h, "ann", "inner", `{}`); !isLimited(got) || !strings.Contains(got, "the tools of this server") {
			t.Errorf("another tool: %s", got)
		}
		if got := callAs(t, h, "ben", "inner", `{}`); isLimited(got) {
			t.Errorf("another caller: %s", got)
		}
		close(s.end)
		<-said
	})
}

func TestAToolIsLimitedAsAStepToo(t *testing.T) {
	inBubble(t, `
	tool "inner" {
		description = "x"
		limit { rate = "1/h" }
		text = "done"
	}
	tool "outer" {
		description = "x"
		step "a" {
			tool "inner" {}
		}
		text = "${step.a.text}"
	}`, new(fakeBackend).use, func(t *testing.T, h *Host) {
		callAs(t, h, "ann", "outer", `{}`)
		if got := callAs(t, h, "ann", "outer", `{}`); !isLimited(got) {
			t.Error(got)
		}
		if got := callAs(t, h, "ben", "outer", `{}`); isLimited(got) {
			t.Errorf("another caller: %s", got)
		}
	})
}

func TestABreakerStandsBetweenToolsAndTheirConnection(t *testing.T) {
	w := &fakeBackend{}
	broken := true
	w.do = map[string]func(context.Context, *adapters.Call) (any, error){"ask": func(context.Context, *adapters.Call) (any, error) {
		w.record("asked")
		if broken {
			return nil, &adapters.Fault{Message: "no answer", Unavailable: true}
		}
		return "done", nil
	}}
	const src = `
	connection "db" "main" {
		breaker {
			failures = 2
			cooldown = "1m"
		}
	}
	tool "x" {
		description = "x"
		fake "main" { do = "ask" }
	}
	tool "y" {
		description = "y"
		fake "main" { do = "ask" }
	}`
	inBubble(t, src, w.use, func(t *testing.T, h *Host) {
		w.takeJournal()
		callAs(t, h, "", "x", `{}`)
		callAs(t, h, "", "y", `{}`)
		w.takeJournal()
		load(t, h, src+"\n# changed\n")
		h.AwaitRetired()
		w.takeJournal()
		got := callAs(t, h, "", "x", `{}`)
		if !strings.Contains(got, `"main\" has failed 2 times in a row`) && !strings.Contains(got, `has failed 2 times in a row`) || !strings.Contains(got, `"retryAfter":60`) || len(w.takeJournal()) != 0 {
			t.Errorf("while it is open: %s", got)
		}
		if health := readinessOf(t, h).Connections; len(health) != 1 || health[0].Breaker != "open" {
			t.Errorf("readiness says %+v", health)
		}
		broken = false
		time.Sleep(time.Minute)
		if got := callAs(t, h, "", "y", `{}`); !strings.Contains(got, "done") {
			t.Errorf("after the cooldown: %s", got)
		}
		if health := readinessOf(t, h).Connections; health[0].Breaker != "closed" {
			t.Errorf("readiness says %+v", health)
		}
	})
}

func TestAServerThatKnowsItsCallersBoundsEachOfThem(t *testing.T) {
	s := newSlowBackend()
	inBubble(t, `
	auth {
		api_key "ci" { sha256 = "`+fmt.Sprintf("%064d", 1)+`" }
	}
	tool "slow" {
		description = "x"
		fake { do = "slow" }
	}`, s.use, func(t *testing.T, h *Host) {
		s.end = make(chan struct{})
		said := make(chan string, 20)
		for range 12 {
			go func() { said <- callAs(t, h, "ann", "slow", `{}`) }()
		}
		synctest.Wait()
		if len(s.running) != 10 {
			t.Errorf("%d run", len(s.running))
		}
		time.Sleep(11 * time.Second)
		synctest.Wait()
		if len(said) != 2 || !isLimited(<-said) {
			t.Errorf("%d have waited too long", len(said))
		}
		close(s.end)
		synctest.Wait()
	})
}
