package event_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"hatchel/hcl/eventkind"
	"hatchel/runtime/observe/event"
)

// publishWhole publishes what a call of one step publishes.
func publishWhole(ctx context.Context, p *event.Publisher, call, result *event.Call, step *event.Step) {
	if p.Wants(eventkind.ToolCall) {
		p.Call(ctx, call)
		p.Step(ctx, step)
		p.Call(ctx, result)
	}
}

func newCall() (call, result *event.Call, step *event.Step) {
	caller := event.Caller{Subject: "eva", Key: "k", Groups: []string{"ops"}, Client: []byte(`"claude-code 2.1"`)}
	id := []byte("RYNKYOFV6BSEWFVH7YHTL2V7YF")
	return &event.Call{Kind: eventkind.ToolCall, Name: "refund", ID: id, Input: []byte(`{"amount":250,"order":1042}`),
			Caller: caller, Owner: "k\neva", TraceID: "4bf92f3577b34da6a3ce929d0e0e4736"},
		&event.Call{Kind: eventkind.ToolResult, Name: "refund", ID: id, Caller: caller, Owner: "k\neva", Outcome: "ok",
			Duration: 31 * time.Millisecond, Rows: 12, Bytes: 3000, Rule: "policy.finance"},
		&event.Step{Tool: "refund", ID: id, Subject: "eva", Owner: "k\neva", Step: "fetch", Kind: "http",
			Connection: "http.shop", Duration: 22 * time.Millisecond, Outcome: "ok", Bytes: 3000, Attempts: 1}
}

func BenchmarkNobodyListens(b *testing.B) {
	call, result, step := newCall()
	p := newPublisher()
	b.ReportAllocs()
	for b.Loop() {
		publishWhole(b.Context(), p, call, result, step)
	}
}

func BenchmarkOneListener(b *testing.B) {
	call, result, step := newCall()
	p := newPublisher()
	ctx, cancel := context.WithCancel(b.Context())
	l := listen(b, p, event.Query{Follow: true}, &viewer{})
	go func() {
		for {
			if _, err := l.Next(ctx); err != nil {
				return
			}
		}
	}()
	b.ReportAllocs()
	for b.Loop() {
		publishWhole(ctx, p, call, result, step)
	}
	cancel()
}

func TestPublishingAllocatesNothing(t *testing.T) {
	call, result, step := newCall()
	p := newPublisher()
	defer p.Ring.Hold()()
	publish := func() { publishWhole(context.Background(), p, call, result, step) }
	fewest := 1000.0 // the race detector drops what is pooled at random
	for range 100 {
		fewest = min(fewest, testing.AllocsPerRun(1, publish))
	}
	if fewest > 0 {
		t.Errorf("%v allocations", fewest)
	}
}

func BenchmarkStalledListeners(b *testing.B) {
	call, result, step := newCall()
	p := newPublisher()
	for range 8 {
		listen(b, p, event.Query{Follow: true}, &viewer{}) // and never reads
	}
	var took []time.Duration
	for b.Loop() {
		began := time.Now()
		publishWhole(b.Context(), p, call, result, step)
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)*99/100]), "p99-ns")
}
