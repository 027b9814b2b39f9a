package runtime

import (
	"context"
	"testing"

	"hatchel/hcl/eventkind"
	"hatchel/runtime/event"
	"hatchel/runtime/mcp"
)

// newCalledHost returns a Host with a tool of one step, and a function that calls it.
func newCalledHost(t testing.TB, block string) (*Host, func()) {
	w := newFakeBackend()
	h := newHost(t, block+tool("t", "input \"name\" { type = string }\nstep \"s\" {\n  fake { do = \"count\" }\n}\ntext = \"x\""),
		w.use)
	caller := callerOf("ada", "ops")
	arguments := []byte(`{"name":"Ada"}`)
	ctx := context.WithoutCancel(t.Context())
	return h, func() {
		out, err := h.CallTool(ctx, &mcp.CallRequest{Name: "t", Arguments: arguments, Caller: caller})
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
	_, without := newCalledHost(t, "")
	h, with := newCalledHost(t, "events {}\n")
	want, unheard := fewestAllocations(without), fewestAllocations(with)
	recordAll(t, h)
	with()
	if !h.Current().env.Events.Wants(eventkind.ToolStep) {
		t.Fatal("nothing is recorded")
	}
	if heard := fewestAllocations(with); unheard > want || heard > want+raceAllocations {
		t.Errorf("%v allocations without events, %v with a block, %v while they are recorded", want, unheard, heard)
	}
}

func BenchmarkCallEvents(b *testing.B) {
	for name, block := range map[string]string{"none": "", "unheard": "events {}\n", "heard": "events {}\n"} {
		b.Run(name, func(b *testing.B) {
			h, call := newCalledHost(b, block)
			if name == "heard" {
				l, err := h.Listen(b.Context(), callerOf("eva"), true, event.Query{Follow: true})
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
			b.ReportAllocs()
			for b.Loop() {
				call()
			}
		})
	}
}
