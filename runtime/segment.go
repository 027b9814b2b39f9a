package runtime

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"hatchel/hcl"
	"hatchel/runtime/audit"
	"hatchel/runtime/elicit"
	"hatchel/runtime/failure"
	"hatchel/runtime/limit"
	"hatchel/runtime/mcp"
)

// errBecomesTask says that a call goes on as a task from where it is.
var errBecomesTask = errors.New("the call goes on as a task")

// beginTask makes a task of a call, and has it worked on in the background. What it returns are the members of the task.
func (p *Program) beginTask(ctx context.Context, c *call, caller *mcp.Caller) (mcp.Appender, error) {
	frozen, err := c.freeze(c.frame.Input)
	if err != nil {
		return nil, err
	}
	t := &task{
		Tool: p.decl.Name, Digest: p.decl.Digest, Owner: caller.Owner(), Identity: caller.Identity, Toolset: caller.Toolset, TTL: p.taskRetention(c).Milliseconds(),
		Client: bytes.Clone(caller.ClientInfo), Capabilities: bytes.Clone(caller.Capabilities), Call: frozen,
	}
	if p.tool.Task != nil {
		t.Callback = p.tool.Task.Notify
	}
	ts := p.generation.build.State.tasks
	if err := ts.create(ctx, t); err != nil {
		return nil, c.contextCause(err)
	}
	if k := c.claim; k != nil && k.held {
		k.record.Task = t.row.Name
		if err := k.finish(ctx, keyTask); err != nil {
			t.fail(&mcp.Error{Code: mcp.CodeInternalError, Message: "The task could not be begun, and nothing of it was done."})
			_, lost := ts.save(context.WithoutCancel(ctx), t)
			return nil, errors.Join(err, lost)
		}
	}
	if c.audit != nil {
		c.audit.common.Task = t.row.Name
	}
	begun := mcp.Raw(t.appendMembers(nil, false))
	var sent map[string]any
	if c.elicitation != nil {
		sent = c.elicitation.Sent
	}
	counted := c.limits
	c.limits = nil
	p.runTask(ctx, t, sent, counted)
	return begun, nil
}

// taskRetention is for how long the task of a call is kept.
func (p *Program) taskRetention(c *call) time.Duration {
	ttl := hcl.DefaultTaskTTL
	if p.tool.Task != nil {
		ttl = p.tool.Task.TTL
	}
	if c.approval != nil && c.approval.stage == approvalWaiting {
		ttl += c.approval.maxWait
	}
	return ttl
}

// runTask works on a task in the background, with what its client has sent since it waited. The generation, which the caller has entered, stays open meanwhile.
func (p *Program) runTask(ctx context.Context, t *task, sent map[string]any, counted []limit.Key) {
	s := &taskRun{program: p, task: t, sent: sent, ctx: ctx, limits: counted}
	p.generation.pinnedCalls.Add(1)
	if !p.generation.build.State.tasks.start(s) {
		p.generation.pinnedCalls.Done()
		t.fail(taskStoppedError(t.Step))
		s.save()
	}
}

// taskRun is a part of the work on a task: until it is over, or until it waits for its client. It is the client of the call meanwhile: what a client would be told
// is what the task says of itself.
type taskRun struct {
	program *Program
	sent    map[string]any
	limits  []limit.Key     // what counts the call from which it comes
	ctx     context.Context // ends when the work must
	cancel  context.CancelCauseFunc

	mu          sync.Mutex
	task        *task       // guarded by mu while the call is under way
	lastSaved   time.Time   // when the task was saved last; guarded by mu
	pendingSave *time.Timer // saves what was reported since; nil when nothing was; guarded by mu
}

// run does the work.
func (s *taskRun) run() {
	defer s.program.generation.pinnedCalls.Done()
	caller := s.task.caller()
	c := s.program.newCall(s.ctx, callerRoot(caller), s)
	defer c.release()
	c.caller, c.stopCtx, c.onStep, c.limits = caller, s.ctx, s.setStep, s.limits
	c.setCaller(caller)
	if c.audit = s.program.beginAudit(caller, nil, nil); c.audit != nil {
		c.audit.common.Task = s.task.row.Name
	}
	err := s.resume(c)
	s.cancelPendingSave()
	cause := context.Cause(s.ctx)
	if cause == errTaskExpired && len(s.task.Callback) > 0 {
		s.task.fail(errTaskTimedOut)
		s.save() // nobody finds the task any more, and webhooks are told
	}
	if cause != nil && cause != errStopped {
		c.recordEnd(s.ctx, failure.Of(cause), "")
		c.result.Release() // whatever came of it, nobody wants to know
		return
	}
	var pause *elicit.PausedError
	outcome := ""
	if errors.As(err, &pause) {
		outcome = audit.Asked
		c.audit.addQuestions(pause.Questions)
		err = s.pause(c, pause)
	}
	failed := failure.Of(err)
	c.finishKey(s.ctx, err, failed)
	if failed != nil && cause != nil {
		failed.Protocol = taskStoppedError(s.task.Step)
	}
	if failed = c.recordEnd(s.ctx, failed, outcome); outcome != "" && failed == nil {
		c.result.Release()
		s.save()
		return
	}
	c.logOutcome(s.ctx, failed)
	if err := s.finish(c, failed); err != nil {
		failed = failure.Of(err)
		c.logOutcome(s.ctx, failed)
		s.task.fail(&mcp.Error{Code: mcp.CodeInternalError, Message: failed.Message})
	}
	s.saveOutcome()
}

// resume takes the call of the task up again and does what is left. A panic in it is its error.
func (s *taskRun) resume(c *call) (err error) {
	defer failure.Recover(&err)
	if err := c.restoreCall(s.task, s.sent); err != nil {
		return err
	}
	if c.approval != nil && c.approval.stage == approvalWaiting {
		return s.runApproved(c)
	}
	if err := c.recordStart(); err != nil {
		return err
	}
	if c.resumed = c.limits == nil; c.resumed {
		if err := s.program.acquireLimits(c); err != nil {
			return err
		}
	}
	if s.program.tool.Idempotency != nil {
		c.action.Key, _ = c.frame.Input[hcl.KeyInput].(string)
	}
	if err := s.program.runSteps(c); err != nil {
		return err
	}
	if err := s.program.shape(c); err != nil {
		return err
	}
	return s.program.encode(c)
}

// runApproved does all of a call that became a task because it waits for an operator.
func (s *taskRun) runApproved(c *call) error {
	c.approval.task = s.task.row.Name
	if err := s.program.findRequiredApprovals(c); err != nil {
		return err
	}
	if err := s.program.runUncached(c); err != nil {
		return err
	}
	return s.program.encode(c)
}

// pause makes the task wait for its client.
func (s *taskRun) pause(c *call, pause *elicit.PausedError) error {
	if err := c.saveCall(s.task); err != nil {
		return err
	}
	c.log(s.ctx, slog.LevelDebug, "task waits for its client", nil)
	s.task.wait(nil, pause.Questions)
	return nil
}

// finish makes the task what the call came to. A panic in it is its error.
func (s *taskRun) finish(c *call, failed *failure.Failure) (err error) {
	defer failure.Recover(&err)
	if failed != nil && failed.Protocol != nil {
		c.result.Release()
		s.task.fail(failed.Protocol)
		return nil
	}
	out := s.program.outcome(c, failed, mcp.Revision20260728)
	result := out.AppendResult(nil, mcp.Revision20260728)
	s.task.end(taskCompleted, "")
	s.task.Result = result
	return nil
}

// restoreCall makes the call what it was when it was remembered, with what its client has answered since.
func (c *call) restoreCall(t *task, sent map[string]any) error {
	if c.operation.asksClient {
		c.elicitation = elicit.Resume(c, c.action.Client, c.operation.writer, t.caller(), sent)
		c.action.Client = c.elicitation
	}
	return c.thaw(t.Call)
}

// saveCall puts what it takes to go on with the call into its task.
func (c *call) saveCall(t *task) (err error) {
	t.Call, err = c.freeze(c.frame.Input)
	return err
}

func taskStoppedError(step string) *mcp.Error {
	said := "The server was stopped before the task was done."
	if step != "" {
		said = "The server was stopped while the task was at the step \"" + step + "\"; whether that took effect is unknown."
	}
	return &mcp.Error{Code: mcp.CodeInternalError, Message: said}
}
