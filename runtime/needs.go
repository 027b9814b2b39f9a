package runtime

import (
	"slices"

	"hatchel/hcl"
	"hatchel/runtime/elicit"
	"hatchel/runtime/limit"
)

// checkRequirements, which is the last that can be refused, looks at all that is bound together: what a client must be able to do for it, and whether what must be remembered can be kept.
func (c *compiler) checkRequirements() {
	for _, r := range c.g.operations {
		c.markApprovalWaits(r)
		r.writer.KeepEnd = writesLog(r)
		r.requiredCapabilities = gatherNested(r, func(w *hcl.Operation) []string { return w.Requires })
		r.requiredScopes = gatherNested(r, func(w *hcl.Operation) []string { return w.Scopes })
	}
	if c.diags.HasErrors() {
		return // what is opened below stays open: nothing that is not served says where
	}
	if !c.build.State.configure(c.g.Config.State) {
		c.diags = append(c.diags, stateMovedDiagnostic(c.g.Config.State))
		return
	}
	if c.g.uploads {
		c.build.State.startUploadCleanup(c.ctx)
	}
	for _, r := range c.g.operations {
		if err := c.checkState(r); err != nil {
			c.diags = append(c.diags, err)
			return // it would be said of every other one, too
		}
	}
	on := slices.IndexFunc(c.g.Config.Webhooks, func(w *hcl.Webhook) bool { return !w.Disabled })
	if on < 0 {
		return
	}
	if err := c.build.State.startDelivery(c.ctx); err != nil {
		c.diags = append(c.diags, stateDiagnostic(c.g.Config.Webhooks[on].Range, "What a webhook does not take is sent again", err))
	}
}

// gatherNested are what a routine, and the tools that its steps call, ask of who calls.
func gatherNested(r *operation, of func(*hcl.Operation) []string) []string {
	all := slices.Clone(of(r.decl))
	for _, s := range r.steps {
		if call, ok := s.action.(*toolCall); ok {
			for _, name := range gatherNested(&call.target.operation, of) {
				if !slices.Contains(all, name) {
					all = append(all, name)
				}
			}
		}
	}
	return all
}

// checkState sees to it that what a routine has to remember can be kept.
func (c *compiler) checkState(r *operation) *hcl.Diagnostic {
	state := c.build.State
	if p := c.g.programs[r.decl.Name]; r.kind == "tool" && p.tool.Task != nil {
		p.taskStage = 1 + slices.IndexFunc(p.decl.Steps, func(s *hcl.Step) bool { return s.Name == p.tool.Task.After && s.Name != "" })
		if err := state.tasks.startHeartbeat(c.ctx); err != nil {
			return stateDiagnostic(r.decl.Range, "Calls of this tool become tasks", err)
		}
	}
	if p := c.g.programs[r.decl.Name]; r.kind == "tool" && p.tool.Idempotency != nil {
		if err := state.tasks.startHeartbeat(c.ctx); err != nil {
			return stateDiagnostic(r.decl.Range, "Calls of this tool may have a key", err)
		}
	}
	if p := c.g.programs[r.decl.Name]; r.kind == "tool" && slices.ContainsFunc(p.limits, limit.Limit.HasRate) {
		if err := state.ensureOpen(c.ctx); err != nil {
			return stateDiagnostic(r.decl.Range, "Calls of this tool have a rate", err)
		}
	}
	if p := c.g.programs[r.decl.Name]; r.kind == "tool" && len(p.approvalRules) > 0 {
		if err := state.tasks.startHeartbeat(c.ctx); err != nil {
			return stateDiagnostic(p.approvalRules[0].decl.Range, "Calls of this tool need approvals", err)
		}
	}
	if r.asksClient {
		if err := state.ensureOpen(c.ctx); err != nil {
			asks := slices.IndexFunc(r.steps, func(s *boundStep) bool { _, ok := s.action.(*elicit.AskGroup); return ok })
			return stateDiagnostic(r.steps[asks].decl.Range, "This asks the client", err)
		}
	}
	return nil
}

// markApprovalWaits finds out whether a step of a routine may wait for people, and reports whether the routine may.
func (c *compiler) markApprovalWaits(r *operation) bool {
	for _, s := range r.steps {
		if call, ok := s.action.(*toolCall); ok && (len(call.target.approvalRules) > 0 || c.markApprovalWaits(&call.target.operation)) {
			r.mayWaitForApproval = true
		}
	}
	return r.mayWaitForApproval
}

// stateMovedDiagnostic is why another state block cannot be served.
func stateMovedDiagnostic(kept *hcl.State) *hcl.Diagnostic {
	d := &hcl.Diagnostic{Summary: "State cannot move", Detail: "What is remembered is kept where the configuration said when it was needed first, and does not move while the server runs. Restart it to keep the state elsewhere."}
	if kept != nil {
		d.Subject = kept.Range
	}
	return d
}

func stateDiagnostic(at hcl.Range, why string, err error) *hcl.Diagnostic {
	return &hcl.Diagnostic{Summary: "State cannot be kept", Detail: why + ", so something must be remembered between requests, and " + err.Error() + ".", Subject: at}
}

// writesLog reports whether texts of an operation may be logs, of its own backends or of a tool that its steps call.
func writesLog(r *operation) bool {
	return slices.ContainsFunc(r.steps, func(s *boundStep) bool {
		call, ok := s.action.(*toolCall)
		return s.decl.Backend.Effects.Log || ok && writesLog(&call.target.operation)
	})
}
