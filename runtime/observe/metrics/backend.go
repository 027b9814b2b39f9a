package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Backend counts what one kind of block does over one connection. It is safe for concurrent use. A nil Backend counts
// nothing.
type Backend struct {
	metrics *Metrics
	key     backendKey
	gone    time.Time // since when it is not used; zero while it is; guarded by Metrics.mu

	durations                 [len(backendOutcomes)]slot[prometheus.Observer]
	attempts, pages, replaced slot[prometheus.Counter]
}

type backendKey struct{ kind, connection string }

// Outcomes of a backend.
const (
	BackendOK          = "ok"
	BackendFailed      = "failed"
	BackendUnavailable = "unavailable" // it did not answer, or said that it cannot now
	BackendNotSent     = "not_sent"    // a limit or a breaker has kept the request back
	BackendCancelled   = "cancelled"
)

var backendOutcomes = [...]string{
	other, BackendOK, BackendFailed, BackendUnavailable, BackendNotSent, BackendCancelled,
}

// BackendCounts is what a run of a backend has counted: the requests that it has sent, the pages that it has read, and
// the characters that it has replaced.
type BackendCounts struct{ Attempts, Pages, Replaced int }

// End counts a run of a backend.
func (b *Backend) End(outcome string, took time.Duration, counts BackendCounts, traceID string) {
	at := indexIn(backendOutcomes[:], outcome)
	newSeries := func(name string) prometheus.Observer {
		return b.metrics.backendDurations.WithLabelValues(b.key.kind, name, backendOutcomes[at])
	}
	observe(useSlot(b.metrics, &b.durations[at], backendDuration, b.key.connection, newSeries), took, traceID)
	if counts.Attempts > 0 {
		b.counter(&b.attempts, backendAttempts, b.metrics.backendAttempts).Add(float64(counts.Attempts))
	}
	if counts.Pages > 0 {
		b.counter(&b.pages, backendPages, b.metrics.backendPages).Add(float64(counts.Pages))
	}
	if counts.Replaced > 0 {
		b.counter(&b.replaced, backendReplaced, b.metrics.backendReplaced).Add(float64(counts.Replaced))
	}
}

func (b *Backend) counter(s *slot[prometheus.Counter], family string, vec *prometheus.CounterVec) prometheus.Counter {
	return useSlot(b.metrics, s, family, b.key.connection, func(name string) prometheus.Counter {
		return vec.WithLabelValues(b.key.kind, name)
	})
}

// Backend returns what counts the blocks of a kind over a connection, whose name is empty for none. It is the same in
// all configurations.
func (m *Metrics) Backend(kind, connection string) *Backend {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	key := backendKey{kind, connection}
	b := m.backends[key]
	if b == nil {
		b = &Backend{metrics: m, key: key}
		m.backends[key] = b
	}
	b.gone = time.Time{}
	return b
}

func (m *Metrics) pruneBackends() {
	for key, b := range m.backends {
		if b.gone.IsZero() || m.now().Sub(b.gone) < keepRemoved {
			continue
		}
		delete(m.backends, key)
		labels := prometheus.Labels{"kind": key.kind, "connection": key.connection}
		m.series[backendDuration] -= m.backendDurations.DeletePartialMatch(labels)
		m.series[backendAttempts] -= m.backendAttempts.DeletePartialMatch(labels)
		m.series[backendPages] -= m.backendPages.DeletePartialMatch(labels)
		m.series[backendReplaced] -= m.backendReplaced.DeletePartialMatch(labels)
	}
}
