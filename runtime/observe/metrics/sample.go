package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Sample is what is read when it is scraped. What is nil is left out.
type Sample struct {
	Version  string // of the program
	Revision string // of the configuration that is served
	Commit   string // of that configuration; empty outside of a repository
	Stale    bool   // the directory holds a configuration that could not be loaded

	Connections []Connection
	Webhooks    []Webhook

	ApprovalsPending *int
	AuditWritable    *bool
	State            *State
	SpansDropped     *uint64 // since the process began
	LinesDropped     *uint64 // since the process began

	Tasks             map[string]int // by status
	Sessions, Streams int
}

// State is the state of the state store.
type State struct {
	Up   bool
	Took time.Duration // to answer
}

// Connection is the state of a connection.
type Connection struct {
	Kind, Name string
	Up         *bool     // nil when it cannot be asked
	Breaker    string    // "closed", "open" or "half-open"; empty without one
	Pool       *Pool     // nil without one
	Upstream   *Upstream // nil for a connection to something else
}

// Upstream is the state of an upstream server.
type Upstream struct {
	Drift    int // definitions that are not as reviewed
	Sessions int // that are open, or processes that run
	Restarts int // since the connection was opened
}

// Pool is the state of a pool of connections.
type Pool struct{ InUse, Max int }

// Webhook is the state of a webhook.
type Webhook struct {
	Name    string
	Pending int
	Oldest  time.Duration // how long the oldest delivery waits; 0 for none
}

// breakerStates are the values of state.
var breakerStates = []string{"closed", "open", "half-open"}

// SetSampler sets what is read at each scrape.
func (m *Metrics) SetSampler(sample func() *Sample) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sample = sample
}

// current collects what is read when it is scraped.
type current Metrics

// Describe implements prometheus.Collector.
func (c *current) Describe(to chan<- *prometheus.Desc) {
	for _, d := range c.sampled {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (c *current) Collect(to chan<- prometheus.Metric) {
	c.mu.Lock()
	sample := c.sample
	c.mu.Unlock()
	if sample != nil {
		c.collectSample(to, sample())
	}
}

func (c *current) gauge(to chan<- prometheus.Metric, name string, value float64, labels ...string) {
	to <- prometheus.MustNewConstMetric(c.sampled[name], prometheus.GaugeValue, value, labels...)
}

func (c *current) truth(to chan<- prometheus.Metric, name string, is *bool, labels ...string) {
	if is != nil {
		c.gauge(to, name, number(*is), labels...)
	}
}

// count adds a counter that is counted elsewhere; none for nil.
func (c *current) count(to chan<- prometheus.Metric, name string, value *uint64, labels ...string) {
	if value != nil {
		to <- prometheus.MustNewConstMetric(c.sampled[name], prometheus.CounterValue, float64(*value), labels...)
	}
}

func number(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

func (c *current) collectSample(to chan<- prometheus.Metric, s *Sample) {
	c.gauge(to, buildInfo, 1, s.Version)
	c.gauge(to, configInfo, 1, s.Revision, s.Commit)
	c.gauge(to, configSynchronized, number(!s.Stale))
	for status, n := range s.Tasks {
		c.gauge(to, tasksRunning, float64(n), status)
	}
	c.gauge(to, sessionsOpen, float64(s.Sessions))
	c.gauge(to, streamsOpen, float64(s.Streams))
	c.truth(to, auditWritable, s.AuditWritable)
	if s.State != nil {
		c.gauge(to, stateUp, number(s.State.Up))
		c.gauge(to, stateDuration, s.State.Took.Seconds())
	}
	if s.ApprovalsPending != nil {
		c.gauge(to, approvalsPending, float64(*s.ApprovalsPending))
	}
	c.count(to, spansDropped, s.SpansDropped)
	c.count(to, linesDropped, s.LinesDropped)
	for _, conn := range s.Connections {
		c.truth(to, connectionUp, conn.Up, conn.Kind, conn.Name)
		if conn.Breaker != "" {
			for _, state := range breakerStates {
				c.gauge(to, breakerState, number(state == conn.Breaker), conn.Kind, conn.Name, state)
			}
		}
		if conn.Pool != nil {
			c.gauge(to, poolInUse, float64(conn.Pool.InUse), conn.Kind, conn.Name)
			c.gauge(to, poolMax, float64(conn.Pool.Max), conn.Kind, conn.Name)
		}
		if conn.Upstream != nil {
			c.gauge(to, upstreamDrift, float64(conn.Upstream.Drift), conn.Name)
			c.gauge(to, upstreamSessions, float64(conn.Upstream.Sessions), conn.Name)
			restarts := uint64(conn.Upstream.Restarts)
			c.count(to, upstreamRestarts, &restarts, conn.Name)
		}
	}
	for _, hook := range s.Webhooks {
		c.gauge(to, webhookPending, float64(hook.Pending), hook.Name)
		c.gauge(to, webhookOldest, hook.Oldest.Seconds(), hook.Name)
	}
}
