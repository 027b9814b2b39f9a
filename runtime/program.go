package runtime

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"

	"hatchel/hcl"
	"hatchel/hcl/schema"
	"hatchel/runtime/mcp"
)

// Program is one compiled tool. It is immutable but for what a database tells of its rows, and serves any number of calls at once.
type Program struct {
	routine
	tool      *hcl.Tool
	headers   []mcp.HeaderInput
	defaults  defaults
	bounds    []bound                     // what its calls are limited by
	approvals []*approvalRule             // that its calls may need, in their order
	called    map[string]any              // what the root `tool` reads, with approvals
	sealed    string                      // differs when approvals of it no longer hold
	handover  int                         // the stage before which a call becomes a task
	inferred  atomic.Pointer[schema.Type] // of the default result, when the other side was asked
}

func newProgram(g *Generation, t *hcl.Tool) *Program {
	p := &Program{tool: t, headers: headerInputs(t.Input), defaults: defaultsOf(t)}
	p.init(g, "tool", &t.Work, t.Error)
	p.effects = !t.ReadOnly
	p.bounds = bounds(g.Config, t)
	return p
}

// Tool is what the program was compiled from.
func (p *Program) Tool() *hcl.Tool { return p.tool }

// Run serves one call and accounts for it. What a model should read about a failure is in the Outcome; an error is one of the protocol.
func (p *Program) Run(ctx context.Context, req *mcp.CallRequest) (mcp.Outcome, error) {
	return p.serveCall(ctx, req, true)
}

// RunToEnd is Run for who waits for the answer whatever it takes: the call never becomes a task.
func (p *Program) RunToEnd(ctx context.Context, req *mcp.CallRequest) (mcp.Outcome, error) {
	return p.serveCall(ctx, req, false)
}

func (p *Program) serveCall(ctx context.Context, req *mcp.CallRequest, tasks bool) (mcp.Outcome, error) {
	c := p.newCall(ctx, callerOf(req.Caller), (*client)(req))
	defer c.letGo()
	defer c.leave()
	c.caller = req.Caller
	c.of(req.Caller)
	c.remote = req.Caller.Remote
	c.entry = p.audited(req.Caller, req.Meta, req.Arguments)
	err := p.answer(c, req, tasks)
	var out mcp.Outcome
	outcome := ""
	if unfinished(err) {
		outcome = interimOf(err)
		out, err = p.interim(ctx, c, req.Caller, err)
	}
	failed := failureOf(err)
	c.settle(ctx, err, failed)
	failed = c.written(ctx, failed, outcome)
	if outcome != "" && failed == nil {
		c.reply.release()
		return out, nil
	}
	c.account(ctx, failed)
	if failed != nil && failed.protocol != nil {
		c.reply.release()
		return mcp.Outcome{}, failed.protocol
	}
	return p.outcome(c, failed, req.Caller.Revision), nil
}

// answer runs the call and encodes what it came to. A panic in it is its error.
func (p *Program) answer(c *call, req *mcp.CallRequest, tasks bool) (err error) {
	defer recovered(&err)
	if err := p.conceals(c, req.Name); err != nil {
		return err
	}
	if err := req.CheckHeaders(p.headers); err != nil {
		return err
	}
	if err := c.converse(req); err != nil {
		return err
	}
	if tasks {
		if err := p.handOver(c, req.Caller); err != nil {
			return err
		}
	}
	if err := p.run(c, inputs{raw: req.Arguments}); err != nil {
		return err
	}
	return p.encode(c)
}

// handOver decides whether the call becomes a task.
func (p *Program) handOver(c *call, caller *mcp.Caller) error {
	switch {
	case p.tool.Task == nil:
		c.floats = len(p.approvals) > 0 && caller.Revision.Modern() && capable(caller, "tasks")
	case caller.Revision.Modern() && capable(caller, "tasks"):
		c.becomes, c.floats = p.handover+1, true
	case p.tool.Task.Required:
		return incapable(caller, "tasks")
	}
	return nil
}

// interim is what is answered for a call that goes on later. An error is what the call came to instead.
func (p *Program) interim(ctx context.Context, c *call, caller *mcp.Caller, why error) (out mcp.Outcome, err error) {
	defer recovered(&err)
	var pause *paused
	var before *joined
	if errors.As(why, &pause) {
		if out.Questions, err = c.waits(ctx, pause); err == nil {
			err = c.pause(ctx)
		}
	} else if errors.As(why, &before) {
		out.Task = mcp.Raw(before.task.appendMembers(nil, false))
	} else {
		c.log(ctx, slog.LevelDebug, "call becomes a task", nil)
		out.Task, err = p.beginTask(ctx, c, caller)
	}
	if err != nil && !c.acted(nil) {
		p.giveBack(c)
	}
	return out, err
}

// run does all that the tool does, and makes the answer of the outputs.
func (p *Program) run(c *call, in inputs) error {
	if err := p.admit(c, in); err != nil {
		return err
	}
	if err := c.resume(); err != nil {
		return c.why(err)
	}
	if err := p.demand(c); err != nil {
		return err
	}
	if p.tool.Memo != nil && c.consent == nil {
		return p.remembered(c)
	}
	return p.unremembered(c)
}

// unremembered performs a call that no answer is kept of, but for one with a key.
func (p *Program) unremembered(c *call) error {
	if p.tool.Idempotency != nil && !c.nested {
		if key, _ := c.frame.Input[hcl.KeyInput].(string); key != "" {
			return p.once(c, key)
		}
	}
	return p.perform(c)
}

// perform runs the tool when all agree to it and its limits let it, and makes the answer of the outputs.
func (p *Program) perform(c *call) error {
	if err := p.start(c); err != nil {
		return err
	}
	if err := c.intend(); err != nil {
		p.giveBack(c)
		return err
	}
	if err := p.work(c); err != nil {
		return err
	}
	return p.shape(c)
}

// start lets a call go on when all agree to it and its limits let it. What an operator has approved is used up last of all, so that it stays for the same call made again when
// a limit refuses this one.
func (p *Program) start(c *call) error {
	for {
		if c.consent != nil {
			if err := p.agree(c); err != nil {
				return err
			}
		}
		if len(p.bounds) > 0 {
			if err := p.enter(c); err != nil {
				return err
			}
		}
		if c.consent == nil {
			return nil
		}
		if given, err := p.approved(c); given || err != nil {
			return err
		}
		c.uncount()
		if c.claim != nil {
			return errUsed
		}
	}
}
