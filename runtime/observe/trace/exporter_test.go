package trace

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"hatchel/adapters"
	"hatchel/runtime/observe/trace/tracetest"
)

// lockedText is what is logged.
type lockedText struct {
	mu   sync.Mutex
	text strings.Builder // guarded by mu
}

func (l *lockedText) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *lockedText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func openExporter(t testing.TB, endpoint string) (*Exporter, *lockedText) {
	t.Helper()
	logged := &lockedText{}
	e, err := Open(t.Context(), ExporterOptions{
		Endpoint: endpoint, Headers: map[string]string{"x-api-key": "key-of-the-collector"}, Version: "1",
		Log: slog.New(slog.NewTextHandler(logged, nil)), Dropped: new(atomic.Uint64),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e, logged
}

// TestSpansForACollectorThatIsAwayAreDropped ends more spans than may wait.
func TestSpansForACollectorThatIsAwayAreDropped(t *testing.T) {
	e, logged := openExporter(t, "http://127.0.0.1:1")
	tracer := NewTracer(e, 1, 100_000)
	for range 5000 {
		tracer.Start("x", "").End("")
	}
	e.Close()
	if n := e.dropped.Load(); n != 5000 {
		t.Errorf("%d spans are dropped", n)
	}
	if text := logged.String(); strings.Count(text, "spans dropped") != 1 || strings.Contains(text, "key-of") {
		t.Errorf("logged %s", text)
	}
}

// TestSpansThatTheCollectorTakesAreNotDropped has collectors that refuse, reject a part, and warn.
func TestSpansThatTheCollectorTakesAreNotDropped(t *testing.T) {
	for _, c := range []struct {
		status       int
		body, reason string
		dropped      uint64
	}{
		{http.StatusUnauthorized, "key-of-the-collector is wrong", "the collector answers with status 401", 10},
		{http.StatusOK, `{"partialSuccess": {"rejectedSpans": "3", "errorMessage": "x"}}`, "the collector does not take them", 3},
		{http.StatusOK, `{"partialSuccess": {"errorMessage": "use gzip"}}`, "", 0},
	} {
		collector := tracetest.New(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(c.status)
			w.Write([]byte(c.body))
		})
		e, logged := openExporter(t, collector.URL)
		tracer := NewTracer(e, 1, 100)
		for range 10 {
			tracer.Start("x", "").End("")
		}
		e.Close()
		text := logged.String()
		if n := e.dropped.Load(); n != c.dropped || c.reason == "" != (text == "") || !strings.Contains(text, c.reason) ||
			strings.Contains(text, "key-of") {
			t.Errorf("%d %s: %d spans are dropped: %s", c.status, c.body, n, text)
		}
	}
}

// TestADelayedReportNamesWhyItsSpansWereDropped has a collector that takes spans again when the report is made.
func TestADelayedReportNamesWhyItsSpansWereDropped(t *testing.T) {
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "3600000") // only the test sends
	status := http.StatusUnauthorized
	collector := tracetest.New(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
	e, logged := openExporter(t, collector.URL)
	tracer := NewTracer(e, 1, 100)
	send := func() {
		tracer.Start("x", "").End("")
		e.send(t.Context(), 1)
	}
	send()
	send() // within a minute of the first report
	status, e.logged.at = http.StatusOK, time.Time{}
	send()
	const report = `msg="spans dropped" spans=1 reason="the collector answers with status 401"`
	if text := logged.String(); strings.Count(text, report) != 2 {
		t.Errorf("logged %s", text)
	}
}

// TestACollectorThatDoesNotAnswerIsLeftAtTheEnd has a request under way when the Exporter is closed. Neither the end of
// a span nor Close waits for its answer, which comes after both.
func TestACollectorThatDoesNotAnswerIsLeftAtTheEnd(t *testing.T) {
	stop := make(chan struct{})
	collector := tracetest.New(t, func(http.ResponseWriter, *http.Request) { <-stop })
	defer close(stop)
	e, _ := openExporter(t, collector.URL)
	tracer := NewTracer(e, 1, 100_000)
	for range 3000 {
		tracer.Start("x", "").End("")
	}
	e.mu.Lock()
	if n := len(e.waiting) + e.sending; n > maxQueued {
		t.Errorf("%d spans wait", n)
	}
	e.mu.Unlock()
	if err := e.Close(); err == nil {
		t.Error("all spans were sent")
	}
	if n := e.dropped.Load(); n != 3000 {
		t.Errorf("%d spans are dropped", n)
	}
}

// TestACallHasABoundedNumberOfSpans begins too many below one another.
func TestACallHasABoundedNumberOfSpans(t *testing.T) {
	collector := tracetest.New(t, nil)
	e, _ := openExporter(t, collector.URL)
	root := NewTracer(e, 1, 1).Start("call", "")
	for range maxSpans + 10 {
		root.Start("step", adapters.SpanInternal).End("")
	}
	root.End("")
	e.Close()
	spans := collector.Spans()
	if len(spans) != maxSpans || spans[0].Attributes["hatchel.spans_omitted"] != "11" {
		t.Errorf("%d spans, %v", len(spans), spans[0].Attributes)
	}
}

// TestTheEnvironmentNamesTheCollector has no endpoint.
func TestTheEnvironmentNamesTheCollector(t *testing.T) {
	collector := tracetest.New(t, nil)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-tenant=a")
	t.Setenv("OTEL_SERVICE_NAME", "payments")
	e, err := Open(context.WithoutCancel(t.Context()), ExporterOptions{Log: slog.New(slog.DiscardHandler), Dropped: new(atomic.Uint64)})
	if err != nil {
		t.Fatal(err)
	}
	NewTracer(e, 1, 1).Start("call", "").End("")
	e.Close()
	headers, paths, _ := collector.Requests()
	if len(paths) != 1 || paths[0] != "/v1/traces" || headers[0].Get("X-Tenant") != "a" ||
		collector.Spans()[0].Resource["service.name"] != "payments" {
		t.Errorf("got %v, %v, %v", paths, headers, collector.Spans())
	}
}

func TestTheSamplerOfTheEnvironment(t *testing.T) {
	for _, c := range []struct {
		name, arg string
		want      float64
		wrong     bool
	}{
		{"", "", 1, false}, {"always_off", "", 0, false}, {"parentbased_always_on", "", 1, false},
		{"parentbased_traceidratio", "0.25", 0.25, false}, {"traceidratio", "2", 0, true}, {"xray", "", 0, true},
	} {
		t.Setenv("OTEL_TRACES_SAMPLER", c.name)
		t.Setenv("OTEL_TRACES_SAMPLER_ARG", c.arg)
		if got, err := RatioFromEnvironment(); got != c.want || (err != nil) != c.wrong {
			t.Errorf("%s %s: got %v, %v", c.name, c.arg, got, err)
		}
	}
}

func TestTheIntervalOfTheEnvironment(t *testing.T) {
	for _, c := range []struct {
		text  string
		want  time.Duration
		wrong bool
	}{{"", 5 * time.Second, false}, {"100", 100 * time.Millisecond, false}, {"0", 0, true}, {"5s", 0, true}} {
		t.Setenv("OTEL_BSP_SCHEDULE_DELAY", c.text)
		if got, err := sendInterval(); got != c.want || (err != nil) != c.wrong {
			t.Errorf("%q: got %v, %v", c.text, got, err)
		}
	}
}

// TestABatchIsSentWhenItIsFull has an interval that does not pass. One span that does not fill a batch waits for it.
func TestABatchIsSentWhenItIsFull(t *testing.T) {
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "3600000")
	received := make(chan struct{}, 1)
	collector := tracetest.New(t, func(http.ResponseWriter, *http.Request) { received <- struct{}{} })
	e, _ := openExporter(t, collector.URL)
	tracer := NewTracer(e, 1, 100_000)
	for range maxBatch + 1 {
		tracer.Start("x", "").End("")
	}
	<-received
	if n := len(collector.Spans()); n != maxBatch {
		t.Errorf("%d spans are received", n)
	}
}

// TestABucketAdmitsItsRate takes as much as it can for ten seconds.
func TestABucketAdmitsItsRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, taken := &bucket{interval: 50 * time.Millisecond, size: 20}, 0
		for range 10_000 {
			if b.take(time.Now()) {
				taken++
			}
			time.Sleep(time.Millisecond)
		}
		if taken < 215 || taken > 221 {
			t.Errorf("%d are taken in 10 s", taken)
		}
	})
}

// TestARedirectIsNotFollowed has a collector that sends everything on to another host.
func TestARedirectIsNotFollowed(t *testing.T) {
	other := tracetest.New(t, nil)
	collector := tracetest.New(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL+"/v1/traces", http.StatusTemporaryRedirect)
	})
	e, _ := openExporter(t, collector.URL)
	NewTracer(e, 1, 1).Start("call", "").End("")
	e.Close()
	if headers, _, _ := other.Requests(); len(headers) != 0 {
		t.Errorf("the other host got %v", headers)
	}
	if n := e.dropped.Load(); n != 1 {
		t.Errorf("%d spans are dropped", n)
	}
}
