package runtime

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"hatchel/hcl"
	"hatchel/runtime/audit"
	"hatchel/runtime/call"
	"hatchel/runtime/digest"
	"hatchel/runtime/endpoint"
	"hatchel/runtime/mcp"
	"hatchel/runtime/metrics"
	"hatchel/runtime/trace"
)

// openMetrics measures what is declared, if this program measures, and opens the listener for metrics. The charts of a
// console need the counters, too.
func (c *compiler) openMetrics() {
	decl, exporter := c.g.Config.Telemetry.Metrics, c.build.Metrics
	if exporter == nil || decl == nil && c.g.console == nil {
		return
	}
	c.g.metrics = exporter.Metrics()
	c.g.env.Metrics = c.g.metrics
	if decl == nil {
		return
	}
	c.g.env.MetricCallers = decl.Callers
	if decl.Listen == "" {
		return
	}
	listener, err := exporter.Open(c.ctx, decl.Listen)
	if err != nil {
		c.report("Metrics not available", "Metrics cannot be served at "+decl.Listen+": "+err.Error()+".", decl.Range)
		return
	}
	c.g.scrapes = listener
	c.g.cleanups.add(func() error { return exporter.Discard(listener) })
}

// serveMetrics serves the metrics where a generation wants them from now on.
func (h *Host) serveMetrics(next *Generation) {
	if exporter := h.build.Metrics; exporter != nil {
		exporter.Serve(next.scrapes, endpoint.Options{
			Name: "metrics", TLS: h.TLSConfig, WriteTimeout: metrics.ScrapeTimeout, Log: h.build.Log,
		})
		if next.metrics != nil {
			next.metrics.SetSampler(h.sampleMetrics)
		}
	}
}

// measureLoad counts a load after which the generation is served. The metrics of what is not served any more go after a
// while.
func (g *Generation) measureLoad(r Report, took time.Duration) {
	if g.metrics == nil {
		return
	}
	g.metrics.Loaded(r.Result(), took)
	type pair [2]string
	served, used := map[pair]bool{}, map[pair]bool{}
	for _, o := range g.operations {
		served[pair{o.Kind, o.Decl.Name}] = true
		for _, s := range o.Decl.Steps {
			used[pair{s.Backend.Kind, connectionName(s.Backend)}] = true
		}
	}
	g.metrics.Retain(func(kind, name string) bool { return served[pair{kind, name}] },
		func(kind, name string) bool { return used[pair{kind, name}] })
}

func connectionName(b *hcl.Backend) string {
	if b.Connection == nil {
		return ""
	}
	return b.Connection.Name
}

// meterBackend returns what counts the runs of a backend; nil for a built-in one, and when nothing is measured.
func (c *compiler) meterBackend(b *hcl.Backend) *metrics.Backend {
	if _, ok := c.build.Set.Adapter(b.Kind); !ok {
		return nil
	}
	return c.g.metrics.Backend(b.Kind, connectionName(b))
}

// measureAudit returns an audit log with a count of its records.
func (c *compiler) measureAudit(log call.Audit) call.Audit {
	if c.g.metrics == nil {
		return log
	}
	return measuredAudit{log, c.g.metrics}
}

type measuredAudit struct {
	call.Audit
	metrics *metrics.Metrics
}

// Append implements call.Audit.
func (m measuredAudit) Append(r *audit.Record, durable bool) error {
	err := m.Audit.Append(r, durable)
	m.metrics.Recorded(err)
	return err
}

// sampleMetrics reads the state of the server. It asks the connections, as readiness does.
func (h *Host) sampleMetrics() *metrics.Sample {
	g, status := h.pin(), h.Status()
	if g == nil {
		return &metrics.Sample{Version: h.build.Version}
	}
	defer g.leave()
	ctx, cancel := context.WithTimeout(g.env.Running, pingTimeout)
	defer cancel()
	s := &metrics.Sample{
		Version: h.build.Version, Revision: g.Config.ID, Commit: g.build.Commit, Stale: status.isStale(),
	}
	h.notify(func(n Notifier) { s.Sessions, s.Streams = n.Connected() })
	if g.env.Tracing != nil {
		dropped := h.build.caches.spansDropped.Load()
		s.SpansDropped = &dropped
	}
	if h.build.LogDropped != nil {
		dropped := h.build.LogDropped()
		s.LinesDropped = &dropped
	}
	var asked sync.WaitGroup // all at once
	asked.Go(func() { s.Connections = g.sampleConnections(ctx) })
	asked.Go(func() { s.State = h.build.State.sample(ctx) })
	asked.Go(func() { s.Tasks = h.build.State.countTasks(ctx) })
	asked.Go(func() { s.AuditWritable = upOf(g.auditHealth(ctx)) })
	asked.Go(func() { s.Webhooks = h.build.State.sampleWebhooks(ctx, g.Config) })
	asked.Go(func() { s.ApprovalsPending = h.build.State.countPending(ctx) })
	asked.Wait()
	return s
}

func upOf(h *Health) *bool {
	if h == nil {
		return nil
	}
	return &h.OK
}

func (g *Generation) sampleConnections(ctx context.Context) []metrics.Connection {
	health := g.Health(ctx)
	out := make([]metrics.Connection, len(g.health))
	for i, probe := range g.health {
		c := &out[i]
		c.Kind, c.Name, c.Breaker = probe.decl.Kind, probe.decl.Name, health[i].Breaker
		if probe.conn != nil {
			c.Up = &health[i].OK
		}
		if probe.pool != nil {
			inUse, maximum := probe.pool.Pool()
			c.Pool = &metrics.Pool{InUse: inUse, Max: maximum}
		}
	}
	return out
}

func (s *State) sampleWebhooks(ctx context.Context, c *hcl.Config) (out []metrics.Webhook) {
	for _, h := range s.webhookHealth(ctx, c) {
		hook := metrics.Webhook{Name: h.Name, Pending: h.Pending}
		if h.Oldest != nil {
			hook.Oldest = time.Since(*h.Oldest)
		}
		out = append(out, hook)
	}
	return out
}

// countPending returns how many approvals wait for a decision; nil when the store is not open or does not say.
func (s *State) countPending(ctx context.Context) *int {
	opened := s.current()
	if opened == nil {
		return nil
	}
	n, err := opened.book.CountPending(ctx)
	if err != nil {
		return nil
	}
	return &n
}

// sample asks the store; nil when it is not open.
func (s *State) sample(ctx context.Context) *metrics.State {
	opened := s.current()
	if opened == nil {
		return nil
	}
	began := time.Now()
	if health := s.health(ctx); health != nil {
		return &metrics.State{Up: health.OK, Took: time.Since(began)}
	}
	_, err := opened.Store.Record(ctx, "probe", "probe")
	return &metrics.State{Up: err == nil, Took: time.Since(began)}
}

// countTasks returns how many tasks are kept, by status; none when the store is not open or does not say.
func (s *State) countTasks(ctx context.Context) map[string]int {
	if s.current() == nil {
		return nil
	}
	counts, err := s.tasks.Count(ctx)
	if err != nil {
		return nil
	}
	return counts
}

// SetScrapeHandler sets what serves the requests to the listener for metrics.
func (h *Host) SetScrapeHandler(handler http.Handler) {
	if h.build.Metrics != nil {
		h.build.Metrics.SetHandler(handler)
	}
}

// Metrics returns the metrics and their block; nil when none are served.
func (h *Host) Metrics() (*metrics.Metrics, *hcl.Metrics) {
	g := h.Current()
	if g.metrics == nil || g.Config.Telemetry.Metrics == nil {
		return nil, nil
	}
	return g.metrics, g.Config.Telemetry.Metrics
}

// keepHistory keeps the history of calls while a console shows it.
func (h *Host) keepHistory(next *Generation) {
	switch kept := h.history.Load(); {
	case next != nil && next.console != nil && next.metrics != nil:
		if kept == nil {
			h.history.Store(metrics.StartHistory(next.env.Running, next.metrics))
		}
	case kept != nil:
		h.history.Store(nil)
		kept.Close()
	}
}

// History returns what tools were called lately; nil without a console.
func (h *Host) History() *metrics.History { return h.history.Load() }

// MayScrape reports whether the rule of the metrics block, which must have one, allows a caller.
func (h *Host) MayScrape(ctx context.Context, c *mcp.Caller) bool {
	g := h.pin()
	if g == nil {
		return false
	}
	defer g.leave()
	decl := g.Config.Telemetry.Metrics
	const text = "metrics.allow failed, caller may not read the metrics"
	return decl != nil && decl.Allow != nil && g.allows(ctx, decl.Allow, c, text)
}

// Observes implements mcp.Observer.
func (h *Host) Observes() bool { return h.Current().metrics != nil }

// Answered implements mcp.Observer.
func (h *Host) Answered(caller *mcp.Caller, method string, failed *mcp.Error, took time.Duration) {
	code := 0
	if failed != nil {
		code = failed.Code
	}
	if m := h.Current().metrics; m != nil {
		m.Answered(caller.Header != nil, method, code, took)
	}
}

// MemoryRefused implements mcp.Observer.
func (h *Host) MemoryRefused() { h.Current().metrics.RefusedForMemory() }

// SessionEnded implements mcp.Observer.
func (h *Host) SessionEnded(http bool, took time.Duration) {
	if m := h.Current().metrics; m != nil {
		m.SessionEnded(http, took)
	}
}

// measureUnknown counts a call of something that does not exist.
func (g *Generation) measureUnknown(kind string, caller *mcp.Caller, err *mcp.Error) {
	meter := g.metrics.Operation(kind, metrics.Unknown)
	meter.Begin()
	meter.End(&metrics.Call{HTTP: caller.Header != nil, Outcome: audit.Refused, IsError: true, Code: err.Code})
}

// openTracing opens the exporter of traces, if one is declared and calls are made. Generations that send traces to the
// same place share it.
func (c *compiler) openTracing() {
	decl := c.g.Config.Telemetry.OTLP
	if decl == nil || c.build.Inspect || c.build.Mocks != nil {
		return
	}
	headers := make(map[string]string, len(decl.Headers))
	key := []string{decl.Endpoint}
	for _, name := range slices.Sorted(maps.Keys(decl.Headers)) {
		headers[name] = decl.Headers[name].Reveal()
		key = append(key, name, headers[name])
	}
	open := func() (*trace.Exporter, error) {
		return trace.Open(c.g.env.Running, trace.ExporterOptions{
			Endpoint: decl.Endpoint, Headers: headers, Version: c.build.Version, Log: c.build.Log,
			Dropped: &c.build.caches.spansDropped,
		})
	}
	place := digest.Of(key...).String()
	exporter, release, err := c.build.caches.exporters.acquire(c.ctx, place, open, (*trace.Exporter).Close)
	if err != nil {
		c.report("Traces cannot be sent", "The traces cannot be sent: "+err.Error()+".", decl.Range)
		return
	}
	c.g.cleanups.add(release)
	ratio := 0.0
	if decl.Traces != nil {
		ratio = *decl.Traces
	} else if ratio, err = trace.RatioFromEnvironment(); err != nil {
		c.report("Traces cannot be sent", "The share of calls to trace is not known: "+err.Error()+".", decl.Range)
	}
	c.g.env.Tracing = &call.Tracing{Tracer: trace.NewTracer(exporter, ratio, decl.Burst), Trust: decl.Trust}
}
