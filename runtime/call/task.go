package call

import (
	"bytes"
	"context"
	"errors"
	"time"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/runtime/durable/audit"
	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/stage/elicit"
	"hatchel/runtime/stage/failure"
	"hatchel/runtime/stage/idempotency"
	"hatchel/runtime/stage/limit"
	"hatchel/runtime/stage/task"
)

// errBecomesTask ends the request of a call that continues as a task from where it is.
var errBecomesTask = errors.New("the call continues as a task")

// beginTask makes a task of a call and continues it in the background. It returns the members of
// the task.
func (c *engine) beginTask(ctx context.Context) (mcp.Appender, error) {
	p, caller := c.program, c.caller
	frozen, err := c.freeze(c.frame.Input)
	if err != nil {
		return nil, err
	}
	t := &task.Task{
		Tool: p.Decl.Name, Digest: p.Decl.Digest, Owner: caller.Owner(), Identity: caller.Identity,
		Toolset: caller.Toolset, TTL: p.taskTTL(c.approval).Milliseconds(), Call: frozen,
		Client: bytes.Clone(caller.ClientInfo), Capabilities: bytes.Clone(caller.Capabilities), Hops: c.action.Hops,
		Via: c.request.Via,
	}
	if p.tool.Task != nil {
		t.Notify = p.tool.Task.Notify
	}
	run, err := p.Env.Tasks.Create(ctx, t, p.Env.Log)
	if err != nil {
		return nil, c.clock.cause(failure.Unavailable(err))
	}
	if claim := c.reuse.claim; claim.Held() {
		claim.Record.Task = t.ID()
		if err := claim.Finish(ctx, idempotency.Task); err != nil {
			const text = "The task could not be started, and nothing of it was done."
			t.Fail(&mcp.Error{Code: mcp.CodeInternalError, Message: text})
			return nil, errors.Join(err, run.Abort())
		}
	}
	if c.audit != nil {
		c.audit.common.Task = t.ID()
	}
	c.events.task = t.ID()
	members := mcp.Raw(t.AppendMembers(nil, false))
	var sent map[string]any
	if c.elicitation != nil {
		sent = c.elicitation.Sent
	}
	limits := c.clock.limits.keys
	c.clock.limits.keys = nil
	p.startTask(run, sent, limits, c.request.Keep())
	return members, nil
}

// taskTTL returns how long the task of a call is kept.
func (p *Program) taskTTL(a *approvalState) time.Duration {
	ttl := hcl.DefaultTaskTTL
	if p.tool.Task != nil {
		ttl = p.tool.Task.TTL
	}
	if a != nil && a.Stage == approvalWaiting {
		ttl += a.maxWait
	}
	return ttl
}

// startTask continues a task in the background, with what its client has answered. Limits count the
// call already, and its values take the memory. The generation, which the caller has entered, stays open meanwhile.
func (p *Program) startTask(run *task.Run, sent map[string]any, limits []limit.Key, memory *mcp.Memory) {
	p.Env.Generation.Retain()
	work := func() {
		defer memory.Release()
		p.runTask(run, sent, limits)
	}
	if !p.Env.Tasks.Start(run, work) {
		memory.Release()
		p.Env.Generation.Release()
		run.Task.Fail(run.Task.StoppedError())
		run.Save()
	}
}

// runTask continues the call of a task until it ends or waits for its client.
func (p *Program) runTask(run *task.Run, sent map[string]any, limits []limit.Key) {
	defer p.Env.Generation.Release()
	ctx, t := run.Context(), run.Task
	caller := t.Caller()
	c := p.newCallOf(ctx, caller, run)
	defer c.release()
	c.program, c.clock.stopCtx, c.progress.onStep, c.clock.limits.keys = p, ctx, run.SetStep, limits
	c.action.Hops = t.Hops
	if c.audit = p.beginAudit(caller, t.Via); c.audit != nil {
		c.audit.common.Task = t.ID()
	}
	c.events = p.beginEvents(nil, c.audit)
	c.events.task = t.ID()
	c.progress.inTask = true
	p.meter.Begin()
	err := failure.Try(func() error { return c.resumeTask(t, sent) })
	run.EndProgress()
	cause := context.Cause(ctx)
	if cause == task.ErrTimedOut && len(t.Notify) > 0 {
		t.Fail(task.ErrExpired)
		run.Save() // nobody finds the task any more, but webhooks are notified
	}
	if cause != nil && cause != ErrStopped {
		c.releaseOpenCall(ctx, cause)
		c.account(ctx, c.failed(cause), "")
		c.result.Release() // nobody wants the outcome
		return
	}
	var paused *elicit.PausedError
	interim := ""
	if errors.As(err, &paused) {
		interim = audit.Asked
		c.audit.addQuestions(paused.Questions)
		if t.Call, err = c.freeze(c.frame.Input); err == nil {
			t.Wait(nil, paused.Questions)
		}
	}
	c.releaseOpenCall(ctx, err)
	failed := c.failed(err)
	c.finishKey(ctx, err, failed)
	if failed != nil && cause != nil {
		failed.Protocol = t.StoppedError()
	}
	failed = c.account(ctx, failed, interim)
	if interim != "" && failed == nil {
		c.result.Release()
		run.Save()
		return
	}
	if err := failure.Try(func() error { return c.finishTask(ctx, t, failed) }); err != nil {
		failed = failure.Of(err)
		end := c.ending(ctx, failed, "")
		end.log(ctx)
		t.Fail(&mcp.Error{Code: mcp.CodeInternalError, Message: failed.Message})
	}
	run.SaveOutcome()
}

// resumeTask takes up the call of a task and does what is left.
func (c *engine) resumeTask(t *task.Task, sent map[string]any) error {
	reserved := func(int64) error { return nil } // by the request
	if err := c.restoreFrom(t, sent, reserved); err != nil {
		return err
	}
	f := c.facts()
	c.events.publishStart(&f, c.clock.started)
	if c.approval != nil && c.approval.Stage == approvalWaiting { // nothing was done yet
		c.approval.task = t.ID()
		return c.runTool(inputs{admitted: true})
	}
	if err := c.recordStart(); err != nil {
		return err
	}
	if c.progress.resumed = c.clock.limits.keys == nil; c.progress.resumed {
		if err := c.acquireLimits(); err != nil {
			return err
		}
	}
	if c.program.tool.Idempotency != nil {
		c.action.Key, _ = c.frame.Input[hcl.KeyInput].(string)
	}
	if err := c.runSteps(); err != nil {
		return err
	}
	if err := c.shape(); err != nil {
		return err
	}
	return c.encode()
}

// finishTask makes the task what its call came to.
func (c *engine) finishTask(ctx context.Context, t *task.Task, failed *failure.Failure) error {
	if failed != nil && failed.Protocol != nil {
		c.result.Release()
		t.Fail(failed.Protocol)
		return nil
	}
	outcome := c.ending(ctx, failed, "").outcome
	out := c.outcome(failed, mcp.Revision20260728)
	t.Complete(out.AppendResult(nil, mcp.Revision20260728), outcome, c.operation.addLifted(nil, c.frame))
	return nil
}

// restoreFrom makes the call what it was when it was saved in a task, with what its client has
// answered since.
func (c *engine) restoreFrom(t *task.Task, sent map[string]any, reserve func(bytes int64) error) error {
	if c.operation.AsksClient {
		c.elicitation = elicit.Resume(c.waiting(), c.action.Client, c.operation.Writer, t.Caller(), sent)
		c.action.Client = c.elicitation
	}
	return c.thaw(t.Call, reserve)
}

// chooseTask decides whether a call becomes a task: before a step, as progress.taskStage has it, or when it has to wait
// for an operator.
func (p *Program) chooseTask(caller *mcp.Caller) (stage int, whenWaiting bool, err error) {
	capable := caller.Revision.Modern() && elicit.HasCapability(caller, "tasks")
	switch {
	case p.tool.Task == nil:
		return 0, len(p.Approvals) > 0 && capable, nil
	case capable:
		return p.TaskStage + 1, true, nil
	case p.tool.Task.Required:
		return 0, false, elicit.CapabilityError(caller, "tasks")
	}
	return 0, false, nil
}

// answerInterim returns the answer to a call that continues later. An error is what the call came
// to instead.
func (c *engine) answerInterim(ctx context.Context, reason error) (out mcp.Outcome, err error) {
	defer failure.Recover(&err)
	var paused *elicit.PausedError
	var existing *existingTaskError
	switch {
	case errors.As(reason, &paused):
		out.Approval = paused.Approval
		if out.Questions, err = c.sealQuestions(paused); err == nil {
			err = pauseKey(ctx, c.reuse.claim, mayHaveActed(c.action.Changes))
		}
	case errors.As(reason, &existing):
		out.Task = mcp.Raw(existing.task.AppendMembers(nil, false))
	default:
		out.Task, err = c.beginTask(ctx)
	}
	if err != nil && !mayHaveActed(c.action.Changes) {
		c.approval.restore(c.frame.Context, c.operation.Env)
	}
	return out, err
}

// AnswerTask gives answers of its client to a waiting task, which continues when they are complete, with the memory of
// the request. The caller has entered the generation. It reports false when the task was changed in the meantime.
func (p *Program) AnswerTask(
	ctx context.Context, t *task.Task, req *mcp.TaskRequest, sent map[string]any, pending []task.Question,
) (bool, error) {
	if err := req.Reserve(copiesInTask * int64(len(t.Call))); err != nil {
		return true, err
	}
	again, complete, err := p.checkAnswers(ctx, t, sent, req.Reserve)
	if err != nil {
		return true, err
	}
	if !complete {
		t.Wait(pending, again)
		return p.Env.Tasks.Save(ctx, t)
	}
	run, err := p.Env.Tasks.Take(ctx, t, p.Env.Log)
	if run != nil {
		p.startTask(run, sent, nil, req.Keep())
	}
	return run != nil, err
}

// checkAnswers checks answers without continuing the task. Complete reports whether the call can
// continue or ends. If not, the valid answers are saved in the task, and again are the questions to
// ask again.
func (p *Program) checkAnswers(
	ctx context.Context, t *task.Task, sent map[string]any, reserve func(bytes int64) error,
) (again []mcp.Question, complete bool, err error) {
	defer failure.Recover(&err)
	c := p.newCallOf(ctx, t.Caller(), adapters.NopClient{})
	defer c.result.Release()
	c.program = p
	if err := c.restoreFrom(t, sent, reserve); err != nil {
		return nil, false, err
	}
	if again, complete, err = c.pendingQuestions(sent); complete || err != nil {
		return nil, complete, err
	}
	t.Call, err = c.freeze(c.frame.Input)
	return again, false, err
}

// askGroup returns the ask group of a step; nil for a step without one.
func (o *Operation) askGroup(step int) *elicit.AskGroup {
	if step >= len(o.Steps) {
		return nil
	}
	group, _ := o.Steps[step].Action.(*elicit.AskGroup)
	return group
}
