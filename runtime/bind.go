package runtime

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"path"
	"slices"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/internal/sqlitefile"
	"hatchel/runtime/call"
	"hatchel/runtime/durable/state"
	"hatchel/runtime/stage/limit"
)

// bindTools makes every program before it binds the first, because a tool may be a step of another.
func (c *compiler) bindTools() {
	for _, t := range c.g.Config.Tools {
		p := call.NewProgram(c.g.Env, t, limit.Of(c.g.Config, t))
		c.g.Programs[t.Name] = p
		c.g.Sorted = append(c.g.Sorted, p)
	}
	for _, p := range c.g.Sorted {
		c.bind(&p.Operation)
		for _, decl := range p.Decl.Before {
			c.bindSteps(p.AddBefore(decl))
		}
	}
}

// bindPromptsAndResources also binds skills, which are resources.
func (c *compiler) bindPromptsAndResources() {
	for _, decl := range c.g.Config.Prompts {
		p := call.NewPrompt(c.g.Env, decl)
		c.g.Prompts = append(c.g.Prompts, p)
		c.bind(&p.Operation)
	}
	for _, decl := range c.g.Config.Resources {
		r := call.NewResource(c.g.Env, decl)
		c.g.Resources = append(c.g.Resources, r)
		c.bind(&r.Operation)
	}
	for _, decl := range c.g.Config.Skills {
		s := call.NewSkill(c.g.Env, decl)
		c.g.Skills = append(c.g.Skills, s)
		c.checkSkillSecrets(decl)
		c.bind(&s.Operation)
	}
}

// checkSkillSecrets reports a secret in a file of a skill. It would be removed, and clients would refuse the file.
func (c *compiler) checkSkillSecrets(s *hcl.Skill) {
	for _, f := range s.Content.Files {
		if !bytes.Equal(c.g.Env.Scrubber.Bytes(f.Content), f.Content) {
			const text = "The file %s has the value of a secret, which clients may not see. Remove it from the " +
				"file, and replace the secret."
			c.report("Secret in a skill", fmt.Sprintf(text, path.Join(s.Directory, f.Path)), s.Range)
		}
	}
}

// bind binds the steps of an operation, and the completions of its inputs.
func (c *compiler) bind(o *call.Operation) {
	c.bindSteps(o)
	for _, m := range o.Decl.Input.Members {
		decl := o.Decl.Completions[m.Name]
		if decl == nil || len(decl.Steps) == 0 {
			continue
		}
		completion := call.NewCompletion(c.g.Env, decl)
		c.bindSteps(&completion.Operation)
		c.g.Completions[decl] = completion
	}
}

// bindSteps binds the steps of an operation, unless it is refused.
func (c *compiler) bindSteps(o *call.Operation) {
	c.g.Operations = append(c.g.Operations, o)
	c.g.Probes.Operations = c.g.Operations
	o.Missing = o.Decl.Missing
	for _, step := range o.Decl.Steps {
		if o.Missing = cmp.Or(o.Missing, c.missing[step.Backend.Connection]); o.Missing != "" {
			return
		}
		log := c.build.Log.With(o.Kind, o.Decl.Name)
		if step.Name != "" {
			log = log.With("step", step.Name)
		}
		action, err := c.bindBackend(o, step.Backend, log)
		if missing := c.refusal(err); missing != nil {
			o.Missing = missing.Name
			const text = "%s The %s %s is refused."
			c.diags.Warnf(step.Backend.Range, "Backend refused", text, missing, o.Kind, o.Decl.Name)
			return
		}
		c.diags = append(c.diags, step.Backend.Diagnose(err)...)
		var guards adapters.ConnectionGuards
		if opened := c.connections[step.Backend.Connection]; opened != nil {
			guards = opened.guards
		}
		o.AddStep(step, action, guards, c.meterBackend(step.Backend))
	}
}

// bindBackend returns the action of one backend of an operation.
func (c *compiler) bindBackend(o *call.Operation, b *hcl.Backend, log *slog.Logger) (adapters.Action, error) {
	if decl, ok := b.Config.(*hcl.ToolCall); ok {
		target, ok := c.g.Programs[decl.Name]
		if !ok {
			return nil, fmt.Errorf("the tool %q does not exist", decl.Name)
		}
		return call.ToolAction(target, decl.Inputs), nil
	}
	if _, ok := b.Config.(*hcl.PendingApprovals); ok {
		return call.PendingApprovals(c.g.Env, consoleApprovals(c.g.Config, c.g.Console)), nil
	}
	if action := call.BuiltinAction(b, c.g.Env.Scrubber); action != nil {
		return action, nil
	}
	adapter, ok := c.build.Set.Adapter(b.Kind)
	if !ok {
		return nil, fmt.Errorf("this program has no backend %q", b.Kind)
	}
	env := c.build.adapterEnv(&c.g.cleanups)
	env.Log = c.g.Env.Scrubber.Logger(log.With("backend", b.Kind))
	env.Warn = func(field any, summary, detail string) { c.diags.Warnf(b.RangeOf(field), summary, "%s", detail) }
	env.ReadOnly, env.Idempotent = o.Repeats()
	if b.Connection != nil {
		opened, ok := c.connections[b.Connection]
		if !ok {
			return nil, nil // the connection was reported, or cannot be opened without a secret
		}
		env.Connection = opened.handle
	}
	return adapter.Bind(c.ctx, b, env)
}

// checkRequirements finds out what callers and clients need for each operation, and whether the
// state that it needs can be kept. It runs last, when everything is bound, because it opens the
// state store.
func (c *compiler) checkRequirements() {
	for _, o := range c.g.Operations {
		markWaits(o)
		o.FindIdentities()
		o.Writer.KeepEnd = o.WritesLog()
		o.RequiredCapabilities = gatherNested(o, func(op *hcl.Operation) []string { return op.Requires })
		o.RequiredScopes = gatherNested(o, func(op *hcl.Operation) []string { return op.Scopes })
	}
	if c.diags.HasErrors() {
		return // a store that is opened stays open, and this configuration is not served
	}
	if declared := c.g.Config.State; declared != nil {
		if err := c.checkSQLite(); err != nil {
			c.report("State cannot be kept", "The state is declared, and "+err.Error()+".", declared.Range)
			return
		}
	}
	if err := c.build.State.Configure(c.ctx, c.g.Config.State); err != nil {
		c.reportMovedState(err)
		return
	}
	if c.g.Env.Uploads != nil {
		c.build.State.StartUploadCleanup(c.ctx)
	}
	if a := c.g.Config.Auth; a != nil && a.SignIn != nil && c.build.SignIn {
		if _, err := c.build.State.Grants(c.ctx); err != nil {
			const text = "The sign-ins of people are kept, which requires a state store, and "
			c.report("State cannot be kept", text+err.Error()+".", a.SignIn.Range)
			return
		}
	}
	for _, o := range c.g.Operations {
		if reason, at, err := c.openState(o); err != nil {
			c.report("State cannot be kept", reason+", which requires a state store, and "+err.Error()+".", at)
			return // every other operation would fail alike
		}
	}
	enabled := slices.IndexFunc(c.g.Config.Webhooks, func(w *hcl.Webhook) bool { return !w.Disabled })
	if enabled < 0 {
		return
	}
	err := c.checkSQLite()
	if err == nil && c.opensState() {
		err = c.build.State.StartDelivery(c.ctx)
	}
	if err != nil {
		const text = "Failed deliveries to a webhook are retried, which requires a state store, and "
		c.report("State cannot be kept", text+err.Error()+".", c.g.Config.Webhooks[enabled].Range)
	}
}

// reportMovedState reports that the open state store cannot be used as the configuration says.
func (c *compiler) reportMovedState(err error) {
	var at hcl.Range
	declared := c.g.Config.State
	if declared != nil {
		at = declared.Range
	}
	switch {
	case !errors.Is(err, state.ErrMoved):
		const format = "The database cannot be used with the new URL, because %s. The server goes on with the last " +
			"URL, and tries the new one again every 30 seconds."
		c.reportTransient("State store not usable", fmt.Sprintf(format, err), at)
	case declared != nil && declared.Postgres != "":
		c.report("State cannot move", "The state store is open in another database. The URL may get another user, "+
			"password or parameter while the server runs, but it must lead to the same tables at the same host, port "+
			"and database. Restart the server to keep the state elsewhere.", at)
	default:
		c.report("State cannot move", "The state store is open at the place that the configuration named before, and "+
			"does not move while the server runs. Restart the server to keep the state elsewhere.", at)
	}
}

// consoleApprovals returns the address of the approvals in the console; empty where it has none that is known: without
// a console, and where it is served at an address of its own or under no name or several.
func consoleApprovals(c *hcl.Config, console *hcl.Console) string {
	if console == nil || console.Listen != "" || len(c.Hosts()) != 1 {
		return ""
	}
	return "https://" + c.Hosts()[0] + "/console/approvals"
}

// gatherNested returns what an operation, and the tools that its steps call, require of callers.
func gatherNested(o *call.Operation, required func(*hcl.Operation) []string) []string {
	all := slices.Clone(required(o.Decl))
	for _, p := range o.CallsTools() {
		for _, name := range gatherNested(&p.Operation, required) {
			if !slices.Contains(all, name) {
				all = append(all, name)
			}
		}
	}
	return all
}

// markWaits finds out whether a step of an operation may wait for people while it runs.
func markWaits(o *call.Operation) bool {
	for _, p := range o.CallsTools() {
		if markWaits(&p.Operation) || len(p.Approvals) > 0 {
			o.MayWait = true
		}
	}
	return o.MayWait
}

// checkSQLite returns why this program cannot keep the state where the configuration says; nil if it can.
func (c *compiler) checkSQLite() error {
	declared := c.g.Config.State
	if sqlitefile.Included || c.build.Mocks != nil || declared != nil && declared.InDatabase {
		return nil
	}
	return fmt.Errorf("it would be a SQLite database: %w. Or keep the state in PostgreSQL, with postgres in the state "+
		"block", sqlitefile.ErrNotIncluded)
}

// opensState reports whether a state that is needed is opened. It is, unless no call is made and the state, which would
// be in memory, is that of a program without SQLite.
func (c *compiler) opensState() bool {
	return sqlitefile.Included || !c.ownsState || c.build.Mocks != nil || c.build.AuditLogs != nil
}

// openState opens the state store if calls of the operation need it. With an error, reason says
// what for.
func (c *compiler) openState(o *call.Operation) (reason string, at hcl.Range, err error) {
	watch := func() error { return c.build.State.Watch(c.ctx) }
	open := func() error {
		_, err := c.build.State.Open(c.ctx)
		return err
	}
	require := func(needed bool, open func() error, why string, where hcl.Range) {
		if needed && err == nil {
			if reason, at, err = why, where, c.checkSQLite(); err == nil && c.opensState() {
				err = open()
			}
		}
	}
	if p := c.g.Programs[o.Decl.Name]; o.Kind == "tool" {
		t := p.Tool()
		if t.Task != nil {
			isAfter := func(s *hcl.Step) bool { return s.Name == t.Task.After && s.Name != "" }
			p.TaskStage = 1 + slices.IndexFunc(o.Decl.Steps, isAfter)
		}
		require(t.Task != nil, watch, "Calls of this tool become tasks", o.Decl.Range)
		require(t.Idempotency != nil, watch, "Calls of this tool may have an idempotency key", o.Decl.Range)
		require(t.Page != nil, open, "This tool answers in pages, whose cursors are sealed", o.Decl.Range)
		require(p.HasRate(), open, "Calls of this tool are rate limited", o.Decl.Range)
		if len(p.Approvals) > 0 {
			require(true, watch, "Calls of this tool need approvals", p.Approvals[0].DeclRange())
		}
	}
	for _, s := range o.Decl.Steps {
		_, lists := s.Backend.Config.(*hcl.PendingApprovals)
		require(lists, watch, "This tool lists approvals", o.Decl.Range)
		conn := s.Backend.Connection
		limited := conn != nil && conn.Limits.Rate.Calls > 0
		require(limited, open, "Requests over a connection are rate limited", o.Decl.Range)
	}
	require(o.AsksClient, open, "This asks the client", o.AskRange)
	return reason, at, err
}
