package metrics

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func scrape(t *testing.T, m *Metrics, header ...string) string {
	t.Helper()
	w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/metrics", nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	m.ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		t.Fatalf("%d: %s", w.Code, w.Body)
	}
	return w.Body.String()
}

func countLines(text, beginning string) (n int) {
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, beginning) {
			n++
		}
	}
	return n
}

func end(o *Operation, c Call) {
	o.Begin()
	o.End(&c)
}

func TestACallAllocatesNothing(t *testing.T) {
	m := New()
	o, b := m.Operation("tool", "refund"), m.Backend("http", "shop")
	call := Call{HTTP: true, Outcome: "refused", Refusal: RefusedByLimit, IsError: true, Subject: "ada", MaxCallers: 1}
	work := func() {
		o.Begin()
		o.Wait(WaitLimit, 1)
		o.Wait(WaitLimit, -1)
		b.End(BackendOK, time.Millisecond, BackendCounts{Attempts: 2, Pages: 1, Replaced: 3}, "")
		o.End(&call)
	}
	if n := testing.AllocsPerRun(100, work); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestTheSeriesOfWhatIsRemovedGoAfterAWhile(t *testing.T) {
	m := New()
	now := time.Now()
	m.now = func() time.Time { return now }
	refund, search := m.Operation("tool", "refund"), m.Operation("tool", "search")
	end(refund, Call{Outcome: "ok"})
	end(search, Call{Outcome: "ok"})
	refund.Decided("approved", time.Minute)
	m.Backend("http", "shop").End(BackendOK, time.Second, BackendCounts{Attempts: 1, Pages: 1, Replaced: 3}, "")
	m.Backend("sql", "books").End(BackendOK, time.Second, BackendCounts{}, "")
	retain := func(names ...string) {
		serves := func(_, name string) bool { return strings.Contains(strings.Join(names, " "), name) }
		m.Retain(serves, serves)
	}
	retain("search", "books")
	now = now.Add(4 * time.Minute)
	if text := scrape(t, m); !strings.Contains(text, `"refund"`) || !strings.Contains(text, `"shop"`) {
		t.Error("the series have gone at once")
	}
	retain("search", "books")
	now = now.Add(2 * time.Minute)
	text := scrape(t, m)
	if strings.Contains(text, `"refund"`) || strings.Contains(text, `"shop"`) {
		t.Error("the series have stayed")
	}
	if !strings.Contains(text, `"search"`) || !strings.Contains(text, `"books"`) {
		t.Error("others have gone, too")
	}
	if m.series[callsTotal] != 1 || m.series[backendDuration] != 1 || m.series[approvalsTotal] != 0 {
		t.Errorf("counted as series: %v", m.series)
	}
	end(refund, Call{Outcome: "ok"}) // a call that has begun before
	end(m.Operation("tool", "refund"), Call{Outcome: "ok"})
	if text := scrape(t, m); !strings.Contains(text, `hatchel_calls_total{kind="tool",name="refund",outcome="ok"} 1`) {
		t.Error("a tool that is served again does not begin at 0")
	}
}

// TestAPromptThatIsRemovedTakesNoSeriesOfATool has a prompt and a tool of the same name.
func TestAPromptThatIsRemovedTakesNoSeriesOfATool(t *testing.T) {
	m := New()
	now := time.Now()
	m.now = func() time.Time { return now }
	refund := m.Operation("tool", "refund")
	end(refund, Call{Outcome: "ok"})
	end(m.Operation("prompt", "refund"), Call{Outcome: "ok"})
	refund.Cached(CacheHit)
	refund.Decided("approved", time.Minute)
	m.Retain(func(kind, _ string) bool { return kind == "tool" }, func(_, _ string) bool { return true })
	now = now.Add(2 * keepRemoved)
	text := scrape(t, m)
	for _, series := range []string{
		`hatchel_cache_total{name="refund"`, `hatchel_approvals_total{decision="approved",name="refund"}`,
		`hatchel_approval_wait_seconds_count{name="refund"}`, `gen_ai_tool_name="refund"`,
	} {
		if !strings.Contains(text, series) {
			t.Errorf("there is no %s", series)
		}
	}
	if strings.Contains(text, `kind="prompt"`) || strings.Contains(text, `gen_ai_prompt_name="refund"`) {
		t.Error("the series of the prompt have stayed")
	}
}

func TestAFamilyHasABoundedNumberOfSeries(t *testing.T) {
	m := New()
	for i := range maxSeries + 50 {
		end(m.Operation("tool", fmt.Sprint("tool_", i)), Call{Outcome: "ok"})
	}
	text := scrape(t, m)
	if n := countLines(text, callsTotal+"{"); n != maxSeries+1 {
		t.Errorf("%d series of calls", n)
	}
	if !strings.Contains(text, `hatchel_calls_total{kind="tool",name="_other",outcome="ok"} 50`) {
		t.Error("the others are not counted together")
	}
}

func TestWhatCallersSendMakesNoSeries(t *testing.T) {
	m := New()
	before := countLines(scrape(t, m), "")
	for i := range 1000 {
		m.Answered(true, fmt.Sprint("invented/", i), -32601, time.Millisecond)
		end(m.Operation("tool", Unknown), Call{Outcome: fmt.Sprint("odd ", i), Code: -i, IsError: true,
			Subject: fmt.Sprint("caller ", i), MaxCallers: 3})
	}
	text := scrape(t, m)
	if strings.Contains(text, "invented") || strings.Contains(text, "odd") {
		t.Error("a name of a caller is in the metrics")
	}
	if n := countLines(text, callerCalls+"{"); n != 4 {
		t.Errorf("%d callers are counted", n)
	}
	if n := countLines(text, "") - before; n > 250 {
		t.Errorf("%d lines more", n)
	}
}

func TestASubjectIsAValidLabel(t *testing.T) {
	m := New()
	subject := strings.Repeat("a", maxSubject-1) + "\xff\"\n" + strings.Repeat("b", 1000)
	end(m.Operation("tool", "refund"), Call{Outcome: "ok", Subject: subject, MaxCallers: 3})
	if text := scrape(t, m); !strings.Contains(text, `subject="`+strings.Repeat("a", maxSubject-1)+"\uFFFD\"} 1") {
		t.Error(text)
	}
}

func TestATraceBecomesAnExemplar(t *testing.T) {
	m := New()
	end(m.Operation("tool", "refund"), Call{HTTP: true, Outcome: "ok", TraceID: "0af7651916cd43dd8448eb211c80319c"})
	text := scrape(t, m, "Accept", "application/openmetrics-text; version=1.0.0")
	if !strings.Contains(text, `# {trace_id="0af7651916cd43dd8448eb211c80319c"}`) {
		t.Error("there is no exemplar")
	}
}

func TestScrapesAreBounded(t *testing.T) {
	m := New()
	begun, release := make(chan bool, 10), make(chan bool)
	m.SetSampler(func() *Sample {
		begun <- true
		<-release
		return &Sample{}
	})
	var running sync.WaitGroup
	for range maxScrapes {
		running.Go(func() { scrape(t, m) })
		<-begun
	}
	w := httptest.NewRecorder()
	m.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	close(release)
	running.Wait()
	if w.Code != http.StatusServiceUnavailable {
		t.Errorf("%d", w.Code)
	}
}

// TestBucketsAreThoseOfTheConvention has the boundaries that OpenTelemetry wants for durations of MCP: smaller ones are
// added for operations, and larger ones for sessions.
func TestBucketsAreThoseOfTheConvention(t *testing.T) {
	convention := []float64{0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300}
	if n := len(durationBuckets) - len(convention); !slices.Equal(durationBuckets[n:], convention) {
		t.Errorf("operations have %v", durationBuckets)
	}
	if !slices.Equal(sessionBuckets[:len(convention)], convention) {
		t.Errorf("sessions have %v", sessionBuckets)
	}
}
