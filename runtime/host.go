// Package runtime turns a loaded configuration into a server whose tools can be replaced while it
// serves.
//
// [Compile] makes a [Generation] of a configuration, and [Host] serves calls from the current one
// as a [mcp.Handler]. A load replaces it as one transaction: a load that fails changes nothing, a
// load that succeeds holds for every call that begins after it, and the replaced generation drains,
// is cancelled after a grace period, and is closed.
package runtime

import (
	"cmp"
	"context"
	"crypto/tls"
	"io/fs"
	"sync"
	"sync/atomic"
	"time"

	"hatchel/hcl"
	"hatchel/internal/service"
	"hatchel/runtime/call"
	"hatchel/runtime/durable/audit"
	"hatchel/runtime/durable/callstore"
	"hatchel/runtime/edge/endpoint"
	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/edge/operator"
	"hatchel/runtime/edge/served"
	"hatchel/runtime/edge/subscribe"
	"hatchel/runtime/edge/upload"
	"hatchel/runtime/load/hold"
)

// HostOptions are what a Host loads configurations with.
type HostOptions struct {
	Build Build
	Load  hcl.Options
	Grace time.Duration // before calls of a replaced configuration are cancelled; 30 s by default
	Hold  hold.Checker  // which configurations wait for their lock
}

// Host serves the current generation and replaces it. Make one with NewHost. Its methods may be
// called concurrently.
type Host struct {
	build         *Build
	options       HostOptions
	current       atomic.Pointer[Generation]
	clients       clients
	telemetry     Telemetry
	subscriptions *subscribe.Registry
	operator      *operator.Operator
	tls           *tls.Config // of connections, while the current configuration has certificates

	loading  sync.Mutex // one load at a time; calls never wait for it
	closed   bool       // guarded by loading
	loaded   bool       // a configuration was loaded; guarded by loading
	latest   latestLoad // the latest load without errors, of what may be held; guarded by loading
	closing  chan struct{}
	retiring sync.WaitGroup
	services *service.List // in the order in which each may use those before it

	loads loads
	calls *callstore.Store
}

// NewHost returns a Host that has no tools until something is loaded.
func NewHost(ctx context.Context, o HostOptions) *Host {
	if o.Grace <= 0 {
		o.Grace = 30 * time.Second
	}
	o.Load.Cache = cmp.Or(o.Load.Cache, hcl.NewCache())
	h := &Host{
		options: o, build: o.Build.withDefaults(ctx), closing: make(chan struct{}), services: service.NewList(ctx),
	}
	h.tls = newTLSConfig(h.Certificates)
	h.clients.host = h
	h.build.State.Tasks.SetAudience(&h.clients)
	h.build.State.Process.SetLog(h.build.Log)
	h.telemetry.host = h
	h.calls = callstore.New(h.build.State.Process, h.build.caches.recent)
	h.operator = operator.New(h, h.build.State, h.build.caches.events,
		operator.Calls{Recent: h.build.caches.recent, Stored: h.calls}, h.build.Log)
	h.build.State.Observe(h.operator)
	h.build.State.OnRevocation(func() {
		h.retainCallers(h.Current())
		h.build.caches.events.Changed()
	})
	empty, _ := Compile(ctx, &hcl.Config{}, *h.build)
	h.current.Store(empty)
	h.build.current = h.Current
	h.subscriptions = subscribe.New(ctx, subscribedServer{h})
	if o.Build.State == nil {
		h.services.Start(service.Service{Name: "state", Stop: h.build.State.Close})
	}
	if console := h.build.Console; console != nil {
		h.services.Start(service.Ending("console", console.Close))
	}
	if exporter := h.build.Metrics; exporter != nil {
		h.services.Start(service.Ending("metrics", exporter.Close))
	}
	h.services.Start(
		service.Ending("events", h.build.caches.events.Close),
		service.Ending("calls of the console", h.calls.Close),
		service.Ending("history of calls", func() { h.telemetry.keepHistory(nil) }),
		service.Ending("log of refusals", h.operator.Flush),
		service.Ending("configurations", func() {
			close(h.closing)
			h.current.Load().retire(0, h.closing)
			h.retiring.Wait()
		}),
		service.Ending("subscriptions", h.subscriptions.Close),
		service.Ending("tasks", func() { h.build.State.Tasks.Close(call.ErrStopped) }),
	)
	return h
}

// latestLoad is what a load has read.
type latestLoad struct {
	id      string
	sources map[string][]byte
}

// Load replaces the configuration by the one in fsys, as one transaction. With errors among the
// diagnostics nothing has changed; a statement that is not served yet and that its database refuses is
// one, and so are differences to the lock that have to wait. Otherwise every call that begins after Load has
// returned sees the new configuration, and running calls end on the one that they began with. After Close, Load
// does nothing.
func (h *Host) Load(ctx context.Context, fsys fs.FS) hcl.Diagnostics {
	return h.LoadRevision(ctx, Revision{Files: fsys, Dir: h.build.Dir}).Diagnostics
}

// Revision is a configuration directory of which there are several.
type Revision struct {
	Files  fs.FS
	Dir    string // absolute path
	Commit string // that the files are of; empty outside of a repository
}

// LoadRevision is Load of the files of another directory, in which the paths of the configuration begin. It returns
// what the load came to; after Close, nothing.
func (h *Host) LoadRevision(ctx context.Context, from Revision) Report {
	h.loading.Lock()
	defer h.loading.Unlock()
	if h.closed {
		return Report{}
	}
	began, last := time.Now(), h.Current()
	cfg, diags, build := h.read(from)
	if diags.HasErrors() {
		report := Report{Diagnostics: diags, Sources: cfg.Sources, Commit: from.Commit}
		return h.recordLoad(last, report, began)
	}
	before := h.latest
	h.latest = latestLoad{cfg.ID, cfg.Sources}
	if h.loaded && last.build.Dir == build.Dir && before.id == cfg.ID &&
		served.OnlyTestsDiffer(last.Config, cfg, before.sources) {
		report := Report{Diagnostics: diags, Sources: cfg.Sources, OK: true, Commit: from.Commit,
			OldSecrets: cfg.OldSecrets}
		return h.recordLoad(last, report, began)
	}
	decision := h.options.Hold.Decide(from.Files, last.Config, cfg)
	diags = append(diags, decision.Diagnostics...)
	if held := decision.Held; held != nil {
		report := Report{Diagnostics: diags.Sort(), Sources: cfg.Sources, Held: !build.Start, Hold: held,
			Commit: from.Commit}
		report = h.recordLoad(last, report, began)
		if decision.IsNew {
			recordHeld(last, held, from.Commit)
		}
		return report
	}
	c := &compiler{ctx: ctx, last: last}
	next, rejected := c.compile(cfg, build)
	diags = append(diags, rejected...).Sort()
	report := Report{Diagnostics: diags, Sources: cfg.Sources, Held: c.held, Commit: from.Commit,
		OldSecrets: cfg.OldSecrets}
	if next == nil {
		return h.recordLoad(last, report, began)
	}
	h.loaded = true
	report.Released = h.options.Hold.Release(build.Dir)
	return h.commit(last, next, report, began)
}

// read reads the files of a revision. The caller holds loading.
func (h *Host) read(from Revision) (*hcl.Config, hcl.Diagnostics, Build) {
	options, build := h.options.Load, *h.build
	options.Start, build.Start = !h.loaded, !h.loaded
	options.Dir, build.Dir, build.Commit = from.Dir, from.Dir, from.Commit
	cfg, diags := hcl.Load(from.Files, h.build.Set.Kinds(), options)
	return cfg, diags, build
}

// LoadSecrets serves what is served with the values that its secrets have now, while the latest files cannot be served
// or wait. From has the files that are served. It reports false if nothing but other values could be served so, or
// there are none. What the last load came to stays as it is.
func (h *Host) LoadSecrets(ctx context.Context, from Revision) (report Report, changed bool) {
	h.loading.Lock()
	defer h.loading.Unlock()
	refused := h.Status().Last
	if h.closed || !h.loaded || refused.OK {
		return Report{}, false
	}
	began, last, latest := time.Now(), h.Current(), h.latest
	cfg, diags, build := h.read(from)
	report = Report{Diagnostics: diags, Sources: cfg.Sources, Commit: from.Commit, OldSecrets: cfg.OldSecrets}
	if diags.HasErrors() {
		return completeReport(last, last, report, began), true
	}
	if cfg.ID == last.Config.ID || len(hold.Differences(last.Config, cfg)) > 0 {
		return report, false
	}
	c := &compiler{ctx: ctx, last: last}
	next, rejected := c.compile(cfg, build)
	report.Diagnostics, report.Held = append(diags, rejected...).Sort(), c.held
	if next == nil {
		return completeReport(last, last, report, began), true
	}
	h.latest = latestLoad{cfg.ID, cfg.Sources}
	report = h.commit(last, next, report, began)
	h.latest = latest
	h.recordLoad(next, refused, began)
	return report, true
}

// Refuse records that a configuration is not loaded, for a reason that was found before its files were read. What is
// served stays. It returns the completed report.
func (h *Host) Refuse(report Report) Report {
	h.loading.Lock()
	defer h.loading.Unlock()
	last := h.Current()
	return h.recordLoad(last, report, time.Now())
}

// commit makes next the current generation. It cannot fail.
func (h *Host) commit(last, next *Generation, report Report, began time.Time) Report {
	isFirst := last.Config.ID == ""
	next.Views.Publish()
	next.applyAuditLimits()
	report = completeReport(last, next, report, began)
	h.build.State.ServeWebhooks(next.Config, h.build.Version, h.build.Log)
	h.serve(next, report)
	h.telemetry.serve(next)
	h.build.Console.serve(next.pages, endpoint.Options{
		Name: "console", TLS: h.TLSConfig, Log: h.build.Log, ClosedForResets: h.telemetry.ResetsRefused,
	})
	h.telemetry.keepHistory(next)
	h.keepCalls(next)
	h.build.caches.waiters.NotifyReload()
	h.build.State.RecordDecisions("") // that were stored while no audit log was open
	h.build.State.RecordRevocations()
	announceLoad(last, next, report, began)
	next.announceUpstreams()
	h.build.caches.events.Changed()
	if isFirst {
		h.publishServer("started")
	}
	h.retainCallers(next)
	h.clients.viewsChanged(last, next)
	h.clients.resourcesChanged(last, next)
	next.Probes.Keep(func() bool {
		if h.Current() != next {
			return false
		}
		if toolsets := next.Views.Publish(); len(toolsets) > 0 {
			h.clients.toolsChanged(toolsets)
		}
		return true
	})
	h.retiring.Go(func() { next.voidApprovals(last) })
	h.retiring.Go(func() { last.retire(h.options.Grace, h.closing) })
	return report
}

// retainCallers ends what belongs to callers whom a generation does not accept, such as their streams and sessions.
func (h *Host) retainCallers(g *Generation) {
	h.clients.notify(func(n Notifier) { n.Retain(g.Authenticator.StillValid) })
}

// keepCalls keeps the calls of the console in the state for as long as a generation says.
func (h *Host) keepCalls(g *Generation) {
	keep := time.Duration(0)
	if g.Console != nil {
		keep = g.Console.Keep
	}
	h.calls.SetKeep(keep)
}

// Drain waits until no task is running. It returns the cause of ctx when that ends before.
func (h *Host) Drain(ctx context.Context) error { return h.build.State.Tasks.Drain(ctx) }

// StopWaiting ends all calls that wait for an approval, now and from now on, because the server
// shuts down. An approval that is given later is valid for the same call made again.
func (h *Host) StopWaiting() { h.build.caches.waiters.Stop() }

// Close admits no more calls, cancels the calls and tasks that are running, and waits until
// everything that any generation has opened is closed.
func (h *Host) Close() {
	h.loading.Lock()
	defer h.loading.Unlock()
	h.closed = true
	if err := h.services.Stop(); err != nil {
		h.build.Log.Warn("server not stopped cleanly", "error", err)
	}
}

// AwaitRetired waits until replaced generations are closed, and the current one has asked its
// databases.
func (h *Host) AwaitRetired() {
	h.loading.Lock()
	defer h.loading.Unlock()
	h.retiring.Wait()
	h.current.Load().Probes.Wait()
}

// Current returns the generation that is served.
func (h *Host) Current() *Generation { return h.current.Load() }

// Operator returns what operators see and do.
func (h *Host) Operator() *operator.Operator { return h.operator }

// Configuration implements operator.Server.
func (h *Host) Configuration() *served.Served { return h.Current().Served }

// Admit implements operator.Server.
func (h *Host) Admit(ctx context.Context, c *mcp.Caller) (*served.Served, func(), error) {
	g, err := h.admit(ctx, c)
	if err != nil {
		return nil, nil, err
	}
	return g.Served, g.leave, nil
}

// Pin implements operator.Server.
func (h *Host) Pin() (*served.Served, func()) {
	g := h.pin()
	if g == nil {
		return nil, nil
	}
	return g.Served, g.leave
}

// Files returns the files of a caller. Signed says that the request has a signed URL in place of
// credentials.
func (h *Host) Files(c *mcp.Caller, signed bool) (*upload.Files, error) {
	g := h.pin()
	if g == nil {
		return nil, mcp.ErrClosing
	}
	f, err := upload.New(g.Served, g.leave, c, signed)
	if err != nil {
		g.leave()
	}
	return f, err
}

// pin enters the current generation. It tries again when that was replaced in the meantime and
// admits no calls; nil means that the Host is closed.
func (h *Host) pin() *Generation {
	for {
		g := h.current.Load()
		if g.enter() {
			return g
		}
		if h.current.Load() == g {
			return nil
		}
	}
}

// SetNotifier sets the Notifier for changes from now on.
func (h *Host) SetNotifier(n Notifier) { h.clients.notifier.Store(&n) }

// recordHeld records that a reload waits for its lock.
func recordHeld(served *Generation, held *hold.Held, commit string) {
	if served.Audit != nil {
		r := audit.NewRecord(audit.EventHeld, audit.Common{Revision: held.Revision})
		r.Commit, r.Previous, r.Differences = commit, served.Config.ID, held.Lines()
		r.Message, r.SHA256 = "hold = "+held.Class, held.Lock
		served.Record(served.Env.Running, r)
	}
}
