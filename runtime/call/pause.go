package call

import (
	"fmt"
	"time"

	"hatchel/adapters"
	"hatchel/internal/digest"
	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/stage/elicit"
	"hatchel/runtime/stage/failure"
)

// minStateTTL is how long a client has at least to come back with answers.
const minStateTTL = 10 * time.Minute

// sealQuestions returns the questions to the client of a paused call, with the token to resume it. There are
// none for a call that another process continues: its token is stored since the call waits.
func (c *engine) sealQuestions(p *elicit.PausedError) (*mcp.Questions, error) {
	if len(p.Questions) == 0 {
		return &mcp.Questions{}, nil
	}
	c.audit.addQuestions(p.Questions)
	token, err := c.sealState(p.Timeout)
	return &mcp.Questions{Ask: p.Questions, State: token}, err
}

// sealState returns the token to resume the call with, for as long as it waits and some time more. The token
// is empty for a call that is made again instead: it waits for an operator, nothing was done, and its
// approval is found again.
func (c *engine) sealState(timeout time.Duration) (string, error) {
	if c.elicitation == nil {
		return "", nil
	}
	request, err := c.operation.stateDigest(c.elicitation, &c.action)
	if err != nil {
		return "", err
	}
	frozen, err := c.freeze(nil)
	if err != nil {
		return "", err
	}
	until := time.Now().Add(max(timeout, minStateTTL))
	token, err := c.operation.Env.State.Sealer().Seal(c.frame.Context, frozen, request, until)
	return token, c.clock.storeFault(err)
}

// stateDigest identifies a call and its caller: a state token opens for the same call of the same
// caller, whose steps act as the same: those that have run may have read what another tenant must not see.
func (o *Operation) stateDigest(x *elicit.Exchange, call *adapters.Call) (digest.Digest, error) {
	arguments, err := elicit.AppendFrozen(nil, call.Frame.Input)
	parts := []string{
		o.Kind, o.Decl.Name, o.Decl.Digest, x.Request, string(arguments), x.Caller.Owner(), x.Caller.Toolset,
	}
	return digest.Of(o.appendIdentity(parts, call)...), err
}

// openState returns the stored form of a call, if the state token of its request is valid.
func (o *Operation) openState(x *elicit.Exchange, call *adapters.Call) ([]byte, error) {
	request, err := o.stateDigest(x, call)
	if err != nil {
		return nil, err
	}
	open := o.Env.State.Sealer().Open
	if x.Interactive() { // the token is in the record of the call, which one process has at a time
		open = o.Env.State.Sealer().Read
	}
	frozen, err := open(call.Frame.Context, x.State, request)
	if err != nil {
		return nil, failure.Unavailable(err)
	}
	return frozen, nil
}

// resume takes up a call where it has paused, if the request brings its state token.
func (c *engine) resume() error {
	if c.elicitation == nil || c.elicitation.State == "" {
		return nil
	}
	frozen, err := c.operation.openState(c.elicitation, &c.action)
	if err == nil {
		err = c.thaw(frozen, c.request.Reserve)
	}
	if err != nil {
		return c.clock.cause(err)
	}
	// A call that waited for approval has not entered its limits.
	c.progress.resumed = c.approval == nil || c.approval.Stage == approvalComplete
	return nil
}

// freeze returns the stored form of the call, with its inputs where nobody sends them again.
func (c *engine) freeze(input map[string]any) ([]byte, error) {
	p := pausedCall{
		next: c.progress.nextStep, spent: c.clock.elapsed(), steps: c.frame.Steps, locals: c.frame.ComputedLocals(),
		input: input, trace: c.action.Traceparent, changes: c.action.Changes.Parts(), failures: c.action.Failures,
	}
	if c.elicitation != nil {
		p.done = c.elicitation.Done
	}
	if c.approval != nil {
		p.approval = &c.approval.frozenApproval
	}
	p.asking, p.lifted = c.asking, c.operation.addLifted(nil, c.frame)
	if c.reuse.claim.Held() {
		p.key = c.reuse.claim.Name()
	}
	return p.freeze()
}

// thaw makes the call what it was when it was frozen. It must be a call of the same operation. It reserves the memory
// of what it decodes.
func (c *engine) thaw(frozen []byte, reserve func(bytes int64) error) error {
	p, err := thaw(frozen, len(c.operation.Steps), reserve)
	if err != nil {
		return err
	}
	if name := c.hiddenSince(p.lifted); name != "" {
		const text = "the call cannot go on, because you may no longer see what the mask %q hides"
		return &adapters.Fault{Message: fmt.Sprintf(text, name), Advice: "call again"}
	}
	if c.operation.takesFiles {
		for _, m := range []map[string]any{p.steps, p.locals, p.input, p.done} {
			if _, err := c.files.restore(m, c.operation.Env, &c.action); err != nil {
				return err
			}
		}
	}
	c.progress.nextStep, c.clock.offset, c.frame.Steps = p.next, p.spent, p.steps
	c.reuse.resumedKey, c.progress.thawed, c.asking = p.key, true, p.asking
	if c.asking != nil && c.elicitation == nil {
		return errFrozenCall
	}
	t := callTrace{c.action.Span, c.action.Traceparent, c.action.Tracestate}
	c.setTrace(t.resume(c.operation, p.trace))
	if p.approval != nil {
		c.approval = &approvalState{frozenApproval: *p.approval}
	}
	if p.locals != nil {
		c.frame.RestoreLocals(p.locals)
	}
	if p.input != nil {
		c.frame.Input = p.input
	}
	if p.done != nil && c.elicitation != nil {
		c.elicitation.Done = p.done
	}
	ran := c.operation.Steps[:p.next]
	if p.unknownChanges {
		p.changes = changesOf(ran, p.steps, c.action.Changes)
	}
	if p.unknownFailures {
		p.failures = failuresOf(ran, p.steps)
	}
	c.action.Changes.Restore(p.changes)
	c.action.Failures = p.failures
	return nil
}
