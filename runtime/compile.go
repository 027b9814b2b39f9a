package runtime

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/runtime/auth"
	"hatchel/runtime/elicit"
	"hatchel/runtime/mcp"
	"hatchel/runtime/result"
)

// Build is what a configuration is compiled with. It is the same for every generation of a Host.
type Build struct {
	Set         adapters.Set
	Dir         string             // the absolute folder of the configuration
	Version     string             // of the program
	Log         *slog.Logger       // nil discards
	Now         func() time.Time   // the clock of calls; nil is time.Now
	Connections *Connections       // what is open already; nil shares nothing
	Issuers     *auth.Issuers      // whose keys are known already; nil knows of none
	AuditLogs   *AuditLogs         // where calls are written down; nil writes nothing down, whatever is declared
	caches      *processCaches     // what was called and answered lately
	current     func() *Generation // what is served; nil when this is all there is
	State       *State             // what is remembered; nil remembers no longer than what is made with it lasts
}

func (b Build) withDefaults() *Build {
	if b.Log == nil {
		b.Log = slog.New(slog.DiscardHandler)
	}
	if b.Now == nil {
		b.Now = time.Now
	}
	if b.Connections == nil {
		b.Connections = new(Connections)
	}
	if b.Issuers == nil {
		b.Issuers = new(auth.Issuers)
	}
	if b.State == nil {
		b.State = newMemoryState()
	}
	if b.caches == nil {
		b.caches = newProcessCaches(b.State)
	}
	return &b
}

// env is what a backend or connection is bound with, its cleanups owned by owner.
func (b *Build) env(owner *cleanups) adapters.Env {
	return adapters.Env{Dir: b.Dir, Log: b.Log, Version: b.Version, Defer: owner.add}
}

// Compile makes a configuration ready to be called. It opens every connection, binds every backend of every tool, and reports all that were
// refused; when any was, everything is undone and the Generation is nil. The configuration must be free of errors.
func Compile(ctx context.Context, cfg *hcl.Config, build Build) (*Generation, hcl.Diagnostics) {
	own := build.State == nil
	c := &compiler{ctx: ctx, build: build.withDefaults(), handles: map[*hcl.Connection]*connection{}}
	c.g = &Generation{
		Config:   cfg,
		build:    c.build,
		programs: make(map[string]*Program, len(cfg.Tools)),
		scrubber: result.NewScrubber(cfg.Secrets),
		drained:  make(chan struct{}),

		completions: map[*hcl.Completion]*completion{},
		uploads:     cfg.AcceptsUploads(),
	}
	c.g.ctx, c.g.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	c.g.pinnedCtx, c.g.cancelPinned = context.WithCancelCause(context.WithoutCancel(ctx))
	if own {
		c.g.cleanups.add(c.build.State.Close)
	}
	c.removeStaleCopies()
	c.audit()
	c.authentication()
	c.connections()
	c.programs()
	c.promptsAndResources()
	c.authorize()
	c.checkRequirements()
	if c.diags.HasErrors() {
		c.g.close()
		return nil, c.diags.Sort()
	}
	c.views()
	return c.g, c.diags.Sort()
}

// compiler is one Compile under way.
type compiler struct {
	ctx     context.Context
	build   *Build
	g       *Generation
	handles map[*hcl.Connection]*connection
	diags   hcl.Diagnostics
}

func (c *compiler) connections() {
	for _, conn := range c.g.Config.Connections {
		opened, release, err := c.build.Connections.acquire(c.ctx, conn, c.build)
		if err != nil {
			c.diags = append(c.diags, &hcl.Diagnostic{Summary: "Invalid connection", Detail: err.Error(), Subject: conn.Range})
			continue
		}
		c.g.cleanups.add(release)
		c.handles[conn] = opened
		if h, ok := opened.handle.(adapters.Health); ok || opened.guard.State() != "" {
			c.g.health = append(c.g.health, connectionProbe{conn.Kind + "." + conn.Name, h, opened.guard})
		}
	}
}

// programs makes every program before it binds the first, because a tool may be a step of another.
func (c *compiler) programs() {
	for _, t := range c.g.Config.Tools {
		p := newProgram(c.g, t)
		c.g.programs[t.Name] = p
		c.g.sortedPrograms = append(c.g.sortedPrograms, p)
	}
	for _, p := range c.g.sortedPrograms {
		c.bindSteps(&p.operation)
		c.completions(p.decl)
	}
}

// promptsAndResources makes what is offered beside tools.
func (c *compiler) promptsAndResources() {
	for _, decl := range c.g.Config.Prompts {
		p := newPrompt(c.g, decl)
		c.g.prompts = append(c.g.prompts, p)
		c.bindSteps(&p.operation)
		c.completions(p.decl)
	}
	for _, decl := range c.g.Config.Resources {
		r := newResource(c.g, decl)
		c.g.resources = append(c.g.resources, r)
		c.bindSteps(&r.operation)
		c.completions(r.decl)
	}
}

// completions makes what looks up the inputs of w.
func (c *compiler) completions(w *hcl.Operation) {
	for _, m := range w.Input.Members {
		decl := w.Completions[m.Name]
		if decl == nil || len(decl.Steps) == 0 {
			continue
		}
		made := &completion{completion: decl}
		made.initialize(c.g, "completion", &decl.Operation, nil)
		c.bindSteps(&made.operation)
		c.g.completions[decl] = made
	}
}

// views makes what each address shows, with its lists.
func (c *compiler) views() {
	c.g.fullView = newView(c.g, nil)
	c.g.views = map[string]*view{"": c.g.fullView}
	for _, t := range c.g.Config.Toolsets {
		c.g.views[t.Name] = newView(c.g, t)
	}
	for _, v := range c.g.views {
		for _, of := range []mcp.Listing{mcp.Prompts, mcp.Resources, mcp.Templates} {
			v.encodeList(of, c.g)
		}
	}
	c.g.listsStale.Store(true)
	c.g.publish()
}

// bindSteps binds the steps of a routine. Every tool must have been made.
func (c *compiler) bindSteps(r *operation) {
	for _, step := range r.decl.Steps {
		action, diags := c.bind(step.Backend)
		c.diags = append(c.diags, diags...)
		s := &boundStep{decl: step, action: action}
		if opened := c.handles[step.Backend.Connection]; opened != nil {
			s.guard = opened.guard
		}
		r.steps = append(r.steps, s)
		_, asks := action.(*elicit.AskGroup)
		r.asksClient = r.asksClient || asks
	}
	c.g.operations = append(c.g.operations, r)
}

// bind makes the action of one backend.
func (c *compiler) bind(b *hcl.Backend) (adapters.Action, hcl.Diagnostics) {
	if call, ok := b.Config.(*hcl.ToolCall); ok {
		target, ok := c.g.programs[call.Name]
		if !ok {
			return nil, b.Diagnose(fmt.Errorf("there is no tool %q to call", call.Name))
		}
		return &toolCall{target, call.Inputs}, nil
	}
	if action := c.builtinStep(b); action != nil {
		return action, nil
	}
	adapter, ok := c.build.Set.Adapter(b.Kind)
	if !ok {
		return nil, b.Diagnose(fmt.Errorf("this program has no backend %q", b.Kind))
	}
	env := c.build.env(&c.g.cleanups)
	env.Log = env.Log.With("backend", b.Kind)
	if b.Connection != nil {
		opened, ok := c.handles[b.Connection]
		if !ok {
			return nil, nil // the connection was reported
		}
		env.Connection = opened.handle
	}
	action, err := adapter.Bind(c.ctx, b, env)
	if err != nil {
		return nil, b.Diagnose(err)
	}
	return action, nil
}
