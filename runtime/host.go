package runtime

import (
	"cmp"
	"context"
	"io/fs"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"hatchel/hcl"
	"hatchel/runtime/call"
	"hatchel/runtime/hold"
	"hatchel/runtime/logging"
	"hatchel/runtime/mcp"
	"hatchel/runtime/subscribe"
	"hatchel/runtime/task"
)

// HostOptions are what a Host loads configurations with.
type HostOptions struct {
	Build Build
	Load  hcl.Options
	Grace time.Duration // before calls of a replaced configuration are cancelled; 30 s by default
	Gate  hold.Gate     // which configurations wait for their lock
}

// Host serves the current generation and replaces it. Make one with NewHost. Its methods may be
// called concurrently.
type Host struct {
	build         *Build
	options       HostOptions
	ownsState     bool
	current       atomic.Pointer[Generation]
	notifier      atomic.Pointer[Notifier]
	subscriptions *subscribe.Registry
	refusals      *logging.Limited

	loading  sync.Mutex // one load at a time; calls never wait for it
	closed   bool       // guarded by loading
	loaded   bool       // a configuration was loaded; guarded by loading
	latest   latestLoad // the latest load without errors, of what may be held; guarded by loading
	closing  chan struct{}
	retiring sync.WaitGroup

	mu     sync.Mutex
	status Status           // guarded by mu
	served []servedRevision // the latest, in order; guarded by mu
}

// NewHost returns a Host that has no tools until something is loaded.
func NewHost(ctx context.Context, o HostOptions) *Host {
	if o.Grace <= 0 {
		o.Grace = 30 * time.Second
	}
	o.Load.Cache = cmp.Or(o.Load.Cache, hcl.NewCache())
	h := &Host{
		options: o, build: o.Build.withDefaults(), closing: make(chan struct{}), ownsState: o.Build.State == nil,
	}
	h.refusals = &logging.Limited{Log: h.build.Log, Text: "request refused"}
	h.build.State.tasks.SetAudience(h)
	h.build.State.process.SetLog(h.build.Log)
	h.build.State.setDecisionRecorder(h.recordDecisions)
	empty, _ := Compile(ctx, &hcl.Config{}, *h.build)
	h.current.Store(empty)
	h.build.current = h.Current
	h.subscriptions = subscribe.New(ctx, subscribedServer{h})
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
	h.loading.Lock()
	defer h.loading.Unlock()
	if h.closed {
		return nil
	}
	began, last := time.Now(), h.Current()
	options, build := h.options.Load, *h.build
	options.Start, build.Start = !h.loaded, !h.loaded
	cfg, diags := hcl.Load(fsys, h.build.Set.Kinds(), options)
	if diags.HasErrors() {
		h.recordLoad(last, last, Report{Diagnostics: diags, Sources: cfg.Sources}, began)
		return diags
	}
	before := h.latest
	h.latest = latestLoad{cfg.ID, cfg.Sources}
	if h.loaded && before.id == cfg.ID && onlyTestsDiffer(last.Config, cfg, before.sources) {
		h.recordLoad(last, last, Report{Diagnostics: diags, Sources: cfg.Sources, OK: true}, began)
		return diags
	}
	decision := h.options.Gate.Decide(fsys, last.Config, cfg)
	diags = append(diags, decision.Diagnostics...)
	if held := decision.Held; held != nil {
		report := Report{Diagnostics: diags.Sort(), Sources: cfg.Sources, Held: !options.Start, Hold: held}
		h.recordLoad(last, last, report, began)
		if decision.IsNew {
			recordHeld(last, held)
		}
		return diags
	}
	c := &compiler{ctx: ctx, last: last}
	next, rejected := c.compile(cfg, build)
	diags = append(diags, rejected...).Sort()
	report := Report{Diagnostics: diags, Sources: cfg.Sources, Held: c.held}
	if next == nil {
		h.recordLoad(last, last, report, began)
		return diags
	}
	h.loaded = true
	report.Released = h.options.Gate.Release(h.build.Dir)
	h.commit(last, next, report, began)
	return diags
}

// commit makes next the current generation. It cannot fail.
func (h *Host) commit(last, next *Generation, report Report, began time.Time) {
	next.publish()
	next.applyAuditLimits()
	h.build.State.serveWebhooks(next)
	h.current.Store(next)
	h.build.caches.waiters.NotifyReload()
	h.build.State.recordDecisions("") // that were stored while no audit log was open
	h.recordLoad(last, next, report, began)
	h.notify(func(n Notifier) { n.Retain(next.authenticator.StillValid) })
	h.viewsChanged(last, next)
	h.resourcesChanged(last, next)
	next.probing.running.Go(func() { next.keepProbing(h.toolsChanged) })
	h.retiring.Go(func() { next.voidApprovals(last) })
	h.retiring.Go(func() { last.retire(h.options.Grace, h.closing) })
}

// Drain waits until no task is running. It returns the cause of ctx when that ends before.
func (h *Host) Drain(ctx context.Context) error { return h.build.State.tasks.Drain(ctx) }

// StopWaiting ends all calls that wait for an approval, now and from now on, because the server
// shuts down. An approval that is given later is valid for the same call made again.
func (h *Host) StopWaiting() { h.build.caches.waiters.Stop() }

// Close admits no more calls, cancels the calls and tasks that are running, and waits until
// everything that any generation has opened is closed.
func (h *Host) Close() {
	h.loading.Lock()
	defer h.loading.Unlock()
	if !h.closed {
		h.closed = true
		h.build.State.tasks.Close(call.ErrStopped)
		close(h.closing)
		h.subscriptions.Close()
		h.current.Load().retire(0, h.closing)
	}
	h.retiring.Wait()
	h.refusals.Flush()
	if h.ownsState {
		h.build.State.Close()
	}
}

// AwaitRetired waits until replaced generations are closed, and the current one has asked its
// databases.
func (h *Host) AwaitRetired() {
	h.loading.Lock()
	defer h.loading.Unlock()
	h.retiring.Wait()
	h.current.Load().probing.running.Wait()
}

// Current returns the generation that is served.
func (h *Host) Current() *Generation { return h.current.Load() }

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

// Notifier is notified of changes. Its methods must not block.
type Notifier interface {
	// Changed is called when lists have changed.
	ListsChanged(in func(toolset string) mcp.Changes)

	// ResourceUpdated is called when a document with subscribers may read differently.
	ResourceUpdated(uri string)

	task.Audience

	// Retain is called when other credentials are valid than before. Sessions of the others must be
	// closed.
	Retain(valid func(*mcp.Identity) bool)
}

// SetNotifier sets the Notifier for changes from now on.
func (h *Host) SetNotifier(n Notifier) { h.notifier.Store(&n) }

func (h *Host) notify(tell func(Notifier)) {
	if n := h.notifier.Load(); n != nil {
		tell(*n)
	}
}

// TaskChanged implements task.Audience.
func (h *Host) TaskChanged(id string, members []byte) {
	h.notify(func(n Notifier) { n.TaskChanged(id, members) })
}

// FollowsTask implements task.Audience.
func (h *Host) FollowsTask(id string) (follows bool) {
	h.notify(func(n Notifier) { follows = n.FollowsTask(id) })
	return follows
}

// listsChanged notifies of the lists that changes names for each toolset.
func (h *Host) listsChanged(changes func(toolset string) mcp.Changes) {
	h.notify(func(n Notifier) { n.ListsChanged(changes) })
}

// toolsChanged notifies that the lists of tools of these toolsets have changed.
func (h *Host) toolsChanged(toolsets []string) {
	h.listsChanged(func(toolset string) mcp.Changes {
		return mcp.Changes{Tools: slices.Contains(toolsets, toolset)}
	})
}

// viewsChanged notifies of the lists that differ between two generations.
func (h *Host) viewsChanged(last, next *Generation) {
	changes := func(toolset string) mcp.Changes { return changedLists(last.view(toolset), next.view(toolset)) }
	for _, g := range []*Generation{last, next} {
		for toolset := range g.views {
			if changes(toolset) != (mcp.Changes{}) {
				h.listsChanged(changes)
				return
			}
		}
	}
}
