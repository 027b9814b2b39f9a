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
		Tool: p.decl.Name, Digest: p.decl.Digest, Owner: caller.Owner(), Identity: caller.Identity, Toolset: caller.Toolset, TTL: p.keeps(c).Milliseconds(),
		Client: bytes.Clone(caller.ClientInfo), Capabilities: bytes.Clone(caller.Capabilities), Call: frozen,
	}
	if p.tool.Task != nil {
		t.Callback = p.tool.Task.Callback
	}
	ts := p.generation.build.State.tasks
	if err := ts.create(ctx, t); err != nil {
		return nil, c.why(err)
	}
	if k := c.claim; k != nil && k.held {
		k.deed.Task = t.row.Name
		if err := k.settle(ctx, deedTask); err != nil {
			t.fail(&mcp.Error{Code: mcp.CodeInternalError, Message: "The task could not be begun, and nothing of it was done."})
			_, lost := ts.save(context.WithoutCancel(ctx), t)
			return nil, errors.Join(err, lost)
		}
	}
	if c.entry != nil {
		c.entry.common.Task = t.row.Name
	}
	begun := mcp.Raw(t.appendMembers(nil, false))
	var sent map[string]any
	if c.talk != nil {
		sent = c.talk.sent
	}
	counted := c.counted
	c.counted = nil
	p.carryOn(ctx, t, sent, counted)
	return begun, nil
}

// keeps is for how long the task of a call is kept.
func (p *Program) keeps(c *call) time.Duration {
	ttl := hcl.DefaultTTL
	if p.tool.Task != nil {
		ttl = p.tool.Task.TTL
	}
	if c.consent != nil && c.consent.stage == consentWaiting {
		ttl += c.consent.patience
	}
	return ttl
}

// carryOn works on a task in the background, with what its client has sent since it waited. The generation, which the caller has entered, stays open meanwhile.
func (p *Program) carryOn(ctx context.Context, t *task, sent map[string]any, counted []metered) {
	s := &segment{program: p, task: t, sent: sent, ctx: ctx, counted: counted}
	p.generation.held.Add(1)
	if !p.generation.build.State.tasks.start(s) {
		p.generation.held.Done()
		t.fail(stoppedError(t.Step))
		s.save()
	}
}

// segment is a part of the work on a task: until it is over, or until it waits for its client. It is the client of the call meanwhile: what a client would be told
// is what the task says of itself.
type segment struct {
	program *Program
	sent    map[string]any
	counted []metered       // what counts the call from which it comes
	ctx     context.Context // ends when the work must
	cancel  context.CancelCauseFunc

	mu    sync.Mutex
	task  *task       // guarded by mu while the call is under way
	saved time.Time   // when the task was saved last; guarded by mu
	late  *time.Timer // saves what was reported since; nil when nothing was; guarded by mu
}

// run does the work.
func (s *segment) run() {
	defer s.program.generation.held.Done()
	caller := s.task.caller()
	c := s.program.newCall(s.ctx, callerOf(caller), s)
	defer c.leave()
	c.caller, c.ends, c.note, c.counted = caller, s.ctx, s.at, s.counted
	c.of(caller)
	if c.entry = s.program.audited(caller, nil, nil); c.entry != nil {
		c.entry.common.Task = s.task.row.Name
	}
	err := s.goOn(c)
	s.settle()
	cause := context.Cause(s.ctx)
	if cause == errTaskExpired && len(s.task.Callback) > 0 {
		s.task.fail(errLapsed)
		s.save() // nobody finds the task any more, and webhooks are told
	}
	if cause != nil && cause != errStopped {
		c.written(s.ctx, failureOf(cause), "")
		c.reply.release() // whatever came of it, nobody wants to know
		return
	}
	var pause *paused
	outcome := ""
	if errors.As(err, &pause) {
		outcome = audit.Asked
		c.entry.asks(pause.asked)
		err = s.pause(c, pause)
	}
	failed := failureOf(err)
	c.settle(s.ctx, err, failed)
	if failed != nil && cause != nil {
		failed.protocol = stoppedError(s.task.Step)
	}
	if failed = c.written(s.ctx, failed, outcome); outcome != "" && failed == nil {
		c.reply.release()
		s.save()
		return
	}
	c.account(s.ctx, failed)
	if err := s.finish(c, failed); err != nil {
		failed = failureOf(err)
		c.account(s.ctx, failed)
		s.task.fail(&mcp.Error{Code: mcp.CodeInternalError, Message: failed.message})
	}
	s.conclude()
}

// goOn takes the call of the task up again and does what is left. A panic in it is its error.
func (s *segment) goOn(c *call) (err error) {
	defer recovered(&err)
	if err := c.again(s.task, s.sent); err != nil {
		return err
	}
	if c.consent != nil && c.consent.stage == consentWaiting {
		return s.begin(c)
	}
	if err := c.intend(); err != nil {
		return err
	}
	if c.resumed = c.counted == nil; c.resumed {
		if err := s.program.enter(c); err != nil {
			return err
		}
	}
	if s.program.tool.Idempotency != nil {
		c.action.Key, _ = c.frame.Input[hcl.KeyInput].(string)
	}
	if err := s.program.work(c); err != nil {
		return err
	}
	if err := s.program.shape(c); err != nil {
		return err
	}
	return s.program.encode(c)
}

// begin does all of a call that became a task because it waits for an operator.
func (s *segment) begin(c *call) error {
	c.consent.task = s.task.row.Name
	if err := s.program.demand(c); err != nil {
		return err
	}
	if err := s.program.unremembered(c); err != nil {
		return err
	}
	return s.program.encode(c)
}

// pause makes the task wait for its client.
func (s *segment) pause(c *call, pause *paused) error {
	if err := c.remember(s.task); err != nil {
		return err
	}
	c.log(s.ctx, slog.LevelDebug, "task waits for its client", nil)
	s.task.wait(nil, pause.asked)
	return nil
}

// finish makes the task what the call came to. A panic in it is its error.
func (s *segment) finish(c *call, failed *failure) (err error) {
	defer recovered(&err)
	if failed != nil && failed.protocol != nil {
		c.reply.release()
		s.task.fail(failed.protocol)
		return nil
	}
	out := s.program.outcome(c, failed, mcp.Revision20260728)
	result := out.AppendResult(nil, mcp.Revision20260728)
	s.task.end(taskCompleted, "")
	s.task.Result = result
	return nil
}

// again makes the call what it was when it was remembered, with what its client has answered since.
func (c *call) again(t *task, sent map[string]any) error {
	if c.routine.asks {
		c.talk = &conversation{Client: c.action.Client, call: c, caller: t.caller(), sent: sent}
		c.action.Client = c.talk
	}
	return c.thaw(t.Call)
}

// remember puts what it takes to go on with the call into its task.
func (c *call) remember(t *task) (err error) {
	t.Call, err = c.freeze(c.frame.Input)
	return err
}

func stoppedError(step string) *mcp.Error {
	said := "The server was stopped before the task was done."
	if step != "" {
		said = "The server was stopped while the task was at the step \"" + step + "\"; whether that took effect is unknown."
	}
	return &mcp.Error{Code: mcp.CodeInternalError, Message: said}
}
