package runtime

import (
	"slices"

	"hatchel/hcl"
)

// needs, which is the last that can be refused, looks at all that is bound together: what a client must be able to do for it, and whether what must be remembered can be kept.
func (c *compiler) needs() {
	for _, r := range c.g.routines {
		c.patience(r)
		r.requires = gathered(r, func(w *hcl.Work) []string { return w.Requires })
		r.scopes = gathered(r, func(w *hcl.Work) []string { return w.Scopes })
	}
	if c.diags.HasErrors() {
		return // what is opened below stays open: nothing that is not served says where
	}
	if !c.build.State.declare(c.g.Config.State) {
		c.diags = append(c.diags, moved(c.g.Config.State))
		return
	}
	if c.g.uploads {
		c.build.State.tend(c.ctx)
	}
	for _, r := range c.g.routines {
		if err := c.remembered(r); err != nil {
			c.diags = append(c.diags, err)
			return // it would be said of every other one, too
		}
	}
	on := slices.IndexFunc(c.g.Config.Webhooks, func(w *hcl.Webhook) bool { return !w.Off })
	if on < 0 {
		return
	}
	if err := c.build.State.left(c.ctx); err != nil {
		c.diags = append(c.diags, unkept(c.g.Config.Webhooks[on].Range, "What a webhook does not take is sent again", err))
	}
}

// gathered are what a routine, and the tools that its steps call, ask of who calls.
func gathered(r *routine, of func(*hcl.Work) []string) []string {
	all := slices.Clone(of(r.decl))
	for _, s := range r.stages {
		if call, ok := s.action.(*toolCall); ok {
			for _, name := range gathered(&call.target.routine, of) {
				if !slices.Contains(all, name) {
					all = append(all, name)
				}
			}
		}
	}
	return all
}

// remembered sees to it that what a routine has to remember can be kept.
func (c *compiler) remembered(r *routine) *hcl.Diagnostic {
	state := c.build.State
	if p := c.g.programs[r.decl.Name]; r.noun == "tool" && p.tool.Task != nil {
		p.handover = 1 + slices.IndexFunc(p.decl.Steps, func(s *hcl.Step) bool { return s.Name == p.tool.Task.After && s.Name != "" })
		if err := state.tasks.begin(c.ctx); err != nil {
			return unkept(r.decl.Range, "Calls of this tool become tasks", err)
		}
	}
	if p := c.g.programs[r.decl.Name]; r.noun == "tool" && p.tool.Idempotency != nil {
		if err := state.tasks.begin(c.ctx); err != nil {
			return unkept(r.decl.Range, "Calls of this tool may have a key", err)
		}
	}
	if p := c.g.programs[r.decl.Name]; r.noun == "tool" && p.paced() {
		if err := state.ready(c.ctx); err != nil {
			return unkept(r.decl.Range, "Calls of this tool have a rate", err)
		}
	}
	if p := c.g.programs[r.decl.Name]; r.noun == "tool" && len(p.approvals) > 0 {
		if err := state.tasks.begin(c.ctx); err != nil {
			return unkept(p.approvals[0].decl.Range, "Calls of this tool need approvals", err)
		}
	}
	if r.asks {
		if err := state.ready(c.ctx); err != nil {
			asks := slices.IndexFunc(r.stages, func(s *stage) bool { _, ok := s.action.(*round); return ok })
			return unkept(r.stages[asks].step.Range, "This asks the client", err)
		}
	}
	return nil
}

// patience finds out whether a step of a routine may wait for people, and reports whether the routine may.
func (c *compiler) patience(r *routine) bool {
	for _, s := range r.stages {
		if call, ok := s.action.(*toolCall); ok && (len(call.target.approvals) > 0 || c.patience(&call.target.routine)) {
			r.patient = true
		}
	}
	return r.patient
}

// moved is why another state block cannot be served.
func moved(kept *hcl.State) *hcl.Diagnostic {
	d := &hcl.Diagnostic{Summary: "State cannot move", Detail: "What is remembered is kept where the configuration said when it was needed first, and does not move while the server runs. Restart it to keep the state elsewhere."}
	if kept != nil {
		d.Subject = kept.Range
	}
	return d
}

func unkept(at hcl.Range, why string, err error) *hcl.Diagnostic {
	return &hcl.Diagnostic{Summary: "State cannot be kept", Detail: why + ", so something must be remembered between requests, and " + err.Error() + ".", Subject: at}
}
