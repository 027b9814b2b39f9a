package call

import (
	"context"

	"hatchel/runtime/durable/audit"
	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/stage/failure"
)

// ending returns what the call came to. Interim is the outcome of a call that continues later; empty for one that has
// ended.
func (c *engine) ending(ctx context.Context, failed *failure.Failure, interim string) ending {
	e := ending{
		facts: c.facts(), failed: failed, interim: interim, started: c.clock.started, began: c.progress.began,
		background: c.progress.inTask, decision: c.access.decision, refusedBy: c.access.refusedBy,
		replayed: c.reuse.replayedFrom, failedStep: c.progress.failedStep, approval: c.approval.auditRecord(),
		result: &c.result, upstreams: c.action.Upstreams,
	}
	e.setOutcome(c.clock.isOver(ctx))
	return e
}

// outcome returns what the protocol sends.
func (c *engine) outcome(failed *failure.Failure, revision mcp.Revision) mcp.Outcome {
	if failed != nil {
		defer c.result.Release()
		text := c.failureWriter().answer(failed)
		return mcp.Outcome{Content: mcp.Text(text), IsError: true, Meta: failed.Meta()}
	}
	apps := c.caller != nil && c.caller.Can("extensions", mcp.AppsExtension)
	return c.program.Shaper.Outcome(&c.result, revision, apps)
}

// failed returns how the call has failed, nil for no error. It must be the last failure of the call.
func (c *engine) failed(err error) *failure.Failure {
	first := c.progress.nextStep == 0 && !c.progress.thawed
	return failureAfter(err, c.action.Changes.Parts(), first)
}

// finishKey stores what the call came to for other calls with the same key.
func (c *engine) finishKey(ctx context.Context, err error, failed *failure.Failure) {
	claim := c.reuse.claim
	if !claim.Held() {
		return
	}
	message := ""
	if failed != nil {
		message = c.failureWriter().public(failed)
	}
	c.operation.finishKey(ctx, claim, err, failed, message, c.action.Changes)
}

// account records, logs, measures and publishes what the call came to, and ends its span. It returns how the call has
// failed with that.
func (c *engine) account(ctx context.Context, failed *failure.Failure, interim string) *failure.Failure {
	var steps []string
	if c.audit != nil && c.progress.began {
		at := &c.progress
		steps = c.operation.stepsRun(at.firstStep, at.nextStep, c.frame.Steps, interim == audit.Task)
		c.recordCredentials()
	}
	e := c.ending(ctx, failed, interim)
	if recorded := c.audit.recordEnd(ctx, &e, steps); recorded != failed {
		e = c.ending(ctx, recorded, interim)
	}
	c.approval.recordCall(ctx, &e)
	e.log(ctx)
	e.measure()
	c.events.publishEnd(ctx, &e)
	e.endSpan()
	return e.failed
}
