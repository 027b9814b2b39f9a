package metrics

import (
	"sync"
	"time"

	"hatchel/runtime/edge/endpoint"
)

// ScrapeTimeout bounds the response to a scrape.
const ScrapeTimeout = 30 * time.Second

// Exporter has the metrics of a process, and the listener where they are scraped if they have one of their own. It
// outlives configurations. Its zero value has neither. It is safe for concurrent use.
type Exporter struct {
	endpoint.Endpoint

	mu      sync.Mutex
	metrics *Metrics // nil until a configuration asks for metrics; guarded by mu
}

// Metrics returns the metrics, which count from the first call of Metrics on.
func (e *Exporter) Metrics() *Metrics {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.metrics == nil {
		e.metrics = New()
	}
	return e.metrics
}
