package runtime

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hatchel/adapters"
)

func TestNobodyDecidesInTime(t *testing.T) {
	w := newFakeBackend()
	count := w.addCounter()
	src := tool("t", "timeout = \"1s\"\napproval { timeout = \"2m\" }\nfake { do = \"count\" }") + tool("pure", "timeout = \"1s\"\napproval { timeout = \"2m\" }\ntext = \"computed\"")
	inBubble(t, src, w.use, func(t *testing.T, h *Host) {
		approver := newApprover(t, h)
		for _, name := range []string{"t", "pure"} {
			began := time.Now()
			if got := callAs(t, h, "ann", name, `{}`); !isRefused(got) || !strings.Contains(got, "which expired") || time.Since(began) < 2*time.Minute || time.Since(began) > 3*time.Minute {
				t.Errorf("after %v: %s", time.Since(began), got)
			}
			// The timeout of the tool is shorter than the wait, and does not count it.
			said := startCall(t, h, "ann", name, `{}`)
			synctest.Wait()
			time.Sleep(time.Minute)
			approver.decide(approver.waitForPending(1)[0], true, "")
			if got := <-said; isRefused(got) {
				t.Error(got)
			}
		}
		if count() != 1 {
			t.Errorf("%d were done", count())
		}
	})
}

func TestAnApprovalThatWasGivenIsUsedInTimeOrNotAtAll(t *testing.T) {
	w := newFakeBackend()
	count := w.addCounter()
	inBubble(t, tool("refund", refunding), w.use, func(t *testing.T, h *Host) {
		approver := newApprover(t, h)
		said := startCallWithContext(contextWithTimeout(t, time.Second), t, h, "ann", "refund", `{"amount":500}`)
		a := approver.waitForPending(1)[0]
		<-said
		approver.decide(a, true, "")
		time.Sleep(6 * time.Minute)
		said = startCall(t, h, "ann", "refund", `{"amount":500}`)
		b := approver.waitForPending(1)[0]
		if b.ID == a.ID || count() != 0 {
			t.Error("it is used after its time")
		}
		approver.decide(b, false, "")
		<-said
	})
}

func TestWhatIsConfiguredAnewIsApprovedAnew(t *testing.T) {
	w := newFakeBackend()
	count := w.addCounter()
	src := tool("refund", refunding)
	for claim, next := range map[string]string{
		"another tool":     strings.Replace(src, "pays", "gives", 1),
		"another approval": strings.Replace(src, "> 100", "> 99", 1),
		"another policy":   src + "policy \"p\" {\n  tools = [\"refund\"]\n  deny  = \"input.amount == 7\"\n}\n",
	} {
		t.Run(claim, func(t *testing.T) {
			before := count()
			h := newHost(t, src, w.use)
			approver := newApprover(t, h)
			waits := startCall(t, h, "ann", "refund", `{"amount":500}`)
			a := approver.waitForPending(1)[0]
			load(t, h, next) // and nobody decides
			if got := <-waits; !isRefused(got) || !strings.Contains(got, "configuration of this tool was changed") || count() != before {
				t.Errorf("who waited: %s", got)
			}
			approver.checkVoid(a, "configuration of the tool was changed")
			again := startCall(t, h, "ann", "refund", `{"amount":500}`)
			b := approver.waitForPending(1)[0]
			if b.ID == a.ID {
				t.Error("what was approved for one configuration counts for another")
			}
			approver.decide(b, true, "")
			if got := <-again; isRefused(got) || count() != before+1 {
				t.Error(got)
			}
		})
	}
	t.Run("a reload that changes nothing of it", func(t *testing.T) {
		before := count()
		h := newHost(t, src, w.use)
		approver := newApprover(t, h)
		waits := startCall(t, h, "ann", "refund", `{"amount":500}`)
		a := approver.waitForPending(1)[0]
		load(t, h, src+tool("other", `text = "x"`))
		approver.decide(a, true, "")
		if got := <-waits; isRefused(got) || count() != before+1 {
			t.Error(got)
		}
	})
}

func TestACallThatWaitsEndsWithTheServer(t *testing.T) {
	w := newFakeBackend()
	count := w.addCounter()
	path := filepath.Join(t.TempDir(), "state.db")
	src := tool("refund", refunding)
	h := newHost(t, src, w.use, storedIn(t, path))
	said := startCall(t, h, "ann", "refund", `{"amount":500}`)
	a := newApprover(t, h).waitForPending(1)[0]
	h.StopWaiting()
	if got := <-said; !isRefused(got) || !strings.Contains(got, "shutting down") {
		t.Error(got)
	}
	if got := callAs(t, h, "ann", "refund", `{"amount":600}`); !strings.Contains(got, "shutting down") {
		t.Error(got)
	}
	h.Close()
	h = newHost(t, src, w.use, storedIn(t, path))
	said = startCall(t, h, "ann", "refund", `{"amount":500}`)
	approver := newApprover(t, h)
	for _, b := range approver.waitForPending(2) {
		if b.ID == a.ID {
			approver.decide(b, true, "")
		}
	}
	if got := <-said; isRefused(got) || count() != 1 {
		t.Error(got)
	}
}

func TestAStepWaitsForItsOperator(t *testing.T) {
	w := newFakeBackend()
	count := w.addCounter()
	src := tool("inner", "input \"n\" { type = integer }\napproval {}\nfake { do = \"count\" }") + tool("outer", `
		timeout = "5s"
		limit { concurrency = 1 }
		step "all" {
			each     = [1, 2]
			parallel = 2
			tool "inner" { n = each.value }
		}
		step "slow" {
			fake { do = "slow" }
		}
		text = "done"
	`)
	w.do["slow"] = func(ctx context.Context, c *adapters.Call) (any, error) {
		// Drivers and retries read the deadline. The time of the wait does not count.
		if until, ok := ctx.Deadline(); !ok || time.Until(until) > 5*time.Second || time.Until(until) < 4*time.Second {
			t.Errorf("the deadline is in %v, %t", time.Until(until), ok)
		}
		select {
		case <-time.After(4 * time.Second):
			return "slow", nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	inBubble(t, src, w.use, func(t *testing.T, h *Host) {
		approver := newApprover(t, h)
		said := startCall(t, h, "ann", "outer", `{}`)
		synctest.Wait()
		waiting := approver.waitForPending(2)
		for _, a := range waiting {
			if a.Caller.Subject != "ann" || a.Tool != "inner" {
				t.Errorf("%+v", a.Request)
			}
			time.Sleep(time.Minute)
			approver.decide(a, true, "")
		}
		if got := <-said; isRefused(got) || count() != 2 {
			t.Errorf("after %d: %s", count(), got)
		}
		direct := startCall(t, h, "ann", "inner", `{"n":1}`)
		nested := startCall(t, h, "ann", "outer", `{}`)
		synctest.Wait()
		if all := approver.waitForPending(3); len(all) != 3 {
			t.Errorf("%d wait: what a step may do is not what a client may", len(all))
		}
		for _, a := range approver.waitForPending(3) {
			approver.decide(a, false, "no")
		}
		if a, b := <-direct, <-nested; !isRefused(a) || !isRefused(b) || !strings.Contains(b, `rejected: no.\nNothing was done.`) || count() != 2 {
			t.Errorf("%s, %s", a, b)
		}
	})
}

func TestWhoWaitsHoldsNoPlace(t *testing.T) {
	w := newFakeBackend()
	w.addCounter()
	inBubble(t, "server {\n  limit { concurrency = 1 }\n}\n"+tool("t", "input \"n\" { type = integer }\napproval { when = \"input.n > 0\" }\nfake { do = \"count\" }"), w.use, func(t *testing.T, h *Host) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var all []<-chan string
		for n := range 256 {
			all = append(all, startCallWithContext(ctx, t, h, "ann", "t", fmt.Sprintf(`{"n":%d}`, n+1)))
		}
		synctest.Wait()
		if got := callAs(t, h, "ann", "t", `{"n":0}`); isRefused(got) {
			t.Error(got)
		}
		if got := callAs(t, h, "ann", "t", `{"n":1000}`); !isRefused(got) || !strings.Contains(got, "retryAfter") {
			t.Errorf("as many wait as like: %s", got)
		}
		cancel()
		for _, said := range all {
			<-said
		}
	})
}
