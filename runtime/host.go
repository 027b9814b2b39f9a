package runtime

import (
	"context"
	"io/fs"
	"sync"
	"sync/atomic"
	"time"

	"hatchel/hcl"
	"hatchel/runtime/mcp"
)

// HostOptions are what a Host loads configurations with.
type HostOptions struct {
	Build Build
	Load  hcl.Options
	Grace time.Duration // that calls of a replaced configuration have before they are cancelled: 30 s
}

// Host serves the current generation and replaces it. Make one with NewHost.
type Host struct {
	build    *Build
	options  HostOptions
	current  atomic.Pointer[Generation]
	notifier atomic.Pointer[Notifier]

	subscriptions *subscriptions

	loading   sync.Mutex // one load at a time; calls never wait for it
	closed    bool       // guarded by loading
	closing   chan struct{}
	retiring  sync.WaitGroup
	ownsState bool // the state of build is the Host's own

	mu     sync.Mutex
	status Status // guarded by mu
}

// NewHost returns a Host that has no tools until something is loaded.
func NewHost(ctx context.Context, o HostOptions) *Host {
	if o.Grace <= 0 {
		o.Grace = 30 * time.Second
	}
	if o.Load.Cache == nil {
		o.Load.Cache = hcl.NewCache()
	}
	h := &Host{options: o, build: o.Build.withDefaults(), closing: make(chan struct{}), ownsState: o.Build.State == nil}
	h.build.State.tasks.setOnChange(h.taskChanged)
	h.build.State.setDecisionRecorder(h.recordDecision)
	empty, _ := Compile(ctx, &hcl.Config{}, *h.build)
	h.current.Store(empty)
	h.build.current = h.Current
	h.subscriptions = newSubscriptions(ctx, h)
	return h
}

// Load replaces the configuration by the one in fsys, as one transaction: with errors among the diagnostics nothing has changed; without,
// every call that begins after Load has returned sees the new configuration, and calls under way end on the one they began with. After Close
// it does nothing.
func (h *Host) Load(ctx context.Context, fsys fs.FS) hcl.Diagnostics {
	h.loading.Lock()
	defer h.loading.Unlock()
	if h.closed {
		return nil
	}
	began := time.Now()
	cfg, diags := hcl.Load(fsys, h.build.Set.Kinds(), h.options.Load)
	if diags.HasErrors() {
		h.recordFailedLoad(cfg, diags, began)
		return diags
	}
	next, refused := Compile(ctx, cfg, *h.build)
	diags = append(diags, refused...).Sort()
	if next == nil {
		h.recordFailedLoad(cfg, diags, began)
		return diags
	}
	h.commit(next, diags, began)
	return diags
}

// maxProbeWait is how long a load waits for databases to say what their rows look like, so that the list need not change right after it.
const maxProbeWait = 250 * time.Millisecond

// commit makes next the current generation. Nothing in it can fail.
func (h *Host) commit(next *Generation, diags hcl.Diagnostics, began time.Time) {
	last := h.current.Load()
	next.inheritProbes(last)
	first, committed := make(chan struct{}), make(chan struct{})
	next.probing.Go(func() { next.probeRows(first, committed, h.toolsChanged) })
	waitUntil(first, maxProbeWait, nil)
	next.publish()
	next.applyAuditLimits()
	h.build.State.serveWebhooks(next)
	h.current.Store(next)
	h.build.caches.waiters.notifyReload()
	h.build.State.recordStoredDecisions(next.ctx)
	h.recordLoad(last, next, diags, began)
	h.notify(func(a Notifier) { a.Retain(next.authenticator.Stands) })
	h.listsChanged(last, next)
	h.subscriptions.onReload(last, next)
	close(committed)
	h.retiring.Go(func() { next.voidApprovals(last) })
	h.retiring.Go(func() { last.retire(h.options.Grace, h.closing) })
}

// Drain waits until no task is worked on, or ctx ends, and returns why.
func (h *Host) Drain(ctx context.Context) error { return h.build.State.tasks.drain(ctx) }

// Close cancels the calls and tasks that are still running and waits until everything that any generation had open is closed. No call is admitted any more.
func (h *Host) Close() {
	h.loading.Lock()
	defer h.loading.Unlock()
	if !h.closed {
		h.closed = true
		h.build.State.tasks.close()
		close(h.closing)
		h.subscriptions.close()
		h.current.Load().retire(0, h.closing)
	}
	h.retiring.Wait()
	if h.ownsState {
		h.build.State.Close()
	}
}

// AwaitRetired waits until what was replaced so far is closed, and what is served has asked its databases.
func (h *Host) AwaitRetired() {
	h.loading.Lock()
	defer h.loading.Unlock()
	h.retiring.Wait()
	h.current.Load().probing.Wait()
}

// Current is the configuration that is served.
func (h *Host) Current() *Generation { return h.current.Load() }

var errClosed = &mcp.Error{Code: mcp.CodeBusy, Message: "The server is shutting down"}

// pin enters the current generation. One that was replaced in the meantime admits nobody, so the one that replaced it is asked; nil means that
// there is none, because the Host is closed.
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
