package runtime

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/runtime/mcp"
)

// outcomeFor calls a tool as somebody, and returns the result as it is sent.
func outcomeFor(t testing.TB, h *Host, who, tool, arguments string) string {
	t.Helper()
	return outcomeIn(t.Context(), h, who, tool, arguments)
}

func outcomeIn(ctx context.Context, h *Host, who, tool, arguments string) string {
	r := mcp.Revision20260728
	out, err := h.CallTool(ctx, &mcp.CallRequest{Name: tool, Arguments: []byte(arguments), Caller: &mcp.Caller{Revision: r, Subject: who}})
	if err != nil {
		return "error: " + err.Error()
	}
	return string(out.AppendResult(nil, r))
}

// within runs a test in a bubble, with a Host that is closed in it.
func (w *world) within(t *testing.T, src string, test func(t *testing.T, h *Host)) {
	synctest.Test(t, func(t *testing.T) {
		h := NewHost(context.WithoutCancel(t.Context()), HostOptions{Build: Build{Set: w.set(), Dir: t.TempDir()}, Grace: 10 * time.Second, Load: hcl.Options{Getenv: secrets}})
		defer h.Close()
		load(t, h, src)
		test(t, h)
	})
}

func limited(said string) bool {
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
	new(world).within(t, src, func(t *testing.T, h *Host) {
		for i := range 3 {
			if said := outcomeFor(t, h, "ann", "x", `{}`); limited(said) {
				t.Fatalf("call %d: %s", i, said)
			}
		}
		said := outcomeFor(t, h, "ann", "x", `{}`)
		if !limited(said) || !strings.Contains(said, "at most 6 a minute") || !strings.Contains(said, "Try again in 10s") || !strings.Contains(said, `"retryAfter":10`) {
			t.Errorf("the fourth: %s", said)
		}
		if said := outcomeFor(t, h, "ben", "x", `{}`); limited(said) {
			t.Errorf("another caller: %s", said)
		}
		time.Sleep(9 * time.Second)
		load(t, h, src+"\n# changed\n")
		if said := outcomeFor(t, h, "ann", "x", `{}`); !limited(said) {
			t.Errorf("after a reload: %s", said)
		}
		time.Sleep(time.Second)
		if said := outcomeFor(t, h, "ann", "x", `{}`); limited(said) {
			t.Errorf("when it was to come back: %s", said)
		}
		time.Sleep(time.Hour)
		for range 3 {
			outcomeFor(t, h, "ann", "x", `{}`)
		}
		if said := outcomeFor(t, h, "ann", "x", `{}`); !limited(said) {
			t.Errorf("an hour without calls makes room for more than the burst: %s", said)
		}
	})
}

func TestALimitOfTheToolIsSharedByItsCallers(t *testing.T) {
	new(world).within(t, `tool "x" {
		description = "x"
		limit {
			rate = "1/m"
			per  = "tool"
		}
		text = "done"
	}`, func(t *testing.T, h *Host) {
		outcomeFor(t, h, "ann", "x", `{}`)
		if said := outcomeFor(t, h, "ben", "x", `{}`); !limited(said) || !strings.Contains(said, "by all callers") {
			t.Error(said)
		}
	})
}

// slow is a world whose block "slow" runs until it is told to end, and says how many run.
type slow struct {
	world
	running chan struct{}
	end     chan struct{}
}

func newSlow() *slow {
	s := &slow{running: make(chan struct{}, 1000)}
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
	s := newSlow()
	s.within(t, `tool "x" {
		description = "x"
		limit {
			concurrency = 2
			queue       = 2
			max_wait        = "5s"
		}
		fake { do = "slow" }
	}`, func(t *testing.T, h *Host) {
		s.end = make(chan struct{})
		said := make(chan string, 10)
		for range 5 {
			go func() { said <- outcomeFor(t, h, "ann", "x", `{}`) }()
		}
		synctest.Wait()
		if len(s.running) != 2 || len(said) != 1 {
			t.Fatalf("%d run, and %d were refused", len(s.running), len(said))
		}
		if s := <-said; !limited(s) || !strings.Contains(s, "at most 2 run at a time") {
			t.Error(s)
		}
		if s := outcomeIn(deadline(t, time.Second), h, "ann", "x", `{}`); !limited(s) {
			t.Errorf("one more: %s", s)
		}
		s.end <- struct{}{}
		synctest.Wait()
		if got := <-said; limited(got) || len(s.running) != 2 {
			t.Errorf("one has ended: %s; %d run", got, len(s.running))
		}
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if got := <-said; !limited(got) {
			t.Errorf("one has waited too long: %s", got)
		}
		close(s.end)
		for range 2 {
			if got := <-said; limited(got) {
				t.Error(got)
			}
		}
		if got := outcomeFor(t, h, "ann", "x", `{}`); limited(got) {
			t.Errorf("a place is lost: %s", got)
		}
	})
}

func deadline(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

func TestWhoeverGoesAwayGivesUpItsPlace(t *testing.T) {
	s := newSlow()
	s.within(t, `tool "x" {
		description = "x"
		limit {
			concurrency = 1
			queue       = 5
			max_wait        = "1h"
		}
		fake { do = "slow" }
	}`, func(t *testing.T, h *Host) {
		s.end = make(chan struct{})
		said := make(chan string, 10)
		go func() { said <- outcomeFor(t, h, "ann", "x", `{}`) }()
		synctest.Wait()
		gone, cancel := context.WithCancel(t.Context())
		for range 3 {
			go func() { said <- outcomeIn(gone, h, "ann", "x", `{}`) }()
		}
		synctest.Wait()
		go func() { said <- outcomeFor(t, h, "ann", "x", `{}`) }()
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
	new(world).within(t, `tool "x" {
		description = "x"
		limit {
			rate  = "1/s"
			queue = 2
			max_wait  = "10s"
		}
		text = "done"
	}`, func(t *testing.T, h *Host) {
		began := time.Now()
		said := make(chan string, 10)
		for range 4 {
			go func() { said <- outcomeFor(t, h, "ann", "x", `{}`) }()
		}
		refused := 0
		for range 4 {
			if limited(<-said) {
				refused++
			}
		}
		if took := time.Since(began); refused != 1 || took != 2*time.Second {
			t.Errorf("%d of four are refused, and the others took %v", refused, took)
		}
	})
}

func TestTheServersLimitCountsAllToolsAndNoSteps(t *testing.T) {
	s := newSlow()
	s.within(t, `
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
	}`, func(t *testing.T, h *Host) {
		if got := outcomeFor(t, h, "ann", "outer", `{}`); !strings.Contains(got, "done") {
			t.Errorf("a step counts: %s", got)
		}
		s.end = make(chan struct{})
		said := make(chan string)
		go func() { said <- outcomeFor(t, h, "ann", "slow", `{}`) }()
		synctest.Wait()
		if got := outcomeFor(t, h, "ann", "inner", `{}`); !limited(got) || !strings.Contains(got, "the tools of this server") {
			t.Errorf("another tool: %s", got)
		}
		if got := outcomeFor(t, h, "ben", "inner", `{}`); limited(got) {
			t.Errorf("another caller: %s", got)
		}
		close(s.end)
		<-said
	})
}

func TestAToolIsLimitedAsAStepToo(t *testing.T) {
	new(world).within(t, `
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
	}`, func(t *testing.T, h *Host) {
		outcomeFor(t, h, "ann", "outer", `{}`)
		if got := outcomeFor(t, h, "ann", "outer", `{}`); !limited(got) {
			t.Error(got)
		}
		if got := outcomeFor(t, h, "ben", "outer", `{}`); limited(got) {
			t.Errorf("another caller: %s", got)
		}
	})
}

func TestABreakerStandsBetweenToolsAndTheirConnection(t *testing.T) {
	w := &world{}
	broken := true
	w.do = map[string]func(context.Context, *adapters.Call) (any, error){"ask": func(context.Context, *adapters.Call) (any, error) {
		w.note("asked")
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
	w.within(t, src, func(t *testing.T, h *Host) {
		w.read()
		outcomeFor(t, h, "", "x", `{}`)
		outcomeFor(t, h, "", "y", `{}`)
		w.read()
		load(t, h, src+"\n# changed\n")
		h.AwaitRetired()
		w.read()
		got := outcomeFor(t, h, "", "x", `{}`)
		if !strings.Contains(got, `"main\" has failed 2 times in a row`) && !strings.Contains(got, `has failed 2 times in a row`) || !strings.Contains(got, `"retryAfter":60`) || len(w.read()) != 0 {
			t.Errorf("while it is open: %s", got)
		}
		if health := h.Readiness(t.Context()).Connections; len(health) != 1 || health[0].Breaker != "open" {
			t.Errorf("readiness says %+v", health)
		}
		broken = false
		time.Sleep(time.Minute)
		if got := outcomeFor(t, h, "", "y", `{}`); !strings.Contains(got, "done") {
			t.Errorf("after the cooldown: %s", got)
		}
		if health := h.Readiness(t.Context()).Connections; health[0].Breaker != "closed" {
			t.Errorf("readiness says %+v", health)
		}
	})
}

func TestAServerThatKnowsItsCallersBoundsEachOfThem(t *testing.T) {
	s := newSlow()
	s.within(t, `
	auth {
		api_key "ci" { sha256 = "`+fmt.Sprintf("%064d", 1)+`" }
	}
	tool "slow" {
		description = "x"
		fake { do = "slow" }
	}`, func(t *testing.T, h *Host) {
		s.end = make(chan struct{})
		said := make(chan string, 20)
		for range 12 {
			go func() { said <- outcomeFor(t, h, "ann", "slow", `{}`) }()
		}
		synctest.Wait()
		if len(s.running) != 10 {
			t.Errorf("%d run", len(s.running))
		}
		time.Sleep(11 * time.Second)
		synctest.Wait()
		if len(said) != 2 || !limited(<-said) {
			t.Errorf("%d have waited too long", len(said))
		}
		close(s.end)
		synctest.Wait()
	})
}
