package call

import (
	"context"
	"slices"

	"hatchel/hcl"
	"hatchel/hcl/schema"
	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/stage/failure"
	"hatchel/runtime/stage/limit"
	"hatchel/runtime/stage/result"
)

// Program is one compiled tool. It is immutable but for what a database says of its rows, and safe
// for concurrent use.
type Program struct {
	Operation
	Shaper    *result.Shaper
	Approvals []*ApprovalRule // in the order in which they are checked
	TaskStage int             // the step before which a call becomes a task

	tool           *hcl.Tool
	headerInputs   []mcp.HeaderInput
	limits         []limit.Limit
	before         map[*hcl.Before]*Operation
	toolRoot       map[string]any          // the root `tool` of approval rules
	refuse         func(*hcl.Frame) string // of an executor; nil for other tools
	approvalDigest string                  // approvals hold for as long as it stays the same
}

// NewProgram returns the program of a tool without its steps, rules and approvals.
func NewProgram(env *Environment, tool *hcl.Tool, limits []limit.Limit) *Program {
	p := &Program{tool: tool, headerInputs: headerInputs(tool.Input), limits: limits}
	p.Init(env, "tool", &tool.Operation, tool.Error)
	p.Shaper = result.NewShaper(tool, p.Writer)
	p.hasEffects, p.idempotent = !tool.ReadOnly, tool.Idempotent
	return p
}

// Tool returns the declaration of the program.
func (p *Program) Tool() *hcl.Tool { return p.tool }

// HasRate reports whether calls are subject to a rate, which is counted in the state store.
func (p *Program) HasRate() bool { return slices.ContainsFunc(p.limits, limit.Limit.HasRate) }

// Run serves one call and reports it. A failure that a model should read is in the Outcome; an
// error is one of the protocol.
func (p *Program) Run(ctx context.Context, req *mcp.CallRequest) (mcp.Outcome, error) {
	return p.serve(ctx, req, true, nil)
}

// RunToEnd is Run for a caller who waits for the result however long it takes: the call never
// becomes a task. What the steps do is traced unless the tracer is nil.
func (p *Program) RunToEnd(ctx context.Context, req *mcp.CallRequest, tracer *Tracer) (mcp.Outcome, error) {
	return p.serve(ctx, req, false, tracer)
}

// serve carries out a call, accounts for it and answers it. Tasks says that it may become a task.
func (p *Program) serve(
	ctx context.Context, req *mcp.CallRequest, tasks bool, tracer *Tracer,
) (mcp.Outcome, error) {
	c := p.newRequestCall(ctx, req)
	c.program = p
	if tracer != nil {
		traceTo(&c.action, c.arguments(), tracer.write, tracer.explain)
	}
	answered := false
	defer func() {
		c.release()
		c.clock.unpin()
		if answered {
			c.recycle()
		}
	}()
	err := failure.Try(func() (err error) {
		if err := c.accept(req); err != nil {
			return err
		}
		if tasks {
			if c.progress.taskStage, c.progress.mayBecomeTask, err = p.chooseTask(req.Caller); err != nil {
				return err
			}
		}
		return c.runTool(inputs{raw: req.Arguments})
	})
	var out mcp.Outcome
	interim := interimOutcome(err)
	if interim != "" {
		out, err = c.answerInterim(ctx, err)
	}
	c.releaseOpenCall(ctx, err)
	failed := c.failed(err)
	c.finishKey(ctx, err, failed)
	switch failed = c.account(ctx, failed, interim); {
	case failed == nil && interim != "":
		c.result.Release()
		return out, nil
	case failed != nil && failed.Protocol != nil:
		c.result.Release()
		return mcp.Outcome{}, failed.Protocol
	}
	answered = failed == nil
	return c.outcome(failed, req.Caller.Revision), nil
}

// HeaderInputs returns the inputs that modern clients repeat in headers.
func (p *Program) HeaderInputs() []mcp.HeaderInput { return p.headerInputs }

// headerInputs returns the inputs that modern clients repeat in headers.
func headerInputs(t *schema.Type, path ...string) (out []mcp.HeaderInput) {
	for _, m := range t.Members {
		at := append(path[:len(path):len(path)], m.Name)
		if m.Type.Header != "" {
			if in, ok := mcp.NewHeaderInput(m.Type.Header, at...); ok {
				out = append(out, in)
			}
		}
		if m.Type.Kind == schema.Object {
			out = append(out, headerInputs(m.Type, at...)...)
		}
	}
	return out
}
