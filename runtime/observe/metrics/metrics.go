package metrics

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

const (
	// maxSeries is how many series of a family have names of the configuration; the rest have the name _other.
	maxSeries = 10_000
	// keepRemoved is how long the series of what is not served any more stay, so that the last scrape has them.
	keepRemoved = 5 * time.Minute
	// maxScrapes is how many scrapes are answered at once.
	maxScrapes = 2
)

// Metrics are the instruments of a process. They are safe for concurrent use.
type Metrics struct {
	registry *prometheus.Registry
	handler  http.Handler
	now      func() time.Time

	durations, sessionDurations, backendDurations, approvalWaits, reloadDurations *prometheus.HistogramVec

	calls, callers, refusals, backendAttempts, backendPages, backendReplaced, approvals, reloads, auditRecords,
	cacheResults, hookFailures, signIns *prometheus.CounterVec

	inFlight, waiting *prometheus.GaugeVec

	sampled map[string]*prometheus.Desc

	mu         sync.Mutex
	operations map[operationKey]*Operation // guarded by mu
	backends   map[backendKey]*Backend     // guarded by mu
	series     map[string]int              // with names of the configuration, by family; guarded by mu
	subjects   map[string]string           // of callers that are counted, with their labels; guarded by mu
	sample     func() *Sample              // nil until it is set; guarded by mu
}

// New returns the instruments of a process, all of which are zero.
func New() *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(), now: time.Now, sampled: describeSample(),
		operations: map[operationKey]*Operation{}, backends: map[backendKey]*Backend{},
		series: map[string]int{}, subjects: map[string]string{},

		durations:        newHistograms(operationDuration, durationBuckets[:]),
		sessionDurations: newHistograms(sessionDuration, sessionBuckets),
		backendDurations: newHistograms(backendDuration, durationBuckets[:]),
		approvalWaits:    newHistograms(approvalWait, waitBuckets),
		reloadDurations:  newHistograms(reloadDuration, loadBuckets),

		calls: newCounters(callsTotal), callers: newCounters(callerCalls), refusals: newCounters(refusalsTotal),
		backendAttempts: newCounters(backendAttempts), backendPages: newCounters(backendPages),
		backendReplaced: newCounters(backendReplaced),
		approvals:       newCounters(approvalsTotal), reloads: newCounters(reloadsTotal),
		auditRecords: newCounters(auditRecords), cacheResults: newCounters(cacheTotal),
		hookFailures: newCounters(hookFailures), signIns: newCounters(signInsTotal),

		inFlight: newGauges(callsInFlight), waiting: newGauges(callsWaiting),
	}
	m.registry.MustRegister((*current)(m),
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.handler = promhttp.HandlerFor(m, promhttp.HandlerOpts{
		EnableOpenMetrics: true, MaxRequestsInFlight: maxScrapes,
		DisableCompression: true, // which would take more time than all else
	})
	return m
}

// Operation returns what counts the calls of a tool, a prompt or a resource. It is the same in all configurations.
func (m *Metrics) Operation(kind, name string) *Operation {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	key := operationKey{kind, name}
	o := m.operations[key]
	if o == nil {
		o = &Operation{metrics: m, key: key}
		m.operations[key] = o
	}
	o.gone = time.Time{}
	return o
}

func (m *Metrics) refused(reason string) { m.refusals.WithLabelValues(reason).Inc() }

// RefusedRequest counts a request that was refused because of its credentials.
func (m *Metrics) RefusedRequest() {
	if m != nil {
		m.refused(RefusedByCredential)
	}
}

// SignIn counts what happened to a sign-in.
func (m *Metrics) SignIn(outcome string) {
	if m != nil {
		m.signIns.WithLabelValues(outcome).Inc()
	}
}

// RefusedForMemory counts a request that was refused because the requests in progress take all the memory.
func (m *Metrics) RefusedForMemory() {
	if m != nil {
		m.refused(RefusedByMemory)
	}
}

// RefusedForResets counts a connection that was closed because too many of its streams were reset.
func (m *Metrics) RefusedForResets() {
	if m != nil {
		m.refused(RefusedByResets)
	}
}

// AddHook begins to count the failures of hooks for a type of events, so that the first one is seen as an increase.
func (m *Metrics) AddHook(event string) {
	if m != nil {
		m.hookFailures.WithLabelValues(event)
	}
}

// HookFailed counts an event for which the condition of a hook has failed.
func (m *Metrics) HookFailed(event string) {
	if m != nil {
		m.hookFailures.WithLabelValues(event).Inc()
	}
}

// methods are those of the protocol but for calls.
var methods = []string{
	"initialize",
	"tools/list", "prompts/list", "resources/list", "resources/templates/list", "completion/complete", "tasks/get",
	"tasks/update", "tasks/cancel", "server/discover", "ping", "logging/setLevel", "resources/subscribe",
	"resources/unsubscribe", "tools/call", "prompts/get", "resources/read",
}

// Answered counts a request that was no call of an [Operation], by its method and the code of its error, 0 for none.
func (m *Metrics) Answered(http bool, method string, code int, took time.Duration) {
	if !slices.Contains(methods, method) {
		method = Unknown
	}
	transport, failed := transports[indexOf(http)], errorTypes[errorType(false, code)]
	m.durations.WithLabelValues(method, "", "", failed, transport).Observe(took.Seconds())
}

// SessionEnded counts a session that has ended.
func (m *Metrics) SessionEnded(http bool, took time.Duration) {
	m.sessionDurations.WithLabelValues(transports[indexOf(http)]).Observe(took.Seconds())
}

// Retain says which operations are served, and which connections are used by which blocks, from now on. The series of
// the others go after a while.
func (m *Metrics) Retain(serves, uses func(kind, name string) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for key, o := range m.operations {
		switch {
		case key.name == Unknown || serves(key.kind, key.name):
			o.gone = time.Time{}
		case o.gone.IsZero():
			o.gone = m.now()
		}
	}
	for key, b := range m.backends {
		switch {
		case uses(key.kind, key.connection):
			b.gone = time.Time{}
		case b.gone.IsZero():
			b.gone = m.now()
		}
	}
}

// prune removes the series of what was not served for a while.
func (m *Metrics) prune() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.pruneBackends()
	for key, o := range m.operations {
		if o.gone.IsZero() || m.now().Sub(o.gone) < keepRemoved {
			continue
		}
		delete(m.operations, key)
		ofCalls := prometheus.Labels{"kind": key.kind, "name": key.name}
		m.series[callsTotal] -= m.calls.DeletePartialMatch(ofCalls)
		m.series[callsInFlight] -= m.inFlight.DeletePartialMatch(ofCalls)
		m.series[callsWaiting] -= m.waiting.DeletePartialMatch(ofCalls)
		labels := prometheus.Labels{"gen_ai_tool_name": key.name}
		switch key.kind {
		case "tool": // only tools have these
			name := prometheus.Labels{"name": key.name}
			m.series[cacheTotal] -= m.cacheResults.DeletePartialMatch(name)
			m.series[approvalsTotal] -= m.approvals.DeletePartialMatch(name)
			m.series[approvalWait] -= m.approvalWaits.DeletePartialMatch(name)
		case "resource", "skill":
			continue // all of them share their series
		case "prompt":
			labels = prometheus.Labels{"gen_ai_prompt_name": key.name}
		}
		m.series[operationDuration] -= m.durations.DeletePartialMatch(labels)
	}
}

// ServeHTTP answers a scrape. While two are answered, others are refused with 503.
func (m *Metrics) ServeHTTP(w http.ResponseWriter, r *http.Request) { m.handler.ServeHTTP(w, r) }

// Loaded counts a load of the directory: ok, failed or held.
func (m *Metrics) Loaded(result string, took time.Duration) {
	if m == nil {
		return
	}
	m.reloads.WithLabelValues(result).Inc()
	m.reloadDurations.WithLabelValues().Observe(took.Seconds())
}

// Recorded counts a record of the audit log, which was written or not.
func (m *Metrics) Recorded(err error) {
	if m == nil {
		return
	}
	result := "written"
	if err != nil {
		result = "failed"
	}
	m.auditRecords.WithLabelValues(result).Inc()
}

// maxSubject is how many bytes of a subject are in a metric.
const maxSubject = 200

// countCaller counts a call of a subject, if at most that many subjects are counted with it.
func (m *Metrics) countCaller(subject, outcome string, maxCallers int) {
	m.mu.Lock()
	label, ok := m.subjects[subject]
	switch {
	case ok:
	case len(m.subjects) < maxCallers:
		label = strings.ToValidUTF8(strings.Clone(subject[:min(len(subject), maxSubject)]), "\uFFFD")
		m.subjects[strings.Clone(subject)] = label
	default:
		label = other
	}
	m.mu.Unlock()
	m.callers.WithLabelValues(label, outcome).Inc()
}
