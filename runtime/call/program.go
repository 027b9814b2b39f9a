package call

import (
	"context"
	"errors"
	"slices"

	"hatchel/hcl"
	"hatchel/hcl/schema"
	"hatchel/runtime/elicit"
	"hatchel/runtime/failure"
	"hatchel/runtime/limit"
	"hatchel/runtime/mcp"
	"hatchel/runtime/result"
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
	toolRoot       map[string]any // the root `tool` of approval rules
	approvalDigest string         // approvals hold for as long as it stays the same
}

// NewProgram returns the program of a tool without its steps, rules and approvals.
func NewProgram(env *Environment, tool *hcl.Tool, limits []limit.Limit) *Program {
	p := &Program{tool: tool, headerInputs: headerInputs(tool.Input), limits: limits}
	p.Init(env, "tool", &tool.Operation, tool.Error)
	p.Shaper = result.NewShaper(tool, p.Writer)
	p.hasEffects = !tool.ReadOnly
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

func (p *Program) serve(
	ctx context.Context, req *mcp.CallRequest, tasks bool, tracer *Tracer,
) (mcp.Outcome, error) {
	c := p.newRequestCall(ctx, req)
	if tracer != nil {
		c.traceTo(tracer.write, tracer.explain)
	}
	defer c.unpin()
	defer c.release()
	err := p.execute(c, req, tasks)
	var out mcp.Outcome
	interim := interimOutcome(err)
	if interim != "" {
		out, err = p.answerInterim(ctx, c, req.Caller, err)
	}
	failed := c.failed(err)
	c.finishKey(ctx, err, failed)
	failed = c.account(ctx, failed, interim)
	if interim != "" && failed == nil {
		c.result.Release()
		return out, nil
	}
	if failed != nil && failed.Protocol != nil {
		c.result.Release()
		return mcp.Outcome{}, failed.Protocol
	}
	return p.outcome(c, failed, req.Caller.Revision), nil
}

// execute runs a call that a client requests. A panic is its error.
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
	c.progress.noWait = req.NoWait
	if tasks {
		if err := p.chooseTask(c, req.Caller); err != nil {
			return err
		}
	}
	return p.run(c, inputs{raw: req.Arguments})
}

// errHasResult ends the stages of a call that has the result of another call.
var errHasResult = errors.New("the call has the result of another call")

// run carries out a call: each line is a stage, and the first one that fails ends it. The approval
// of an operator is consumed last before the work, so that it stays for the same call made again
// when a limit rejects this one; when another call has consumed it in the meantime, the call is
// approved anew.
func (p *Program) run(c *call, in inputs) (err error) {
	defer func() { p.finishFlight(c, err) }()
	ok := func(stage error) bool { err = stage; return stage == nil }
	admitted := in.admitted ||
		ok(p.validate(c, in)) &&
			c.publishStart() &&
			ok(p.resolveFiles(c)) &&
			ok(p.runChecks(c)) &&
			ok(p.authorize(c))
	if !admitted {
		return p.hideReason(c, err)
	}
	started := ok(c.resume()) &&
		ok(p.findRequiredApprovals(c)) &&
		ok(p.useCache(c))
	for again := started; again; again = err == errApprovalUsed {
		started = ok(p.acquireKey(c)) &&
			ok(p.awaitApprovals(c)) &&
			ok(p.acquireLimits(c)) &&
			ok(p.consumeApproval(c))
	}
	done := started &&
		ok(p.recordStart(c)) &&
		ok(p.runSteps(c)) &&
		ok(p.shape(c)) &&
		ok(c.keepResult())
	if done || err == errHasResult {
		err = p.encode(c)
	}
	return err
}

// chooseTask decides whether the call becomes a task.
func (p *Program) chooseTask(c *call, caller *mcp.Caller) error {
	capable := caller.Revision.Modern() && elicit.HasCapability(caller, "tasks")
	switch {
	case p.tool.Task == nil:
		c.progress.mayBecomeTask = len(p.Approvals) > 0 && capable
	case capable:
		c.progress.taskStage, c.progress.mayBecomeTask = p.TaskStage+1, true
	case p.tool.Task.Required:
		return elicit.CapabilityError(caller, "tasks")
	}
	return nil
}

// answerInterim returns the answer to a call that continues later. An error is what the call came
// to instead.
func (p *Program) answerInterim(
	ctx context.Context, c *call, caller *mcp.Caller, reason error,
) (out mcp.Outcome, err error) {
	defer failure.Recover(&err)
	var paused *elicit.PausedError
	var existing *existingTaskError
	switch {
	case errors.As(reason, &paused):
		out.Approval = paused.Approval
		if out.Questions, err = c.sealQuestions(paused); err == nil {
			err = c.pauseKey(ctx)
		}
	case errors.As(reason, &existing):
		out.Task = mcp.Raw(existing.task.AppendMembers(nil, false))
	default:
		out.Task, err = p.beginTask(ctx, c, caller)
	}
	if err != nil && !c.mayHaveActed() {
		p.restoreApproval(c)
	}
	return out, err
}

// recordStart records that the work of the call begins. When that fails, nothing was done.
func (p *Program) recordStart(c *call) error {
	err := c.recordStart()
	if err != nil {
		p.restoreApproval(c)
	}
	return err
}

// shape makes the result of the outputs of the steps.
func (p *Program) shape(c *call) error {
	if cut := c.action.Cut; cut != nil && !p.Decl.HasNamedSteps() {
		delivered := p.Steps[0].Decl.Backend.Delivered
		if slices.ContainsFunc(cut.Members, func(name string) bool { return slices.Contains(delivered, name) }) {
			c.result.Cut = cut
		}
	}
	if err := p.Shaper.Shape(&c.result, c.frame); err != nil {
		return c.contextCause(err)
	}
	return nil
}

// encode makes the bytes of the reply. The result of a step is not encoded.
func (p *Program) encode(c *call) error {
	if c.nested {
		return nil
	}
	if err := p.Shaper.Encode(&c.result); err != nil {
		return c.contextCause(err)
	}
	return nil
}

// outcome returns what the protocol sends.
func (p *Program) outcome(c *call, failed *failure.Failure, revision mcp.Revision) mcp.Outcome {
	if failed != nil {
		defer c.result.Release()
		return mcp.Outcome{Content: mcp.Text(c.answerText(failed)), IsError: true, Meta: failed.Meta()}
	}
	return p.Shaper.Outcome(&c.result, revision)
}

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
