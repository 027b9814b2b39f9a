package hook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"hatchel/hcl"
	"hatchel/hcl/eventkind"
	"hatchel/runtime/durable/webhook"
	"hatchel/runtime/observe/event"
)

// stored is what a Store of a test has stored: the data of each first event, and how many there were.
type stored struct {
	mu    sync.Mutex
	fails bool
	slow  time.Duration
	lines []string
}

func (s *stored) store(ctx context.Context, name string, of *webhook.Series, e *webhook.Event, n int) error {
	s.mu.Lock()
	slow := s.slow
	s.mu.Unlock()
	select {
	case <-time.After(slow):
	case <-ctx.Done():
		return ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fails {
		return errors.New("the disk is full")
	}
	s.lines = append(s.lines, fmt.Sprintf("%s %v %s %d", name, of.Interval, e.Data, n))
	return nil
}

func (s *stored) setFailing(fails bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fails = fails
}

func (s *stored) expect(t *testing.T, want ...string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if fmt.Sprint(s.lines) != fmt.Sprint(want) {
		t.Errorf("stored %q, not %q", s.lines, want)
	}
}

// hooksOf loads on blocks beside two tools and a webhook.
func hooksOf(t testing.TB, q *Queue, log *slog.Logger, blocks string) (all []*Hook) {
	t.Helper()
	const rest = `
secret "ops" { env = "OPS" }
webhook "ops" {
  url    = "https://ops.example/hooks"
  secret = secret.ops
}
tool "invoice_get" {
  description = "Get."
  text        = "x"
}
tool "order_get" {
  description = "Get."
  text        = "x"
}
`
	files := fstest.MapFS{"a.hcl": {Data: []byte(rest + blocks)}}
	config, diags := hcl.Load(files, hcl.Kinds{}, hcl.Options{Getenv: func(name string) (string, bool) {
		return "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", name == "OPS"
	}})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	for _, decl := range config.Hooks {
		scrub := func(text string) string { return strings.ReplaceAll(text, "hunter22", "***") }
		all = append(all, New(decl, Env{Queue: q, Tools: config.Tools, Now: time.Now, Log: log, Scrub: scrub}))
	}
	return all
}

func handle(t *testing.T, h *Hook, tool, data string) (took time.Duration) {
	began := time.Now()
	operation := "tool"
	if tool == "" {
		operation = ""
	}
	h.Handle(t.Context(), &event.Meta{Kind: h.decl.Event, Operation: operation, Name: tool, Time: time.Now()}, []byte(data))
	return time.Since(began)
}

var silent = slog.New(slog.DiscardHandler)

func TestEventIsSentIfItsToolAndTheConditionMatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &stored{}
		q := NewQueue(t.Context(), s.store)
		h := hooksOf(t, q, silent, `on "tool_result" {
			tools  = ["invoice_*"]
			when   = "event.outcome == 'failed' || event.ms > 5000 || (event.rows ?? 0) > 10"
			notify = ["ops"]
			limit  = "30/m"
		}`)[0]
		handle(t, h, "invoice_get", `{"outcome":"ok","ms":12.5}`)
		handle(t, h, "order_get", `{"outcome":"failed","ms":1}`)
		handle(t, h, "invoice_get", `{"outcome":"failed","ms":2}`)
		handle(t, h, "invoice_get", `{"outcome":"ok","ms":6000}`)
		handle(t, h, "invoice_get", `{"outcome":"ok","ms":3,"rows":11}`)
		s.expect(t, `ops 2s {"outcome":"failed","ms":2} 1`, `ops 2s {"outcome":"ok","ms":6000} 1`, `ops 2s {"outcome":"ok","ms":3,"rows":11} 1`)
		q.Close()
	})
}

func TestResultWaitsUntilItIsStoredAndOthersDoNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &stored{slow: time.Second}
		q := NewQueue(t.Context(), s.store)
		hooks := hooksOf(t, q, silent, `
			on "tool_result" { notify = ["ops"] }
			on "tool_call"   { notify = ["ops"] }`)
		if took := handle(t, hooks[0], "order_get", `{"n":1}`); took != time.Second {
			t.Errorf("a result has waited for %v", took)
		}
		if took := handle(t, hooks[1], "order_get", `{"n":2}`); took != 0 {
			t.Errorf("a call has waited for %v", took)
		}
		q.Close()
		s.expect(t, `ops 1m0s {"n":1} 1`, `ops 1m0s {"n":2} 1`)
	})
}

func TestEventsThatComeTogetherAreStoredTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &stored{slow: time.Second}
		q := NewQueue(t.Context(), s.store)
		h := hooksOf(t, q, silent, `on "tool_result" { notify = ["ops"] }`)[0]
		var calls sync.WaitGroup
		for n := range 50 {
			calls.Go(func() {
				time.Sleep(time.Duration(n) * time.Millisecond)
				if took := handle(t, h, "order_get", fmt.Sprintf(`{"n":%d}`, n)); took > 2*time.Second {
					t.Errorf("a result has waited for %v", took)
				}
			})
		}
		calls.Wait()
		s.expect(t, `ops 1m0s {"n":0} 1`, `ops 1m0s {"n":1} 49`)
		synctest.Wait() // the queue has removed what it has stored
		if len(q.pending) != 0 {
			t.Error("the queue is not empty")
		}
		q.Close()
	})
}

func TestStoreThatFailsStopsNoCallAndLosesNoCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		s := &stored{fails: true, slow: time.Second}
		q := NewQueue(t.Context(), s.store)
		h := hooksOf(t, q, slog.New(slog.NewTextHandler(&log, nil)), `on "tool_result" { notify = ["ops"] }`)[0]
		if took := handle(t, h, "order_get", `{"n":1}`); took != time.Second {
			t.Errorf("the first result has waited for %v", took)
		}
		time.Sleep(time.Second / 2) // attempts begin and end at whole seconds
		for n := range 9 {
			if took := handle(t, h, "order_get", fmt.Sprintf(`{"n":%d}`, n+2)); took != 0 {
				t.Errorf("a result has waited for %v while the store fails", took)
			}
			time.Sleep(10 * time.Second)
		}
		s.setFailing(false)
		time.Sleep(2 * storeBackoff.Max)
		s.expect(t, `ops 1m0s {"n":1} 7`, `ops 1m0s {"n":8} 3`)
		synctest.Wait() // nothing is being logged
		if text := log.String(); strings.Count(text, "not stored, will be tried again") != 1 || strings.Count(text, "stored again") != 1 {
			t.Error(text)
		}
		q.Close()
	})
}

func TestStoreThatDoesNotAnswerKeepsACallForFiveSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &stored{slow: time.Hour}
		q := NewQueue(t.Context(), s.store)
		h := hooksOf(t, q, silent, `on "tool_result" { notify = ["ops"] }`)[0]
		if took := handle(t, h, "order_get", `{}`); took != maxWait {
			t.Errorf("a result has waited for %v", took)
		}
		began := time.Now()
		q.Close()
		if took := time.Since(began); took != closeGrace {
			t.Errorf("Close took %v", took)
		}
	})
}

func TestCloseStoresWhatCouldNotBeStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &stored{fails: true}
		q := NewQueue(t.Context(), s.store)
		h := hooksOf(t, q, silent, `on "reload" { notify = ["ops"] }`)[0]
		handle(t, h, "", `{"result":"ok"}`)
		time.Sleep(time.Minute)
		s.setFailing(false)
		q.Close()
		s.expect(t, `ops 1m0s {"result":"ok"} 1`)
	})
}

func TestConditionThatFailsIsLoggedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		s := &stored{}
		q := NewQueue(t.Context(), s.store)
		h := hooksOf(t, q, slog.New(slog.NewTextHandler(&log, nil)), `on "tool_call" {
			when   = "int(event.input.amount) > 5"
			notify = ["ops"]
		}`)[0]
		handle(t, h, "order_get", `{"input":{"amount":"hunter22"}}`)
		handle(t, h, "order_get", `{"input":{}}`)
		handle(t, h, "order_get", `{"input":{"amount":"6"}}`)
		synctest.Wait()
		s.expect(t, `ops 1m0s {"input":{"amount":"6"}} 1`)
		text := log.String()
		if strings.Count(text, "condition of a hook failed") != 1 || !strings.Contains(text, "at=a.hcl:") || strings.Contains(text, "hunter22") {
			t.Error(text)
		}
		q.Close()
	})
}

func TestEventThatNoHookMatchesCostsNothing(t *testing.T) {
	q := NewQueue(t.Context(), (&stored{}).store)
	h := hooksOf(t, q, silent, `on "tool_result" {
		tools  = ["invoice_*"]
		notify = ["ops"]
	}`)[0]
	m := &event.Meta{Kind: eventkind.ToolResult, Operation: "tool", Name: "order_get"}
	if n := testing.AllocsPerRun(100, func() { h.Handle(t.Context(), m, nil) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestEventOfACancelledCallIsSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &stored{}
		q := NewQueue(t.Context(), s.store)
		h := hooksOf(t, q, silent, `on "tool_result" {
			when   = "event.outcome == 'cancelled'"
			notify = ["ops"]
		}`)[0]
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		h.Handle(ctx, &event.Meta{Kind: eventkind.ToolResult, Time: time.Now()}, []byte(`{"outcome":"cancelled"}`))
		s.expect(t, `ops 1m0s {"outcome":"cancelled"} 1`)
	})
}

func TestEventsOfApprovalsAreStoredBeforeTheWorkContinues(t *testing.T) {
	for _, kind := range []string{"approval.requested", "approval.decided"} {
		synctest.Test(t, func(t *testing.T) {
			s := &stored{slow: time.Second}
			h := hooksOf(t, NewQueue(t.Context(), s.store), silent, "on \""+kind+"\" { notify = [\"ops\"] }")[0]
			if took := handle(t, h, "order_get", `{"approval":{"id":"A"}}`); took != time.Second {
				t.Errorf("%s: took %v", kind, took)
			}
		})
	}
}
