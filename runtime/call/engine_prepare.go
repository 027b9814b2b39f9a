package call

import (
	"context"
	"fmt"

	"hatchel/hcl"
	"hatchel/runtime/durable/audit"
	"hatchel/runtime/observe/metrics"
	"hatchel/runtime/stage/failure"
	"hatchel/runtime/stage/idempotency"
	"hatchel/runtime/stage/limit"
	"hatchel/runtime/stage/policy"
)

// requireApprovals finds out which approvals the call needs, unless they are complete.
func (c *engine) requireApprovals() error {
	p := c.program
	if len(p.Approvals) == 0 || c.approval != nil && c.approval.Stage == approvalComplete {
		return nil
	}
	user, operator, failed, err := p.requiredApprovals(c.frame)
	if err != nil {
		c.access.decision = policy.Decision{Verdict: policy.Denied, Rule: failed, Cause: err}
		return c.clock.denial(c.access.decision)
	}
	if c.approval == nil && len(user)+len(operator) > 0 {
		c.approval = new(approvalState)
	}
	if c.approval != nil {
		c.approval.userRules, c.approval.operatorRules = user, operator
		c.clock.suspend()
	}
	return nil
}

// approvals returns the stage in which people approve the call.
func (c *engine) approvals() *approvals {
	s := &approvals{
		approvalState: c.approval, program: c.program, call: &c.action, clock: &c.clock, caller: c.caller,
		elicitation: c.elicitation, mayBecomeTask: c.progress.mayBecomeTask,
		noWait: c.request != nil && c.request.NoWait, entry: c.events.entry,
	}
	if c.approval != nil {
		s.waiting = c.waiting()
		s.view = approvalView{
			program: c.program, call: &c.action, arguments: c.arguments(), caller: c.clock.outerCaller(),
			callID: string(c.events.callID()),
		}
	}
	return s
}

// awaitApprovals waits until all required approvals are given.
func (c *engine) awaitApprovals() error {
	if c.approval.isComplete() {
		return nil
	}
	s := c.approvals()
	err := s.await()
	c.access.refusedBy = s.refusedBy()
	return err
}

// consumeApproval begins the work that is approved, and consumes the approval of an operator. It reports false when
// another call has consumed it.
func (c *engine) consumeApproval() (consumed bool, err error) {
	if c.approval == nil {
		return true, nil
	}
	if consumed, err := c.approvals().consume(); err != nil || !consumed {
		return false, err
	}
	if len(c.operation.Steps) == 0 {
		c.clock.restart()
	}
	claim := c.reuse.claim
	if c.approval.task == "" || !claim.Held() {
		return true, nil
	}
	claim.Record.Task = c.approval.task // calls with the same key find the task that does the work
	return true, claim.Finish(c.frame.Context, idempotency.Task)
}

// useCache reports whether another call has asked the same, and this one has its result. Otherwise the call is to be
// carried out, and other calls may wait for it.
func (c *engine) useCache() (hasResult bool, err error) {
	if c.program.tool.Cache == nil || c.approval != nil {
		return false, nil
	}
	use, err := c.program.useCache(&c.action, &c.clock)
	c.reuse.flight, c.reuse.cacheKey = use.flight, use.key
	if err == nil && (use.result != nil || use.err != nil) {
		c.reuse.replayedFrom = audit.FromCache
	}
	switch {
	case err != nil:
		return false, err
	case use.result != nil:
		if fault := c.program.withdrawn(); fault != nil {
			return false, fault
		}
		return true, c.result.Restore(use.result)
	}
	return false, use.err
}

// acquireKey makes the call the one that is carried out under its idempotency key, if it has one. HasResult reports
// that another call with the same key was carried out, and that this call has its result.
func (c *engine) acquireKey() (hasResult bool, err error) {
	p := c.program
	key, _ := c.frame.Input[hcl.KeyInput].(string)
	if p.tool.Idempotency == nil || c.caller == nil || key == "" || p.tool.Cache != nil && c.approval == nil {
		return false, nil
	}
	claim, err := p.newClaim(&c.action, key)
	if err != nil {
		return false, c.clock.evalError(err)
	}
	use, err := (&keys{
		program: p, call: &c.action, clock: &c.clock, caller: c.caller, approvals: c.approvals(), claim: claim,
		resumes: c.reuse.resumedKey, mayFollow: c.progress.taskStage > 0 || c.progress.mayBecomeTask,
	}).acquire()
	c.access.refusedBy = use.refusedBy
	if use.replayed != "" {
		c.reuse.replayedFrom = use.replayed
	}
	switch {
	case err != nil:
		return false, err
	case use.result != nil:
		if name := c.hiddenSince(use.result.Lifted); name != "" {
			return false, failure.Refusal(fmt.Sprintf(hiddenResult, name))
		}
		return true, c.result.Restore(use.result)
	}
	c.reuse.claim, c.action.Key = use.claim, key
	return false, nil
}

// acquireLimits counts the call in all limits of its tool, and fails where one rejects it. In a step of another call,
// that call is counted in those of the server.
func (c *engine) acquireLimits() error {
	p := c.program
	for _, l := range p.limits {
		if c.caller == nil && l.OfServer() {
			continue
		}
		caller := c.action.Owner
		if caller == "" {
			caller = limit.Network(c.remoteAddr)
		}
		err := c.clock.limits.acquire(l, caller, c.progress.resumed, func(wait func(context.Context) error) error {
			p.meter.Wait(metrics.WaitLimit, 1)
			defer p.meter.Wait(metrics.WaitLimit, -1)
			return c.clock.bound(wait)
		})
		if err != nil {
			c.access.refusedBy = metrics.RefusedByLimit
			return err
		}
	}
	return nil
}
