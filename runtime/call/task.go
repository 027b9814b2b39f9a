package call

import (
	"bytes"
	"context"
	"errors"
	"time"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/runtime/audit"
	"hatchel/runtime/elicit"
	"hatchel/runtime/failure"
	"hatchel/runtime/idempotency"
	"hatchel/runtime/limit"
	"hatchel/runtime/mcp"
	"hatchel/runtime/task"
)

// errBecomesTask ends the request of a call that continues as a task from where it is.
var errBecomesTask = errors.New("the call continues as a task")

// beginTask makes a task of a call and continues it in the background. It returns the members of
// the task.
func (p *Program) beginTask(ctx context.Context, c *call, caller *mcp.Caller) (mcp.Appender, error) {
	frozen, err := c.freeze(c.frame.Input)
	if err != nil {
		return nil, err
	}
	t := &task.Task{
		Tool: p.Decl.Name, Digest: p.Decl.Digest, Owner: caller.Owner(), Identity: caller.Identity,
		Toolset: caller.Toolset, TTL: p.taskTTL(c).Milliseconds(), Call: frozen,
		Client: bytes.Clone(caller.ClientInfo), Capabilities: bytes.Clone(caller.Capabilities),
	}
	if p.tool.Task != nil {
		t.Notify = p.tool.Task.Notify
	}
	run, err := p.Env.Tasks.Create(ctx, t, p.Env.Log)
	if err != nil {
		return nil, c.contextCause(failure.Unavailable(err))
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
	limits := c.limits
	c.limits = nil
	p.startTask(run, sent, limits, c.events.request.Keep())
	return members, nil
}

// taskTTL returns how long the task of a call is kept.
func (p *Program) taskTTL(c *call) time.Duration {
	ttl := hcl.DefaultTaskTTL
	if p.tool.Task != nil {
		ttl = p.tool.Task.TTL
	}
	if c.approval != nil && c.approval.Stage == approvalWaiting {
		ttl += c.approval.maxWait
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
	c.timing.stopCtx, c.progress.onStep, c.limits = ctx, run.SetStep, limits
	if c.audit = p.beginAudit(caller); c.audit != nil {
		c.audit.common.Task = t.ID()
	}
	c.beginEvents()
	c.events.task = t.ID()
	c.progress.inTask = true
	p.meter.Begin()
	err := p.resumeTask(c, t, sent)
	run.EndProgress()
	cause := context.Cause(ctx)
	if cause == task.ErrTimedOut && len(t.Notify) > 0 {
		t.Fail(task.ErrExpired)
		run.Save() // nobody finds the task any more, but webhooks are notified
	}
	if cause != nil && cause != ErrStopped {
		c.account(ctx, c.failed(cause), "")
		c.result.Release() // nobody wants the outcome
		return
	}
	var paused *elicit.PausedError
	interim := ""
	if errors.As(err, &paused) {
		interim = audit.Asked
		c.audit.addQuestions(paused.Questions)
		if err = c.saveIn(t); err == nil {
			t.Wait(nil, paused.Questions)
		}
	}
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
	if err := p.finishTask(ctx, c, t, failed); err != nil {
		failed = failure.Of(err)
		c.logOutcome(ctx, failed, "")
		t.Fail(&mcp.Error{Code: mcp.CodeInternalError, Message: failed.Message})
	}
	run.SaveOutcome()
}

// resumeTask takes up the call of a task and does what is left. A panic is its error.
func (p *Program) resumeTask(c *call, t *task.Task, sent map[string]any) (err error) {
	defer failure.Recover(&err)
	reserved := func(int64) error { return nil } // by the request
	if err := c.restoreFrom(t, sent, reserved); err != nil {
		return err
	}
	c.publishStart()
	if c.approval != nil && c.approval.Stage == approvalWaiting { // nothing was done yet
		c.approval.task = t.ID()
		return p.run(c, inputs{admitted: true})
	}
	if err := c.recordStart(); err != nil {
		return err
	}
	if c.progress.resumed = c.limits == nil; c.progress.resumed {
		if err := p.acquireLimits(c); err != nil {
			return err
		}
	}
	if p.tool.Idempotency != nil {
		c.action.Key, _ = c.frame.Input[hcl.KeyInput].(string)
	}
	if err := p.runSteps(c); err != nil {
		return err
	}
	if err := p.shape(c); err != nil {
		return err
	}
	return p.encode(c)
}

// finishTask makes the task what its call came to. A panic is its error.
func (p *Program) finishTask(ctx context.Context, c *call, t *task.Task, failed *failure.Failure) (err error) {
	defer failure.Recover(&err)
	if failed != nil && failed.Protocol != nil {
		c.result.Release()
		t.Fail(failed.Protocol)
		return nil
	}
	outcome := c.outcome(ctx, failed, "")
	out := p.outcome(c, failed, mcp.Revision20260728)
	t.Complete(out.AppendResult(nil, mcp.Revision20260728), outcome)
	return nil
}

// restoreFrom makes the call what it was when it was saved in a task, with what its client has
// answered since.
func (c *call) restoreFrom(t *task.Task, sent map[string]any, reserve func(bytes int64) error) error {
	if c.operation.AsksClient {
		c.elicitation = elicit.Resume(c, c.action.Client, c.operation.Writer, t.Caller(), sent)
		c.action.Client = c.elicitation
	}
	return c.thaw(t.Call, reserve)
}

// saveIn saves the frozen call in its task.
func (c *call) saveIn(t *task.Task) (err error) {
	t.Call, err = c.freeze(c.frame.Input)
	return err
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
	if err := c.restoreFrom(t, sent, reserve); err != nil {
		return nil, false, err
	}
	group, ok := c.waitingAskGroup()
	if !ok {
		return nil, false, errFrozenCall
	}
	pending, err := c.elicitation.Pending(group, c.frame)
	if err != nil || len(pending) == 0 {
		return nil, true, nil // an error is what the call comes to when it continues
	}
	for _, a := range pending {
		if _, given := sent[a.Key]; !given {
			continue
		}
		q, err := c.elicitation.Question(a, c.frame)
		if err != nil {
			return nil, false, err
		}
		again = append(again, q)
	}
	return again, false, c.saveIn(t)
}

// waitingAskGroup returns the ask group whose answers the call waits for.
func (c *call) waitingAskGroup() (*elicit.AskGroup, bool) {
	if c.elicitation == nil || c.progress.nextStep >= len(c.operation.Steps) {
		return nil, false
	}
	group, ok := c.operation.Steps[c.progress.nextStep].Action.(*elicit.AskGroup)
	return group, ok
}
