package runtime

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"hatchel/runtime/edge/mcp"
)

// configWithRules returns a tool and n rules that are all evaluated before a call.
func configWithRules(rules int) string {
	var b strings.Builder
	b.WriteString("tool \"pay\" {\n description = \"Pays.\"\n input \"amount\" { type = number }\n input \"vendor\" { type = string }\n text = \"${input.amount} ${input.vendor}\"\n}\n")
	kinds := []string{
		`deny = "input.amount > %d"`, `deny = "'blocked' in caller.groups"`, `deny = "tool.destructive && caller.subject == 'guest%d'"`,
		`allow = "'team%d' in caller.groups"`, `deny = "input.vendor startsWith 'x%d'"`,
	}
	for i := range rules {
		kind := kinds[i%len(kinds)]
		if strings.Contains(kind, "%d") {
			kind = fmt.Sprintf(kind, 1000+i)
		}
		fmt.Fprintf(&b, "policy \"p%02d\" { %s }\n", i, kind)
	}
	return b.String()
}

// callerWithRules returns a caller whom the last of the rules allows.
func callerWithRules(rules int) *mcp.Caller {
	groups := []string{"one", "two"}
	for i := range rules {
		if i%5 == 3 {
			groups = []string{"one", "two", fmt.Sprintf("team%d", 1000+i)}
		}
	}
	return &mcp.Caller{Subject: "ada", Identity: &mcp.Identity{Subject: "ada", Groups: groups}}
}

// newPayingCall returns a function that pays once.
func newPayingCall(t testing.TB, rules int) func() {
	h := newHost(t, configWithRules(rules))
	t.Cleanup(h.Close)
	req := &mcp.CallRequest{Name: "pay", Arguments: []byte(`{"amount": 12.5, "vendor": "north"}`), Caller: callerWithRules(rules)}
	var dst []byte
	return func() {
		out, err := h.CallTool(t.Context(), req)
		if err != nil || out.IsError {
			t.Fatalf("%v %s", err, out.AppendResult(nil, mcp.Revision20251125))
		}
		dst = out.AppendResult(dst[:0], mcp.Revision20251125)
	}
}

// BenchmarkTwentyRules prints what 20 rules add to a call, and how many times as long it takes with them: with and without they run in turns, so that both see the
// same machine.
func BenchmarkTwentyRules(b *testing.B) {
	without, with := newPayingCall(b, 0), newPayingCall(b, 20)
	var spent [2]time.Duration
	for b.Loop() {
		for i, call := range []func(){without, with} {
			began := time.Now()
			for range 100 {
				call()
			}
			spent[i] += time.Since(began)
		}
	}
	calls := float64(100 * b.N)
	b.ReportMetric(float64((spent[1]-spent[0]).Nanoseconds())/1000/calls, "µs-added/call")
	b.ReportMetric(float64(spent[1])/float64(spent[0]), "times-as-long")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkListsOfCallers lists 1,000 tools to callers who see different ones of them.
func BenchmarkListsOfCallers(b *testing.B) {
	for _, rules := range []int{0, 20} {
		b.Run(fmt.Sprintf("%d_rules", rules), func(b *testing.B) {
			var src strings.Builder
			for i := range 1000 {
				fmt.Fprintf(&src, "tool \"t%d\" {\n description = \"T.\"\n text = \"x\"\n}\n", i)
			}
			for i := range rules {
				fmt.Fprintf(&src, "policy \"p%d\" {\n tools = [\"t%d*\"]\n deny = \"'g%d' in caller.groups\"\n}\n", i, i, i)
			}
			h := newHost(b, src.String())
			var callers []*mcp.Caller
			for i := range 10 {
				callers = append(callers, callerOf("ada", fmt.Sprintf("g%d", i)))
			}
			for b.Loop() {
				for _, c := range callers {
					h.List(b.Context(), c, mcp.Tools)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*len(callers)), "µs/list")
			b.ReportMetric(0, "ns/op")
		})
	}
}

func TestWhatNoRuleIsAboutIsNotAskedAbout(t *testing.T) {
	h := newHost(t, paying+`policy "pay" {
		tools = ["pay"]
		deny  = "caller.subject == 'eve'"
	}
	toolset "other" { tools = ["look"] }`)
	g := h.Current()
	if g.Programs["look"].Rules != nil || g.Programs["pay"].Rules == nil {
		t.Error("rules are kept for the tool that they are not about")
	}
	if g.Views.Of("other").IsFiltered(mcp.Tools) || g.Views.Full.IsFiltered(mcp.Prompts) || !g.Views.Full.IsFiltered(mcp.Tools) {
		t.Error("lists are guarded that nothing hides anything of")
	}
}

func TestTwentyRulesCostLittle(t *testing.T) {
	without, two, with := newPayingCall(t, 0), newPayingCall(t, 2), newPayingCall(t, 20)
	// The second rule is the first that reads the caller, and makes what rules read of it.
	few, many := testing.AllocsPerRun(200, two), testing.AllocsPerRun(200, with)
	if many > few+12 {
		t.Errorf("a call with two rules takes %.0f allocations, and with 20 rules %.0f", few, many)
	}
	// Each side counts by its best round, which is the one that was least disturbed.
	best := [2]time.Duration{time.Hour, time.Hour}
	for range 30 {
		for i, call := range []func(){without, with} {
			began := time.Now()
			for range 50 {
				call()
			}
			best[i] = min(best[i], time.Since(began))
		}
	}
	if best[1] > 20*best[0] {
		t.Errorf("with 20 rules a call takes %v, and without %v", best[1]/50, best[0]/50)
	}
}
