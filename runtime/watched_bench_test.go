package runtime

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"hatchel/hcl/eventkind"
	"hatchel/internal/benchtest"
	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/observe/event"
)

// newCalledHost returns a Host with a tool of one step, and a function that calls it.
func newCalledHost(t testing.TB, block string, meta []byte) (*Host, func()) {
	w := newFakeBackend()
	h := newHost(t, block+tool("t", "input \"name\" { type = string }\nstep \"s\" {\n  fake { do = \"count\" }\n}\ntext = \"x\""),
		w.use)
	caller, arguments := callerOf("ada", "ops"), []byte(`{"name":"Ada"}`)
	ctx := context.WithoutCancel(t.Context())
	return h, func() {
		out, err := h.CallTool(ctx, &mcp.CallRequest{Name: "t", Arguments: arguments, Meta: meta, Caller: caller})
		if err != nil {
			t.Fatal(err)
		}
		out.AppendResult(nil, mcp.Revision20260728)
	}
}

// fewestAllocations returns how often a function allocates memory, at least.
func fewestAllocations(do func()) (fewest float64) {
	fewest = 1e6
	for range 100 {
		fewest = min(fewest, testing.AllocsPerRun(1, do))
	}
	return fewest
}

func TestEventsAllocateNothingPerCall(t *testing.T) {
	_, without := newCalledHost(t, "", nil)
	h, with := newCalledHost(t, "events {}\n", nil)
	want, unheard := fewestAllocations(without), fewestAllocations(with)
	recordAll(t, h)
	with()
	if !h.Current().Env.Events.Wants(eventkind.ToolStep) {
		t.Fatal("nothing is recorded")
	}
	if heard := fewestAllocations(with); unheard > want || heard > want+raceAllocations {
		t.Errorf("%v allocations without events, %v with a block, %v while they are recorded", want, unheard, heard)
	}
}

// BenchmarkWatchedCall calls a tool with each way to watch it. "cpu-ns/op" is the CPU time of the process, with that of
// what reads the events and sends the traces.
func BenchmarkWatchedCall(b *testing.B) {
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
	}))
	defer collector.Close()
	const continued = `{"traceparent":"` + unsampledParent + `"}` // of a trace that its caller does not sample
	for _, w := range []struct{ name, block, meta string }{
		{"nothing", "", ""},
		{"continued", "", continued},
		{"metrics", "telemetry {\n metrics {}\n}\n", ""},
		{"untraced", otlp(collector.URL, "traces = 0"), continued},
		{"traced", otlp(collector.URL, "traces = 0.05\n burst = 100000"), ""},
		{"unheard", "events {}\n", ""},
		{"heard", "events {}\n", ""},
	} {
		b.Run(w.name, func(b *testing.B) {
			h, call := newCalledHost(b, w.block, []byte(w.meta))
			if w.name == "heard" {
				l, err := h.Operator().Listen(b.Context(), callerOf("eva"), true, event.Query{Follow: true})
				if err != nil {
					b.Fatal(err)
				}
				ctx, cancel := context.WithCancel(b.Context())
				defer cancel()
				go func() {
					for {
						if _, err := l.Next(ctx); err != nil {
							return
						}
					}
				}()
			}
			call() // for what is made by the first call
			b.ReportAllocs()
			report := benchtest.ReportCPU(b)
			for b.Loop() {
				call()
			}
			report()
		})
	}
}
