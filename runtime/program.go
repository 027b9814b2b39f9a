package runtime

import (
	"context"
	"errors"
	"log/slog"

	"hatchel/hcl"
	"hatchel/runtime/elicit"
	"hatchel/runtime/failure"
	"hatchel/runtime/limit"
	"hatchel/runtime/mcp"
	"hatchel/runtime/result"
)

// Program is one compiled tool. It is immutable but for what a database tells of its rows, and serves any number of calls at once.
type Program struct {
	operation
	tool           *hcl.Tool
	headerInputs   []mcp.HeaderInput
	shaper         *result.Shaper
	limits         []limit.Limit   // what its calls are limited by
	approvalRules  []*approvalRule // that its calls may need, in their order
	toolRoot       map[string]any  // what the root `tool` reads, with approvals
	approvalDigest string          // differs when approvals of it no longer hold
	taskStage      int             // the stage before which a call becomes a task
}

func newProgram(g *Generation, t *hcl.Tool) *Program {
	p := &Program{tool: t, headerInputs: headerInputs(t.Input)}
	p.initialize(g, "tool", &t.Operation, t.Error)
	p.shaper = result.NewShaper(t, p.writer)
	p.hasEffects = !t.ReadOnly
	p.limits = limit.Of(g.Config, t)
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
	c := p.newCall(ctx, callerRoot(req.Caller), (*requestClient)(req))
	defer c.unpin()
	defer c.release()
	c.caller = req.Caller
	c.setCaller(req.Caller)
	c.remoteAddr = req.Caller.Remote
	c.audit = p.beginAudit(req.Caller, req.Meta, req.Arguments)
	err := p.execute(c, req, tasks)
	var out mcp.Outcome
	outcome := ""
	if continuesLater(err) {
		outcome = interimOutcome(err)
		out, err = p.answerInterim(ctx, c, req.Caller, err)
	}
	failed := failure.Of(err)
	c.finishKey(ctx, err, failed)
	failed = c.recordEnd(ctx, failed, outcome)
	if outcome != "" && failed == nil {
		c.result.Release()
		return out, nil
	}
	c.logOutcome(ctx, failed)
	if failed != nil && failed.Protocol != nil {
		c.result.Release()
		return mcp.Outcome{}, failed.Protocol
	}
	return p.outcome(c, failed, req.Caller.Revision), nil
}

// execute runs the call and encodes what it came to. A panic in it is its error.
func (p *Program) execute(c *call, req *mcp.CallRequest, tasks bool) (err error) {
	defer failure.Recover(&err)
	if err := p.checkVisible(c, req.Name); err != nil {
		return err
	}
	if err := req.CheckHeaders(p.headerInputs); err != nil {
		return err
	}
	if err := c.checkClient(req); err != nil {
		return err
	}
	if tasks {
		if err := p.chooseTask(c, req.Caller); err != nil {
			return err
		}
	}
	if err := p.run(c, inputs{raw: req.Arguments}); err != nil {
		return err
	}
	return p.encode(c)
}

// chooseTask decides whether the call becomes a task.
func (p *Program) chooseTask(c *call, caller *mcp.Caller) error {
	switch {
	case p.tool.Task == nil:
		c.mayBecomeTask = len(p.approvalRules) > 0 && caller.Revision.Modern() && elicit.HasCapability(caller, "tasks")
	case caller.Revision.Modern() && elicit.HasCapability(caller, "tasks"):
		c.taskStage, c.mayBecomeTask = p.taskStage+1, true
	case p.tool.Task.Required:
		return elicit.CapabilityError(caller, "tasks")
	}
	return nil
}

// answerInterim is what is answered for a call that goes on later. An error is what the call came to instead.
func (p *Program) answerInterim(ctx context.Context, c *call, caller *mcp.Caller, why error) (out mcp.Outcome, err error) {
	defer failure.Recover(&err)
	var pause *elicit.PausedError
	var before *existingTaskError
	if errors.As(why, &pause) {
		if out.Questions, err = c.sealQuestions(ctx, pause); err == nil {
			err = c.pauseKey(ctx)
		}
	} else if errors.As(why, &before) {
		out.Task = mcp.Raw(before.task.appendMembers(nil, false))
	} else {
		c.log(ctx, slog.LevelDebug, "call becomes a task", nil)
		out.Task, err = p.beginTask(ctx, c, caller)
	}
	if err != nil && !c.mayHaveActed(nil) {
		p.restoreApproval(c)
	}
	return out, err
}

// run does all that the tool does, and makes the answer of the outputs.
func (p *Program) run(c *call, in inputs) error {
	if err := p.admit(c, in); err != nil {
		return err
	}
	if err := c.resume(); err != nil {
		return c.contextCause(err)
	}
	if err := p.findRequiredApprovals(c); err != nil {
		return err
	}
	if p.tool.Cache != nil && c.approval == nil {
		return p.runCached(c)
	}
	return p.runUncached(c)
}

// runUncached performs a call that no answer is kept of, but for one with a key.
func (p *Program) runUncached(c *call) error {
	if p.tool.Idempotency != nil && !c.nested {
		if key, _ := c.frame.Input[hcl.KeyInput].(string); key != "" {
			return p.runIdempotent(c, key)
		}
	}
	return p.perform(c)
}

// perform runs the tool when all agree to it and its limits let it, and makes the answer of the outputs.
func (p *Program) perform(c *call) error {
	if err := p.start(c); err != nil {
		return err
	}
	if err := c.recordStart(); err != nil {
		p.restoreApproval(c)
		return err
	}
	if err := p.runSteps(c); err != nil {
		return err
	}
	return p.shape(c)
}

// start lets a call go on when all agree to it and its limits let it. What an operator has approved is used up last of all, so that it stays for the same call made again when
// a limit refuses this one.
func (p *Program) start(c *call) error {
	for {
		if c.approval != nil {
			if err := p.awaitApprovals(c); err != nil {
				return err
			}
		}
		if len(p.limits) > 0 {
			if err := p.acquireLimits(c); err != nil {
				return err
			}
		}
		if c.approval == nil {
			return nil
		}
		if given, err := p.useApproval(c); given || err != nil {
			return err
		}
		c.releaseLimits()
		if c.claim != nil {
			return errApprovalUsed
		}
	}
}

// shape makes the result of the outputs of the steps.
func (p *Program) shape(c *call) error {
	if err := p.shaper.Shape(&c.result, c.frame); err != nil {
		return c.contextCause(err)
	}
	return nil
}

// encode makes the bytes of the reply.
func (p *Program) encode(c *call) error {
	if err := p.shaper.Encode(&c.result); err != nil {
		return c.contextCause(err)
	}
	return nil
}

// outcome returns what the protocol sends.
func (p *Program) outcome(c *call, failed *failure.Failure, revision mcp.Revision) mcp.Outcome {
	if failed != nil {
		defer c.result.Release()
		return mcp.Outcome{Content: mcp.Text(c.publicMessage(failed)), IsError: true, Meta: failed.Meta()}
	}
	return p.shaper.Outcome(&c.result, revision)
}
