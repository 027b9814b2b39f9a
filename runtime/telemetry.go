package runtime

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"hatchel/hcl"
	"hatchel/hcl/eventkind"
	"hatchel/internal/digest"
	"hatchel/runtime/call"
	"hatchel/runtime/durable/audit"
	"hatchel/runtime/durable/historystore"
	"hatchel/runtime/durable/store"
	"hatchel/runtime/durable/webhook"
	"hatchel/runtime/edge/endpoint"
	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/observe/event"
	"hatchel/runtime/observe/metrics"
	"hatchel/runtime/observe/probe"
	"hatchel/runtime/observe/trace"
	"hatchel/runtime/stage/limit"
)

// openMetrics measures what is declared, if this program measures, and opens the listener for metrics. The charts of a
// console need the counters, too.
func (c *compiler) openMetrics() {
	decl, exporter := c.g.Config.Telemetry.Metrics, c.build.Metrics
	if exporter == nil || decl == nil && c.g.Console == nil {
		return
	}
	c.g.Metrics = exporter.Metrics()
	c.g.Env.Metrics = c.g.Metrics
	if decl == nil {
		return
	}
	c.g.Env.MetricCallers = decl.Callers
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

// Telemetry measures what a Host does, and samples its state. It implements mcp.Observer.
type Telemetry struct {
	host    *Host
	history atomic.Pointer[keptHistory] // nil without a console
}

// Telemetry returns what measures the server.
func (h *Host) Telemetry() *Telemetry { return &h.telemetry }

// serve serves the metrics where a generation wants them from now on.
func (t *Telemetry) serve(next *Generation) {
	if exporter := t.host.build.Metrics; exporter != nil {
		exporter.Serve(next.scrapes, endpoint.Options{
			Name: "metrics", TLS: t.host.TLSConfig, WriteTimeout: metrics.ScrapeTimeout, Log: t.host.build.Log,
			ClosedForResets: t.ResetsRefused,
		})
		if next.Metrics != nil {
			next.Metrics.SetSampler(t.Sample)
		}
	}
}

// measureLoad counts a load after which the generation is served. The metrics of what is not served any more go after a
// while.
func (g *Generation) measureLoad(r Report, took time.Duration) {
	if g.Metrics == nil {
		return
	}
	g.Metrics.Loaded(r.Result(), took)
	type pair [2]string
	served, used := map[pair]bool{}, map[pair]bool{}
	for _, o := range g.Operations {
		served[pair{o.Kind, o.Decl.Name}] = true
		for _, s := range o.Decl.Steps {
			used[pair{s.Backend.Kind, connectionName(s.Backend)}] = true
		}
	}
	g.Metrics.Retain(func(kind, name string) bool { return served[pair{kind, name}] },
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
	return c.g.Metrics.Backend(b.Kind, connectionName(b))
}

// measureAudit returns an audit log with a count of its records.
func (c *compiler) measureAudit(log call.Audit) call.Audit {
	if c.g.Metrics == nil {
		return log
	}
	return measuredAudit{log, c.g.Metrics}
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

// Sample reads the state of the server. It asks the connections, as readiness does.
func (t *Telemetry) Sample() *metrics.Sample {
	g, status := t.host.pin(), t.host.Status()
	if g == nil {
		return &metrics.Sample{Version: t.host.build.Version}
	}
	defer g.leave()
	ctx, cancel := context.WithTimeout(g.Env.Running, store.PingTimeout)
	defer cancel()
	s := &metrics.Sample{
		Version: t.host.build.Version, Revision: g.Config.ID, Commit: g.build.Commit, Stale: status.isStale(),
	}
	t.host.clients.notify(func(n Notifier) { s.Sessions, s.Streams = n.Connected() })
	if g.Env.Tracing != nil {
		dropped := t.host.build.caches.spansDropped.Load()
		s.SpansDropped = &dropped
	}
	if t.host.build.LogDropped != nil {
		dropped := t.host.build.LogDropped()
		s.LinesDropped = &dropped
	}
	var asked sync.WaitGroup // all at once
	asked.Go(func() { s.Connections = g.Probes.Sample(ctx) })
	asked.Go(func() { s.State = t.host.build.State.Sample(ctx) })
	asked.Go(func() { s.Tasks = t.host.build.State.CountTasks(ctx) })
	asked.Go(func() { s.AuditWritable = upOf(g.AuditHealth(ctx)) })
	asked.Go(func() { s.Webhooks = t.host.build.State.SampleWebhooks(ctx, g.Config) })
	asked.Go(func() { s.ApprovalsPending = t.host.build.State.CountPending(ctx) })
	asked.Wait()
	return s
}

func upOf(h *store.Health) *bool {
	if h == nil {
		return nil
	}
	return &h.OK
}

// SetScrapeHandler sets what serves the requests to the listener for metrics.
func (t *Telemetry) SetScrapeHandler(handler http.Handler) {
	if t.host.build.Metrics != nil {
		t.host.build.Metrics.SetHandler(handler)
	}
}

// Metrics returns the metrics and their block; nil when none are served.
func (t *Telemetry) Metrics() (*metrics.Metrics, *hcl.Metrics) {
	g := t.host.Current()
	if g.Metrics == nil || g.Config.Telemetry.Metrics == nil {
		return nil, nil
	}
	return g.Metrics, g.Config.Telemetry.Metrics
}

// keptHistory is the history of calls, and what keeps it in the state.
type keptHistory struct {
	*metrics.History
	keeper *historystore.Keeper
}

// keepHistory keeps the history of calls while a console shows it.
func (t *Telemetry) keepHistory(next *Generation) {
	switch kept := t.history.Load(); {
	case next != nil && next.Console != nil && next.Metrics != nil:
		if kept == nil {
			history, state := metrics.StartHistory(next.Env.Running, next.Metrics), t.host.build.State
			t.history.Store(&keptHistory{history, historystore.Keep(state.Process, state.OpenLasting, history)})
		}
	case kept != nil:
		t.history.Store(nil)
		kept.keeper.Close()
		kept.Close()
	}
}

// History returns what tools were called lately, also in other processes; nil without a console. It reports whether the
// history is kept in the state.
func (t *Telemetry) History(ctx context.Context) (history *metrics.History, kept bool) {
	h := t.history.Load()
	if h == nil {
		return nil, false
	}
	now := time.Now()
	h.Read(now)
	return h.History, h.keeper.Refresh(ctx, now)
}

// Observes implements mcp.Observer.
func (t *Telemetry) Observes() bool { return t.host.Current().Metrics != nil }

// Answered implements mcp.Observer.
func (t *Telemetry) Answered(caller *mcp.Caller, method string, failed *mcp.Error, took time.Duration) {
	code := 0
	if failed != nil {
		code = failed.Code
	}
	if m := t.host.Current().Metrics; m != nil {
		m.Answered(caller.Header != nil, method, code, took)
	}
}

// MemoryRefused implements mcp.Observer.
func (t *Telemetry) MemoryRefused() { t.host.Current().Metrics.RefusedForMemory() }

// ResetsRefused counts a connection that was closed for the resets of its streams.
func (t *Telemetry) ResetsRefused() { t.host.Current().Metrics.RefusedForResets() }

// SessionEnded implements mcp.Observer.
func (t *Telemetry) SessionEnded(http bool, took time.Duration) {
	if m := t.host.Current().Metrics; m != nil {
		m.SessionEnded(http, took)
	}
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
		return trace.Open(c.g.Env.Running, trace.ExporterOptions{
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
	c.g.Env.Tracing = &call.Tracing{Tracer: trace.NewTracer(exporter, ratio, decl.Burst), Trust: decl.Trust}
}

// SessionChanged implements mcp.Observer.
func (t *Telemetry) SessionChanged(name string, owner *mcp.Identity, state string) {
	m := event.Meta{Kind: eventkind.Session, Owner: owner.Owner()}
	if owner != nil {
		m.Subject = owner.Subject
	}
	env := t.host.Current().Env
	env.Events.Publish(env.Running, m, event.Member{Name: "session", Value: name},
		event.Member{Name: "state", Value: state}, event.Member{Name: "subject", Value: m.Subject})
}

// ServerState is what the console shows of the systems that the server depends on, and of what is in its memory.
type ServerState struct {
	*metrics.Sample
	Health   []probe.ConnectionHealth // of Sample.Connections, in their order
	Upstream []probe.UpstreamHealth
	Webhooks []webhook.Health
	Engine   string // of the state store
	Limits   []limit.Usage
	InUse    int // limits, of which Limits has the most used ones
	Cached   int // results
	Bytes    int // of them
}

// ServerState asks the connections, as readiness does.
func (t *Telemetry) ServerState(ctx context.Context) *ServerState {
	s := &ServerState{Sample: t.Sample(), Engine: "in memory"}
	s.Cached, s.Bytes = t.host.build.caches.results.Size()
	g := t.host.pin()
	if g == nil {
		return s
	}
	defer g.leave()
	s.Upstream = g.Probes.Upstreams()
	s.Health, s.Webhooks = g.Probes.Health(ctx), t.host.build.State.WebhookHealth(ctx, g.Config)
	reading, cancel := context.WithTimeout(ctx, store.PingTimeout)
	defer cancel()
	s.Limits, s.InUse = t.host.build.caches.limiter.Usage(reading, g.Config)
	switch decl := g.Config.State; {
	case decl != nil && decl.Postgres != "":
		s.Engine = "PostgreSQL"
	case t.host.build.State.Current() != nil:
		s.Engine = "SQLite"
	}
	for i := range s.Webhooks {
		s.Webhooks[i].Error = g.Env.Scrubber.Text(s.Webhooks[i].Error)
	}
	return s
}
