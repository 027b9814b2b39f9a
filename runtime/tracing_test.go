package runtime

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/observe/metrics"
	"hatchel/runtime/observe/trace/tracetest"
)

// otlp is a telemetry block that sends traces to a collector.
func otlp(collector, arguments string) string {
	return fmt.Sprintf("telemetry {\n  otlp {\n    endpoint = %q\n%s\n  }\n}\n", collector, arguments)
}

const unsampledParent = "00-" + traceID + "-b7ad6b7169203331-00"

// sentBy returns a request of the tool t with a traceparent: of a caller on stdio in its _meta, or for nil of one over HTTP
// who is not authenticated, in its header.
func sentBy(identity *mcp.Identity, parent string) *mcp.CallRequest {
	req := modernRequest("t", `{}`, `{}`)
	if identity == nil {
		req.Caller.Header = http.Header{"Traceparent": {parent}}
		return req
	}
	req.Caller.SetIdentity(identity)
	req.Meta = []byte(`{"traceparent":"` + parent + `"}`)
	return req
}

// TestTheDecisionOfATrustedCallerCounts makes calls with and without a decision: that of a trusted caller counts, for
// others the share does, and what is sent on to backends says the same.
func TestTheDecisionOfATrustedCallerCounts(t *testing.T) {
	agent := &mcp.Identity{Subject: "bot", Groups: []string{"agents"}}
	other := &mcp.Identity{Subject: "eve"}
	for claim, c := range map[string]struct {
		arguments string
		caller    *mcp.Identity
		parent    string
		spans     int
		sentOn    string // the end of what backends get
	}{
		"trusted, sampled":               {"traces = 0", other, traceparent, 1, "-01"},
		"trusted, not sampled":           {"traces = 1", other, unsampledParent, 0, "-00"},
		"not authenticated":              {"traces = 0", nil, traceparent, 0, "b7ad6b7169203331-00"},
		"not authenticated, by chance":   {"traces = 1", nil, unsampledParent, 1, "-01"},
		"no decision":                    {"traces = 1", other, "", 1, "-01"},
		"no decision, no share":          {"traces = 0", other, "", 0, ""},
		"malformed":                      {"traces = 0", other, "00-xyz", 0, ""},
		"trust names the caller":         {"traces = 0\n trust = \"'agents' in caller.groups\"", agent, traceparent, 1, "-01"},
		"trust does not name the caller": {"traces = 0\n trust = \"'agents' in caller.groups\"", other, traceparent, 0, "-00"},
	} {
		t.Run(claim, func(t *testing.T) {
			collector, w := tracetest.New(t, nil), newFakeBackend()
			w.addTraceparent()
			h := newHost(t, otlp(collector.URL, c.arguments)+tool("t", `fake { do = "trace" }`), w.use)
			got := mustCall(t, h, sentBy(c.caller, c.parent)).text()
			h.Close()
			if spans := collector.Spans(); len(spans) != c.spans || !strings.HasSuffix(got, c.sentOn) || c.sentOn == "" && got != "null" && got != "" {
				t.Errorf("%d spans, and backends get %q", len(spans), got)
			}
		})
	}
}

// TestTheMetaOfARequestIsTheParentAndItsHeaderALink has both.
func TestTheMetaOfARequestIsTheParentAndItsHeaderALink(t *testing.T) {
	collector := tracetest.New(t, nil)
	h := newHost(t, otlp(collector.URL, "")+tool("t", `text = "x"`))
	req := sentBy(nil, "00-11111111111111111111111111111111-2222222222222222-01")
	req.Meta = []byte(`{"traceparent":"` + traceparent + `"}`)
	mustCall(t, h, req)
	h.Close()
	s := collector.Spans()[0]
	if s.Trace != traceID || s.Parent != "b7ad6b7169203331" || fmt.Sprint(s.Links) != "[11111111111111111111111111111111-2222222222222222]" {
		t.Errorf("got %+v", s)
	}
}

// TestEveryPartOfACallIsInItsTree has a tool with a step that calls a tool, and one that runs for two elements at once.
func TestEveryPartOfACallIsInItsTree(t *testing.T) {
	collector := tracetest.New(t, nil)
	h := newHost(t, otlp(collector.URL, "traces = 1")+everyStep("x"))
	mustCall(t, h, modernRequest("outer", `{}`, `{}`))
	h.Close()
	const want = `server tools/call outer
  internal step inner
    internal tool inner
  internal step each
  internal step each
`
	if got := collector.Tree(); got != want {
		t.Errorf("got\n%s", got)
	}
}

// TestATaskBelongsToTheTraceOfItsCall has a call that becomes a task at once.
func TestATaskBelongsToTheTraceOfItsCall(t *testing.T) {
	collector := tracetest.New(t, nil)
	h := newHost(t, otlp(collector.URL, "traces = 1")+tool("t", task1h+`text = "x"`))
	startTask(t, h, "t")
	waitForTasks(t, h)
	h.Close()
	const want = "server tools/call t hatchel.outcome=task\n  server tools/call t hatchel.outcome=ok\n"
	if got := collector.Tree("hatchel.outcome"); got != want {
		t.Errorf("got\n%s", got)
	}
}

// TestACallThatGoesOnIsInItsTraceOrLinkedToIt answers a question with a request of no trace, and one of its own.
func TestACallThatGoesOnIsInItsTraceOrLinkedToIt(t *testing.T) {
	const own = "00-11111111111111111111111111111111-2222222222222222-01"
	for claim, parent := range map[string]string{"no trace of its own": "", "its own trace": own} {
		t.Run(claim, func(t *testing.T) {
			collector, w := tracetest.New(t, nil), newFakeBackend()
			w.addCounter()
			h := newHost(t, otlp(collector.URL, "traces = 0")+tool("t", asking), w.use)
			first := modernRequest("t", `{}`, `{"elicitation":{}}`)
			first.Meta = []byte(`{"traceparent":"` + traceparent + `"}`)
			out, err := requestTool(t.Context(), h, first)
			if err != nil || out.Questions == nil {
				t.Fatalf("%v, %+v", err, out)
			}
			again := retryRequest(first, out.Questions.State, `{"name":`+accept+`}`)
			if parent != "" {
				again.Meta = []byte(`{"traceparent":"` + parent + `"}`)
			}
			if _, err := requestTool(t.Context(), h, again); err != nil {
				t.Fatal(err)
			}
			h.Close()
			var calls []tracetest.Span
			for _, s := range collector.Spans() {
				if s.Kind == "server" {
					calls = append(calls, s)
				}
			}
			if len(calls) != 2 {
				t.Fatalf("got %+v", calls)
			}
			a, b := calls[0], calls[1]
			inTrace := b.Parent == a.ID && b.Trace == traceID && b.Links == nil
			isLinked := b.Parent == "2222222222222222" && len(b.Links) == 1 && b.Links[0] == a.Trace+"-"+a.ID
			if a.Attributes["hatchel.outcome"] != "asked" || parent == "" && !inTrace || parent != "" && !isLinked {
				t.Errorf("got %+v\nand %+v", a, b)
			}
		})
	}
}

// TestWaitingForAnApprovalIsAnEvent approves a call.
func TestWaitingForAnApprovalIsAnEvent(t *testing.T) {
	collector, w := tracetest.New(t, nil), newFakeBackend()
	w.addCounter()
	path := filepath.Join(t.TempDir(), "state.db")
	h := newHost(t, otlp(collector.URL, "traces = 1")+tool("refund", refunding), w.use, storedIn(t, path))
	approver, said := newApprover(t, h), startCall(t, h, "ann", "refund", `{"amount":500}`)
	approver.decide(approver.waitForPending(1)[0], true, "")
	<-said
	h.Close()
	if got := fmt.Sprint(collector.Spans()[0].Events); got != "[approval awaited approval: approved]" {
		t.Errorf("got %s", got)
	}
}

// TestAFloodOfSampledCallsIsBounded makes a thousand calls whose caller wants them traced.
func TestAFloodOfSampledCallsIsBounded(t *testing.T) {
	collector := tracetest.New(t, nil)
	h := newHost(t, otlp(collector.URL, "burst = 20")+tool("t", `text = "x"`))
	for range 1000 {
		mustCall(t, h, sentBy(&mcp.Identity{Subject: "eve"}, traceparent))
	}
	h.Close()
	if n := len(collector.Spans()); n < 20 || n > 100 {
		t.Errorf("%d calls are traced", n)
	}
}

// TestAReloadAddsChangesAndRemovesTraces serves four configurations, each for one call.
func TestAReloadAddsChangesAndRemovesTraces(t *testing.T) {
	first, second := tracetest.New(t, nil), tracetest.New(t, nil)
	aTool := tool("t", `text = "x"`)
	h := newHost(t, aTool)
	for _, block := range []string{"", otlp(first.URL, ""), otlp(second.URL, "headers = { a = \"b\" }"), otlp(second.URL, "traces = 0"), ""} {
		load(t, h, block+aTool)
		mustCall(t, h, modernRequest("t", `{}`, `{}`))
	}
	h.AwaitRetired()
	h.build.caches.exporters.mu.Lock()
	left := len(h.build.caches.exporters.open)
	h.build.caches.exporters.mu.Unlock()
	if a, b := len(first.Spans()), len(second.Spans()); a != 1 || b != 1 || left != 0 {
		t.Errorf("%d and %d spans, %d exporters left", a, b, left)
	}
}

// TestValidationSendsNoTraces compiles as validate does, which opens nothing.
func TestValidationSendsNoTraces(t *testing.T) {
	inspect := func(o *HostOptions) { o.Build.Inspect = true }
	h := newHost(t, otlp("http://127.0.0.1:1", "")+tool("t", `text = "x"`), inspect)
	if h.Current().Env.Tracing != nil {
		t.Error("traces are sent")
	}
}

// TestABadSamplerInTheEnvironmentIsAnError names a sampler that there is not.
func TestABadSamplerInTheEnvironmentIsAnError(t *testing.T) {
	t.Setenv("OTEL_TRACES_SAMPLER", "jaeger_remote")
	h := newHost(t, tool("t", `text = "x"`))
	diags := h.Load(t.Context(), fstest.MapFS{"a.hcl": {Data: []byte(otlp("http://127.0.0.1:1", "") + tool("t", `text = "x"`))}})
	if !diags.HasErrors() || !strings.Contains(diags[0].Detail, "OTEL_TRACES_SAMPLER is always_on") {
		t.Errorf("got %v", diags)
	}
}

// TestACallThatIsNotTracedAllocatesAsWithoutTheBlock has a trace context in its header, and in none.
func TestACallThatIsNotTracedAllocatesAsWithoutTheBlock(t *testing.T) {
	for _, parent := range []string{"", unsampledParent} {
		allocs := map[string]float64{}
		for _, block := range []string{"", otlp("http://127.0.0.1:1", "traces = 0")} {
			h := newHost(t, block+tool("t", `text = "x"`))
			allocs[block] = leastAllocs(newRepeatedCall(t, h, sentBy(nil, parent)))
		}
		if with := allocs[otlp("http://127.0.0.1:1", "traces = 0")]; with > allocs[""] {
			t.Errorf("with %q a call allocates %v times, and %v times without the block", parent, with, allocs[""])
		}
	}
}

// TestAForwardedTraceContextAllocatesNothing has one in its _meta, without and with the block. Where its caller is not
// trusted, a context that is sampled is passed on as one that is not.
func TestAForwardedTraceContextAllocatesNothing(t *testing.T) {
	for _, block := range []string{"", otlp("http://127.0.0.1:1", "traces = 0")} {
		h := newHost(t, block+tool("t", `text = "x"`))
		allocs := func(parent string) float64 {
			req := sentBy(nil, "")
			req.Meta = []byte(`{"traceparent":"` + parent + `"}`)
			return leastAllocs(newRepeatedCall(t, h, req))
		}
		none := allocs("")
		for _, parent := range []string{unsampledParent, traceparent} {
			if n := allocs(parent); n > none {
				t.Errorf("a call allocates %v times, and %v times without a trace context", n, none)
			}
		}
	}
}

// TestDroppedSpansAreAMetric has a collector that is away.
func TestDroppedSpansAreAMetric(t *testing.T) {
	measured := func(o *HostOptions) { o.Build.Metrics = new(metrics.Exporter) }
	aTool := tool("t", `text = "x"`)
	block := strings.Replace(otlp("http://127.0.0.1:1", "traces = 1"), "otlp {", "metrics {}\n  otlp {", 1)
	h := newHost(t, block+aTool, measured)
	mustCall(t, h, modernRequest("t", `{}`, `{}`))
	load(t, h, strings.Replace(block, "traces = 1", "headers = { a = \"b\" }", 1)+aTool)
	h.AwaitRetired()
	if n := h.Telemetry().Sample().SpansDropped; n == nil || *n != 1 {
		t.Errorf("got %v", n)
	}
	load(t, h, aTool)
	if n := h.Telemetry().Sample().SpansDropped; n != nil {
		t.Errorf("without the block there are %d", *n)
	}
}

// BenchmarkTracedCalls measures a call without the block, with it and not sampled, and sampled.
func BenchmarkTracedCalls(b *testing.B) {
	collector := tracetest.New(b, nil)
	text := `tool "t" {
		description = "A tool."
		input "name" { type = string("Who", { max_length = 80 }) }
		text = "Hello ${input.name}."
	}`
	for _, c := range []struct{ name, block string }{
		{"no_block", ""},
		{"not_sampled", otlp(collector.URL, "traces = 0")},
		{"sampled_5_percent", otlp(collector.URL, "traces = 0.05\nburst = 100000")},
		{"sampled", otlp(collector.URL, "traces = 1\nburst = 100000")},
	} {
		for _, parent := range []string{"", unsampledParent} {
			name := c.name
			if parent != "" {
				if name += "_traceparent"; c.name == "sampled" || c.name == "sampled_5_percent" {
					continue
				}
			}
			b.Run(name, func(b *testing.B) {
				h := newHost(b, c.block+text)
				req := &mcp.CallRequest{Name: "t", Arguments: []byte(`{"name":"Ada"}`), Caller: &mcp.Caller{Revision: mcp.Revision20251125, Header: http.Header{}}}
				if parent != "" {
					req.Caller.Header["Traceparent"] = []string{parent}
				}
				var dst []byte
				b.ReportAllocs()
				for b.Loop() {
					out, err := requestTool(b.Context(), h, req)
					if err != nil {
						b.Fatal(err)
					}
					dst = out.AppendResult(dst[:0], mcp.Revision20251125)
				}
			})
		}
	}
}
