package runtime

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strconv"

	"hatchel/runtime/mcp"
	"hatchel/runtime/state"
)

// errBecomesTask says that a call goes on as a task from where it is.
var errBecomesTask = errors.New("the call goes on as a task")

// begin makes a task of a call, and has it worked on in the background. What it returns are the members of the task.
func (p *Program) begin(ctx context.Context, c *call, caller *mcp.Caller) (mcp.Appender, error) {
	frozen, err := c.freeze(c.frame.Input)
	if err != nil {
		return nil, err
	}
	t := &task{
		Tool: p.decl.Name, Digest: p.decl.Digest, Subject: caller.Subject, Toolset: caller.Toolset, TTL: p.tool.Task.TTL.Milliseconds(),
		Client: bytes.Clone(caller.ClientInfo), Capabilities: bytes.Clone(caller.Capabilities), Call: frozen,
	}
	ts := p.generation.build.State.tasks
	if err := ts.create(ctx, t); err != nil {
		return nil, c.why(err)
	}
	begun := mcp.Raw(t.appendMembers(nil, false))
	var sent map[string]any
	if c.talk != nil {
		sent = c.talk.sent
	}
	p.carryOn(ctx, t, sent)
	return begun, nil
}

// carryOn works on a task in the background. The generation, which the caller has entered, stays open meanwhile.
func (p *Program) carryOn(ctx context.Context, t *task, sent map[string]any) {
	ts := p.generation.build.State.tasks
	p.generation.held.Add(1)
	started := ts.start(ctx, t, func(ctx context.Context) {
		defer p.generation.held.Done()
		p.segment(ctx, t, sent)
	})
	if !started {
		p.generation.held.Done()
		t.fail(stoppedError(t.Step))
		p.save(ctx, t)
	}
}

// segment does a part of a task: until it is over, or until it waits for its client.
func (p *Program) segment(ctx context.Context, t *task, sent map[string]any) {
	c := p.newCall(ctx, callerOf(t.caller()), &reporter{ctx, p, t})
	c.ends = ctx
	c.note = func(step string) {
		t.Step = step
		p.write(ctx, t)
	}
	err := p.goOn(c, t, sent)
	cause := context.Cause(ctx)
	if cause != nil && cause != errStopped {
		c.reply.release() // whatever came of it, nobody wants to know
		return
	}
	var pause *paused
	if errors.As(err, &pause) {
		if err = p.pause(c, t, pause); err == nil {
			p.save(ctx, t)
			return
		}
	}
	failed := failureOf(err)
	if failed != nil && cause != nil {
		failed.protocol = stoppedError(t.Step)
	}
	c.account(ctx, "", failed)
	if err := p.finish(c, t, failed); err != nil {
		failed = failureOf(err)
		c.account(ctx, "", failed)
		t.fail(&mcp.Error{Code: mcp.CodeInternalError, Message: failed.message})
	}
	p.save(ctx, t)
}

// goOn takes the call of a task up again and does what is left. A panic in it is its error.
func (p *Program) goOn(c *call, t *task, sent map[string]any) (err error) {
	defer recovered(&err)
	if err := c.again(t, sent); err != nil {
		return err
	}
	if err := p.work(c); err != nil {
		return err
	}
	if err := p.shape(c); err != nil {
		return err
	}
	return p.encode(c)
}

// again makes the call what it was when it was remembered, with what its client has answered since.
func (c *call) again(t *task, sent map[string]any) error {
	if c.routine.asks {
		c.talk = &conversation{Client: c.action.Client, call: c, caller: t.caller(), sent: sent}
		c.action.Client = c.talk
	}
	return c.thaw(t.Call)
}

// pause makes the task wait for its client.
func (p *Program) pause(c *call, t *task, pause *paused) error {
	if err := c.remember(t); err != nil {
		return err
	}
	c.enter(c.ends, slog.LevelDebug, "task waits for its client", "", nil)
	c.reply.release()
	t.wait(nil, pause.asked)
	return nil
}

// remember puts what it takes to go on with the call into its task.
func (c *call) remember(t *task) (err error) {
	t.Call, err = c.freeze(c.frame.Input)
	return err
}

// finish makes the task what the call came to. A panic in it is its error.
func (p *Program) finish(c *call, t *task, failed *failure) (err error) {
	defer recovered(&err)
	if failed != nil && failed.protocol != nil {
		c.reply.release()
		t.fail(failed.protocol)
		return nil
	}
	out := p.outcome(c, failed, mcp.Revision20260728)
	result := out.AppendResult(nil, mcp.Revision20260728)
	t.end(taskCompleted, "")
	t.Result = result
	return nil
}

// save remembers a task and tells who follows it. What was not remembered because somebody else has ended the task ends the work on it.
func (p *Program) save(ctx context.Context, t *task) {
	p.keep(ctx, t, p.generation.build.State.tasks.save)
}

// write is save for what nobody needs to be told.
func (p *Program) write(ctx context.Context, t *task) {
	p.keep(ctx, t, p.generation.build.State.tasks.write)
}

func (p *Program) keep(ctx context.Context, t *task, keep func(context.Context, *task) (bool, error)) {
	won, err := keep(context.WithoutCancel(ctx), t)
	if errors.Is(err, state.ErrFull) {
		t.fail(&mcp.Error{Code: mcp.CodeInternalError, Message: "The server has no room left to remember what became of the task; whether its last step took effect is unknown."})
		_, err = p.generation.build.State.tasks.save(context.WithoutCancel(ctx), t)
		won = false
	}
	switch {
	case err != nil:
		p.generation.log().LogAttrs(ctx, slog.LevelError, "what became of a task cannot be remembered", slog.String("tool", p.decl.Name), slog.String("task", t.row.ID), slog.String("error", err.Error()))
	case !won:
		p.generation.build.State.tasks.end(t.row.ID, errTaskLost)
	}
}

func stoppedError(step string) *mcp.Error {
	said := "The server was stopped before the task was done."
	if step != "" {
		said = "The server was stopped while the task was at the step \"" + step + "\"; whether that took effect is unknown."
	}
	return &mcp.Error{Code: mcp.CodeInternalError, Message: said}
}

// reporter is the client of a task: what it would be told is what the task says of itself.
type reporter struct {
	ctx     context.Context
	program *Program
	task    *task
}

// Progress implements adapters.Client.
func (r *reporter) Progress(done, total float64, message string) {
	if message == "" {
		message = strconv.FormatFloat(done, 'f', -1, 64)
		if total > 0 {
			message += " of " + strconv.FormatFloat(total, 'f', -1, 64)
		}
	}
	r.task.Message = message
	r.program.save(r.ctx, r.task)
}

// Log implements adapters.Client. Tasks have no log.
func (r *reporter) Log(level, logger string, data []byte) {}
