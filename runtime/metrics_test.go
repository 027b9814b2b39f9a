package runtime

import (
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/observe/metrics"
	"hatchel/runtime/observe/trace/tracetest"
)

// newCaller returns calls of a tool of a host with or without a metrics block.
func newCaller(t testing.TB, block string) (h *Host, call func()) {
	h = newHost(t, loggedTools+block, func(o *HostOptions) { o.Build.Metrics = new(metrics.Exporter) })
	req := &mcp.CallRequest{
		Name: "greet", Arguments: []byte(`{"name":"Ada"}`),
		Caller: &mcp.Caller{Subject: "ann", Identity: &mcp.Identity{Subject: "ann"}, Remote: "192.0.2.7:4000"},
	}
	return h, newRepeatedCall(t, h, req)
}

const metricsBlock = "\ntelemetry {\n  metrics { callers = 10 }\n}\n"

func TestMetricsAllocateNothingInACall(t *testing.T) {
	_, plain := newCaller(t, "")
	h, measured := newCaller(t, metricsBlock)
	without, with := leastAllocs(plain), leastAllocs(measured)
	if with > without {
		t.Errorf("a call allocates %v times, and without metrics %v times", with, without)
	}
	m, _ := h.Telemetry().Metrics()
	w := httptest.NewRecorder()
	m.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	for _, want := range []string{
		`hatchel_calls_total{kind="tool",name="greet",outcome="ok"} 200`,
		`hatchel_caller_calls_total{outcome="ok",subject="ann"} 200`,
		`hatchel_reloads_total{result="ok"} 1`,
	} {
		if !strings.Contains(w.Body.String(), want+"\n") {
			t.Errorf("not %s in\n%s", want, w.Body)
		}
	}
}

func TestDurationsOfATracedCallHaveItsTraceAsAnExemplar(t *testing.T) {
	collector := tracetest.New(t, nil)
	h, call := newCaller(t, `
telemetry {
  metrics {}
  otlp {
    endpoint = "`+collector.URL+`"
    traces   = 1
  }
}
`)
	call()
	m, _ := h.Telemetry().Metrics()
	w, r := httptest.NewRecorder(), httptest.NewRequest("GET", "/metrics", nil)
	r.Header.Set("Accept", "application/openmetrics-text; version=1.0.0")
	m.ServeHTTP(w, r)
	exemplar := regexp.MustCompile(`mcp_server_operation_duration_seconds_bucket\{.*gen_ai_tool_name="greet".*# \{trace_id="[0-9a-f]{32}"\}`)
	if !exemplar.MatchString(w.Body.String()) {
		t.Errorf("there is no exemplar in\n%s", w.Body)
	}
}

func TestNothingIsMeasuredWithoutTheBlock(t *testing.T) {
	h, call := newCaller(t, "")
	call()
	if m, decl := h.Telemetry().Metrics(); m != nil || decl != nil || h.Telemetry().Observes() {
		t.Error("there are metrics")
	}
}

// TestCachesKeysAnswersTasksAndTheStateAreMeasured makes calls of each, with the state in a file.
func TestCachesKeysAnswersTasksAndTheStateAreMeasured(t *testing.T) {
	w := newFakeBackend()
	w.addCounter()
	src := tool("cached", caching+`fake { do = "count" }`) +
		tool("keyed", keyed+"input \"a\" { type = integer }\nfake { do = \"count\" }") +
		tool("asks", asking) + tool("later", task1h+`text = "x"`) + "telemetry {\n  metrics {}\n}\n"
	h := newHost(t, src, w.use, storedIn(t, filepath.Join(t.TempDir(), "state.db")), func(o *HostOptions) {
		o.Build.Metrics = new(metrics.Exporter)
	})
	for range 3 {
		mustCall(t, h, modernRequest("cached", `{}`, `{}`))
	}
	callAs(t, h, "ann", "keyed", `{"a":1,"idempotency_key":"k"}`)
	callAs(t, h, "ann", "keyed", `{"a":2,"idempotency_key":"k"}`)
	mustCall(t, h, modernRequest("asks", `{}`, `{}`)) // of a client that cannot be asked
	startTask(t, h, "later")
	waitForTasks(t, h)
	m, _ := h.Telemetry().Metrics()
	r := httptest.NewRecorder()
	m.ServeHTTP(r, httptest.NewRequest("GET", "/metrics", nil))
	for _, want := range []string{
		`hatchel_cache_total{name="cached",result="hit"} 2`,
		`hatchel_cache_total{name="cached",result="miss"} 1`,
		`hatchel_refusals_total{reason="key"} 1`,
		`hatchel_refusals_total{reason="answer"} 1`,
		`hatchel_tasks{status="completed"} 1`,
		`hatchel_tasks{status="working"} 0`,
		`hatchel_state_up 1`,
	} {
		if !strings.Contains(r.Body.String(), want+"\n") {
			t.Errorf("not %s in\n%s", want, r.Body)
		}
	}
}

// BenchmarkMetricsOfACall reports what a metrics block adds to a call.
func BenchmarkMetricsOfACall(b *testing.B) {
	calls := make([]func(), 2)
	_, calls[0] = newCaller(b, "")
	_, calls[1] = newCaller(b, metricsBlock)
	fastest := [2]time.Duration{time.Hour, time.Hour} // of 100 calls: other programs only make rounds slower
	for b.Loop() {
		for i, call := range calls {
			began := time.Now()
			for range 100 {
				call()
			}
			fastest[i] = min(fastest[i], time.Since(began))
		}
	}
	b.ReportMetric(float64((fastest[1]-fastest[0]).Nanoseconds())/100, "ns-added/call")
	b.ReportMetric(0, "ns/op")
}
