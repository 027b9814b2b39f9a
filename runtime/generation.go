package runtime

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"hatchel/hcl"
	"hatchel/runtime/approval"
	"hatchel/runtime/auth"
	"hatchel/runtime/call"
	"hatchel/runtime/endpoint"
	"hatchel/runtime/mcp"
	"hatchel/runtime/metrics"
)

// Generation is one configuration that is ready to be called. Compile makes it; a Generation that
// no Host has must be closed.
type Generation struct {
	Config *hcl.Config

	build         *Build
	env           *call.Environment
	programs      map[string]*call.Program
	sorted        []*call.Program   // by name
	operations    []*call.Operation // of tools, prompts, resources and completions
	health        []connectionProbe
	authenticator *auth.Authenticator // nil without authentication
	certificates  *auth.Certificates  // nil without TLS
	audit         auditLog            // nil when requests are not recorded
	metrics       *metrics.Metrics    // nil when nothing is measured
	scrapes       *endpoint.Listener  // nil when metrics have no listener of their own
	console       *hcl.Console        // nil for no console
	pages         *endpoint.Listener  // nil when the console has no listener of its own

	prompts     []*call.Prompt   // by name
	resources   []*call.Resource // by name
	completions map[*hcl.Completion]*call.Completion
	views       map[string]*view // by toolset
	fullView    *view            // all that is listed; its name is empty
	emptyView   *view            // of an unknown toolset
	listsStale  atomic.Bool      // a database has told more of its rows since the lists of tools were encoded
	publishing  sync.Mutex       // held while lists are encoded

	cancel       context.CancelCauseFunc // ends env.Running
	cancelPinned context.CancelCauseFunc // ends env.Pinned
	probing      probing
	cleanups     cleanups

	// uses counts running calls; by onePinned, tasks and calls that wait for people, which no grace
	// period ends; and has retiredBit once no more are admitted.
	uses      atomic.Int64
	drainOnce sync.Once     // closes drained
	drained   chan struct{} // closed when the generation is retired and no call runs
	endOnce   sync.Once     // closes ended
	ended     chan struct{} // closed when nothing uses the retired generation
}

// List returns a list with all that is listed there.
func (g *Generation) List(of mcp.Listing) *mcp.List { return g.fullView.lists[of].Load() }

// ListFor returns a list as a caller sees it.
func (g *Generation) ListFor(ctx context.Context, caller *mcp.Caller, of mcp.Listing) *mcp.List {
	return g.fullView.listFor(ctx, caller, of)
}

// Info returns how the server introduces itself.
func (g *Generation) Info() *mcp.Info { return g.fullView.info }

// Count returns how many entries a list of a toolset has, of which a caller may see fewer; 0 for an
// unknown toolset.
func (g *Generation) Count(toolset string, of mcp.Listing) int {
	return g.view(toolset).lists[of].Load().Len()
}

// view returns what a toolset shows; nothing for an unknown toolset.
func (g *Generation) view(toolset string) *view { return cmp.Or(g.views[toolset], g.emptyView) }

// Program returns a tool by its name, also one that is not listed.
func (g *Generation) Program(name string) (*call.Program, bool) {
	p, ok := g.programs[name]
	return p, ok
}

// Names returns the names of all tools, sorted, also of those that are not listed.
func (g *Generation) Names() []string {
	names := make([]string, len(g.sorted))
	for i, p := range g.sorted {
		names[i] = p.Decl.Name
	}
	return names
}

// Explain says how the rules decide about a call of a tool, of a prompt, or of the resource at a
// URI. The error is one of the protocol.
func (g *Generation) Explain(ctx context.Context, kind string, req *mcp.CallRequest) (call.Explanation, error) {
	switch kind {
	case "tool":
		if p, ok := g.programs[req.Name]; ok {
			return p.Explain(ctx, req), nil
		}
		return call.Explanation{}, mcp.Unknown("tool", req.Name)
	case "prompt":
		if p := g.fullView.prompts[req.Name]; p != nil {
			return p.Explain(ctx, req)
		}
		return call.Explanation{}, mcp.Unknown("prompt", req.Name)
	}
	r, variables := g.fullView.resource(req.Name)
	if r == nil {
		return call.Explanation{}, mcp.Unknown("resource", req.Name)
	}
	return r.Explain(ctx, req, variables), nil
}

// ListRules returns the rules about all tools, then prompts and resources, each by name.
func (g *Generation) ListRules() []call.OperationRules {
	denyByDefault := g.Config.Server.DenyByDefault
	all := make([]call.OperationRules, 0, len(g.sorted)+len(g.prompts)+len(g.resources))
	for _, p := range g.sorted {
		all = append(all, p.ListRules(denyByDefault))
	}
	for _, p := range g.prompts {
		all = append(all, p.ListRules(denyByDefault))
	}
	for _, r := range g.resources {
		all = append(all, r.ListRules(denyByDefault))
	}
	return all
}

// Serving implements call.Generation.
func (g *Generation) Serving(tool string, caller *mcp.Caller) (p *call.Program, known bool) {
	if g.build.current == nil {
		return g.programs[tool], true
	}
	serving := g.build.current()
	return serving.programs[tool], caller == nil || serving.stillKnown(caller)
}

// voidApprovals voids the approvals that are pending for tools of the generation before, and no
// longer valid.
func (g *Generation) voidApprovals(before *Generation) {
	filters := map[string]approval.VoidFilter{}
	for name, p := range before.programs {
		if filter, changed := p.VoidFilter(g.programs[name]); changed {
			filters[name] = filter
		}
	}
	if len(filters) == 0 || g.build.State.current() == nil {
		return
	}
	ctx := g.env.Running
	voided, err := g.build.State.Approvals().VoidAll(ctx, filters)
	if err != nil && ctx.Err() == nil {
		g.env.LogVoidFailure(ctx, err)
	}
	if voided > 0 {
		g.log().LogAttrs(ctx, slog.LevelInfo, "outdated approvals voided", slog.Int("approvals", voided))
	}
}

func (g *Generation) log() *slog.Logger { return g.build.Log }

const (
	// onePinned is one pinned call or task in Generation.uses.
	onePinned = 1 << 24
	// retiredBit is set in Generation.uses when no more calls are admitted.
	retiredBit = 1 << 48
	// forceStopAfter is how long cancelled calls have to end before their backends are closed.
	forceStopAfter = 10 * time.Second
)

// enter admits a call, unless the generation is retired. A call that was admitted must leave.
func (g *Generation) enter() bool {
	if g.uses.Add(1) < retiredBit {
		return true
	}
	g.leave()
	return false
}

func (g *Generation) leave() { g.addUses(-1) }

// Pin implements call.Generation.
func (g *Generation) Pin() { g.addUses(onePinned - 1) }

// Unpin implements call.Generation.
func (g *Generation) Unpin() { g.addUses(1 - onePinned) }

// Retain implements call.Generation.
func (g *Generation) Retain() { g.addUses(onePinned) }

// Release implements call.Generation.
func (g *Generation) Release() { g.addUses(-onePinned) }

// addUses changes how the generation is used, in one step, so that a use that becomes another one is
// never missed.
func (g *Generation) addUses(n int64) {
	uses := g.uses.Add(n)
	if uses < retiredBit {
		return
	}
	if uses%onePinned == 0 {
		g.drainOnce.Do(func() { close(g.drained) })
	}
	if uses == retiredBit {
		g.endOnce.Do(func() { close(g.ended) })
	}
}

// retire admits no more calls, waits for those that run, and closes the generation. Calls that are
// left after the grace period, or once stopNow is closed, are cancelled; pinned calls are cancelled
// only once stopNow is closed.
func (g *Generation) retire(grace time.Duration, stopNow <-chan struct{}) {
	g.addUses(retiredBit)
	if !waitUntil(g.drained, grace, stopNow) {
		cause := call.ErrReplaced
		if waitUntil(stopNow, 0, nil) {
			cause = call.ErrStopped
		}
		g.cancel(cause)
		if !waitUntil(g.drained, forceStopAfter, nil) {
			g.log().Warn("cancelled calls did not end, closing their backends", "calls", g.uses.Load()%onePinned)
		}
	}
	g.awaitPinned(stopNow)
	g.close()
}

// awaitPinned waits for pinned calls and tasks.
func (g *Generation) awaitPinned(stopNow <-chan struct{}) {
	select {
	case <-g.ended:
		return
	case <-stopNow:
	}
	g.cancelPinned(call.ErrStopped)
	if !waitUntil(g.ended, forceStopAfter, nil) {
		g.log().Warn("cancelled tasks or waiting calls did not end, closing their backends")
	}
}

// Close closes a generation that no Host has.
func (g *Generation) Close() {
	now := make(chan struct{})
	close(now)
	g.retire(0, now)
}

func (g *Generation) close() {
	g.cancel(nil)
	g.cancelPinned(nil)
	g.probing.running.Wait()
	if err := g.cleanups.run(); err != nil {
		g.log().Warn("configuration not closed cleanly", "error", err)
	}
}

// waitUntil reports whether done is closed before d has passed and before interrupt, which may be
// nil, is closed.
func waitUntil(done <-chan struct{}, d time.Duration, interrupt <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
	case <-interrupt:
	}
	select {
	case <-done:
		return true
	default:
		return false
	}
}
