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

	durations       [len(backendOutcomes)]slot[prometheus.Observer]
	attempts, pages slot[prometheus.Counter]
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

// End counts a run of a backend, with the requests that it has sent and the pages that it has read, where it counts
// these.
func (b *Backend) End(outcome string, took time.Duration, attempts, pages int, traceID string) {
	at := indexIn(backendOutcomes[:], outcome)
	newSeries := func(name string) prometheus.Observer {
		return b.metrics.backendDurations.WithLabelValues(b.key.kind, name, backendOutcomes[at])
	}
	observe(useSlot(b.metrics, &b.durations[at], backendDuration, b.key.connection, newSeries), took, traceID)
	if attempts > 0 {
		b.counter(&b.attempts, backendAttempts, b.metrics.backendAttempts).Add(float64(attempts))
	}
	if pages > 0 {
		b.counter(&b.pages, backendPages, b.metrics.backendPages).Add(float64(pages))
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
	}
}
