package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"sync"

	"hatchel/hcl"
	"hatchel/hcl/eventkind"
	"hatchel/runtime/approval"
	"hatchel/runtime/call"
	"hatchel/runtime/event"
	"hatchel/runtime/hook"
	"hatchel/runtime/mcp"
	"hatchel/runtime/metrics"
	"hatchel/runtime/policy"
	"hatchel/runtime/task"
)

// openEvents makes what publishes the events of the generation, if anything can read them.
func (c *compiler) openEvents() {
	decl, b := c.g.Config.Events, c.build
	isFollowed := decl != nil || c.g.console != nil
	if !isFollowed && len(c.g.Config.Hooks) == 0 || b.Inspect || b.current == nil {
		return
	}
	p := event.Options{
		Revision: c.g.Config.ID, Process: b.State.process.Name(), Arguments: true, Scrub: c.g.env.Scrubber.JSON,
	}
	if isFollowed {
		p.Ring = b.caches.events
	}
	if decl != nil {
		p.Arguments, p.Results = decl.Arguments, decl.Results
	}
	env := hook.Env{
		Queue: b.State.hooks, Tools: c.g.Config.Tools, Dir: b.Dir, Now: b.Now, Log: b.Log,
		Scrub: c.g.env.Scrubber.Text, Metrics: c.g.metrics,
	}
	for _, decl := range c.g.Config.Hooks {
		p.Hooks = append(p.Hooks, hook.New(decl, env))
	}
	c.g.env.Events, c.g.env.Refusals = event.NewPublisher(p), &b.caches.refusals
}

// ErrNoEvents is returned where the configuration lets nobody follow events.
var ErrNoEvents = errors.New("the configuration of this server has no events block")

// HasEvents reports whether the configuration lets anybody follow events.
func (h *Host) HasEvents() bool { return h.Current().Config.Events != nil }

// Listen returns a listener for a caller. Operator says whether the caller operates the server; they see everything
// where no rule says who does. The error is ErrNoEvents, a ForbiddenError, one of [event.Ring.Listen], or one of the
// protocol.
func (h *Host) Listen(
	ctx context.Context, c *mcp.Caller, operator bool, q event.Query,
) (*event.Listener, error) {
	return h.listen(&eventViewer{host: h, caller: c.Snapshot(nil), operator: operator, own: q.Own, ctx: ctx}, c, q)
}

// ListenInConsole is Listen for the console, which needs no events block.
func (h *Host) ListenInConsole(
	ctx context.Context, c *mcp.Caller, operator bool, q event.Query,
) (*event.Listener, error) {
	v := &eventViewer{host: h, caller: c.Snapshot(nil), operator: operator, own: q.Own, inConsole: true, ctx: ctx}
	return h.listen(v, c, q)
}

func (h *Host) listen(v *eventViewer, c *mcp.Caller, q event.Query) (*event.Listener, error) {
	g, err := h.admit(v.ctx, c)
	if err != nil {
		return nil, err
	}
	v.header = c.Header != nil
	err = v.checkIn(g)
	g.leave()
	if err != nil {
		return nil, err
	}
	return h.build.caches.events.Listen(q, v)
}

// eventViewer implements event.Viewer for a caller.
type eventViewer struct {
	host     *Host
	caller   *mcp.Caller
	header   bool // the caller is one over HTTP
	operator bool
	own      bool // sees what the caller has called, and nothing else
	// inConsole says that the caller looks at the console, which shows calls also without an events block.
	inConsole bool
	ctx       context.Context
}

// Owner implements event.Viewer.
func (v *eventViewer) Owner() string { return v.caller.Owner() }

// Sees implements event.Viewer.
func (v *eventViewer) Sees(operation, name string) bool {
	g := v.host.pin()
	if g == nil || v.own {
		if g != nil {
			g.leave()
		}
		return false
	}
	defer g.leave()
	return v.seesIn(g, operation, name)
}

// Check implements event.Viewer.
func (v *eventViewer) Check() error {
	g := v.host.pin()
	if g == nil {
		return mcp.ErrClosing
	}
	defer g.leave()
	return v.checkIn(g)
}

// checkIn returns why the caller may not follow the events of a generation; nil if they may.
func (v *eventViewer) checkIn(g *Generation) error {
	switch {
	case g.Config.Events == nil && (!v.inConsole || g.console == nil):
		return ErrNoEvents
	case v.header && !g.authenticator.StillValid(v.caller.Identity):
		return mcp.Unauthorized()
	case v.own && v.Owner() == "":
		return newForbiddenError("Without a credential, the calls of this caller cannot be told from those of others")
	case v.own || v.seesAny(g):
		return nil
	case v.Owner() == "":
		return newForbiddenError("This caller may not follow the events of this server")
	}
	return newForbiddenError("This caller may follow the events of their own calls only. Add own=true")
}

// seesAny reports whether the caller sees anything that others do.
func (v *eventViewer) seesAny(g *Generation) bool {
	sees := func(o *call.Operation) bool { return v.seesIn(g, o.Kind, o.Decl.Name) }
	return v.seesIn(g, "", "") || slices.ContainsFunc(g.operations, sees)
}

// seesIn reports whether the caller may follow the events about an operation in a generation. Those about one that
// does not exist any more are for those who may follow the events of the server itself.
func (v *eventViewer) seesIn(g *Generation, operation, name string) bool {
	decl := g.Config.Events
	if decl == nil || decl.Allow == nil {
		return v.operator
	}
	frame := hcl.NewFrame(v.ctx, g.build.Dir, g.build.Now)
	frame.Caller, frame.Tool = call.CallerRoot(v.caller), g.toolRoot(operation, name)
	may, err := decl.Allow.Eval(frame, nil)
	if err != nil {
		const text = "events.allow failed, caller does not see these events"
		g.env.LogFailure(v.ctx, slog.LevelError, text, err, "subject", v.caller.Subject, "tool", name)
	}
	return may && err == nil
}

// toolRoot returns what rules read as `tool` about an operation, or about none.
func (g *Generation) toolRoot(operation, name string) map[string]any {
	switch operation {
	case "tool":
		if p, ok := g.programs[name]; ok {
			return policy.ToolRoot(p.Tool())
		}
	case "prompt":
		for _, p := range g.prompts {
			if p.Decl.Name == name {
				return policy.OperationRoot(p.Kind, p.Decl, p.Prompt.Title)
			}
		}
	case "resource":
		for _, r := range g.resources {
			if r.Decl.Name == name {
				return policy.OperationRoot(r.Kind, r.Decl, r.Resource.Title)
			}
		}
	}
	return policy.OperationRoot("", &hcl.Operation{}, "")
}

// HoldEvents makes the server record events until release is called, whether or not anybody listens.
func (h *Host) HoldEvents() (release func()) { return h.build.caches.events.Hold() }

// EndEvents publishes that the server begins to stop.
func (h *Host) EndEvents() { h.publishServer("stopping") }

func (h *Host) publishServer(state string) {
	env := h.Current().env
	env.Events.Publish(env.Running, event.Meta{Kind: eventkind.Server},
		event.Member{Name: "state", Value: state}, event.Member{Name: "version", Value: h.build.Version})
}

// publishLoad publishes what a load came to.
func publishLoad(last, next *Generation, r *Report) {
	p := next.env.Events
	if p == nil {
		p = last.env.Events
	}
	if !p.Wants(eventkind.Reload) {
		return
	}
	report, err := json.Marshal(r)
	if err != nil {
		return
	}
	p.Publish(next.env.Running, event.Meta{Kind: eventkind.Reload}, event.Member{Name: "result", Value: r.Result()},
		event.Member{Name: "report", Value: json.RawMessage(report)})
}

// publishConnection publishes the state of a connection, and why it is down.
func (b *Build) publishConnection(name, state, message string) {
	if b.current != nil {
		env := b.current().env
		env.Events.Publish(env.Running, event.Meta{Kind: eventkind.Connection},
			event.Member{Name: "connection", Value: name}, event.Member{Name: "state", Value: state},
			event.Member{Name: "message", Value: message})
	}
}

// countRefusal counts a request without valid credentials, for an event a second.
func (h *Host) countRefusal(ctx context.Context, r *Refusal) {
	env := h.Current().env
	env.Refusals.Add(ctx, env.Events, event.Refusal{
		Reason: metrics.RefusedByCredential, Message: r.Reason, Subject: r.Caller.Subject, Owner: r.Caller.Owner(),
	})
}

// SessionChanged implements mcp.Observer.
func (h *Host) SessionChanged(name string, owner *mcp.Identity, state string) {
	m := event.Meta{Kind: eventkind.Session, Owner: owner.Owner()}
	if owner != nil {
		m.Subject = owner.Subject
	}
	env := h.Current().env
	env.Events.Publish(env.Running, m, event.Member{Name: "session", Value: name},
		event.Member{Name: "state", Value: state}, event.Member{Name: "subject", Value: m.Subject})
}

// TaskFinished implements task.Audience.
func (h *Host) TaskFinished(t *task.Task) {
	env := h.Current().env
	if !env.Events.Wants(eventkind.TaskFinished) {
		return
	}
	m := event.Meta{Kind: eventkind.TaskFinished, Operation: "tool", Name: t.Tool, Owner: t.Owner}
	if t.Identity != nil {
		m.Subject = t.Identity.Subject
	}
	env.Events.Publish(env.Running, m, event.Member{Name: "tool", Value: t.Tool},
		event.Member{Name: "task", Value: t.ID()}, event.Member{Name: "status", Value: t.Status},
		event.Member{Name: "outcome", Value: t.Outcome}, event.Member{Name: "subject", Value: m.Subject},
		event.Member{Name: "created", Value: t.CreatedTime()})
}

// decidedApprovals are the latest approvals whose decision was published, or is being published.
type decidedApprovals struct {
	mu            sync.Mutex
	recent, older map[string]*sync.Once // by ID; guarded by mu
}

const maxDecidedApprovals = 4096

// find returns what publishes the decision of an approval.
func (d *decidedApprovals) find(id string) *sync.Once {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, known := range [...]map[string]*sync.Once{d.recent, d.older} {
		if once := known[id]; once != nil {
			return once
		}
	}
	if d.recent == nil || len(d.recent) >= maxDecidedApprovals {
		d.recent, d.older = map[string]*sync.Once{}, d.recent
	}
	d.recent[id] = new(sync.Once)
	return d.recent[id]
}

// approvalChanged implements approvalObserver. It publishes the decision of an approval that was changed.
func (h *Host) approvalChanged(book *approval.Store, id string) {
	if !h.Current().env.Events.Wants(eventkind.ApprovalDecided) {
		return
	}
	h.build.State.process.Go(func(ctx context.Context) {
		if a, err := book.Find(ctx, id); err == nil && a != nil && a.IsDecided() {
			h.publishDecision(ctx, a)
		}
	})
}

// publishDecision implements approvalObserver. It publishes the decision of an approval once.
func (h *Host) publishDecision(ctx context.Context, a *approval.Approval) {
	p := h.Current().env.Events
	if !p.Wants(eventkind.ApprovalDecided) {
		return
	}
	body, err := decidedApproval(a).AppendJSON(nil)
	if err != nil {
		return
	}
	m := event.Meta{Kind: eventkind.ApprovalDecided, Operation: "tool", Name: a.Tool, Subject: a.Caller.Subject,
		Owner: (&mcp.Identity{Key: a.Caller.Key, Subject: a.Caller.Subject}).Owner()}
	if a.Caller.Key == "" {
		m.Owner = a.Caller.Subject
	}
	h.decided.find(a.ID).Do(func() {
		p.Publish(ctx, m, event.Member{Name: "tool", Value: a.Tool},
			event.Member{Name: "approval", Value: json.RawMessage(body)})
	})
}
