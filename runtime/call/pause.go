package call

import (
	"context"
	"errors"
	"fmt"
	"time"

	"hatchel/adapters"
	"hatchel/runtime/digest"
	"hatchel/runtime/elicit"
	"hatchel/runtime/failure"
	"hatchel/runtime/mcp"
	"hatchel/runtime/state"
)

// minStateTTL is how long a client has at least to come back with answers.
const minStateTTL = 10 * time.Minute

// sealQuestions returns the questions to the client of a paused call, with the token to resume it. There are
// none for a call that another process continues: its token is stored since the call waits.
func (c *call) sealQuestions(p *elicit.PausedError) (*mcp.Questions, error) {
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
func (c *call) sealState(timeout time.Duration) (string, error) {
	if c.elicitation == nil {
		return "", nil
	}
	request, err := c.stateDigest()
	if err != nil {
		return "", err
	}
	frozen, err := c.freeze(nil)
	if err != nil {
		return "", err
	}
	until := time.Now().Add(max(timeout, minStateTTL))
	token, err := c.operation.Env.State.Sealer().Seal(c.frame.Context, frozen, request, until)
	return token, c.storeFault(err)
}

// storeFault returns what the caller is told when a call that waits for people cannot be stored.
func (c *call) storeFault(err error) error {
	const text = "the client could not be asked, because the state store, which holds the call until the answer " +
		"comes, is %s. Nothing after the question was done"
	switch {
	case errors.Is(err, state.ErrUnavailable), errors.Is(err, mcp.ErrUnavailable):
		return &adapters.Fault{Message: fmt.Sprintf(text, "unavailable"), Cause: err}
	case errors.Is(err, state.ErrFull):
		return &adapters.Fault{Message: fmt.Sprintf(text, "full"), Cause: err}
	case err != nil:
		return c.contextCause(err)
	}
	return nil
}

// suspends reports whether the call is to pause, because the server stops and its client can come back
// for it. A step of another call cannot: what its call has done before is not known to it.
func (c *call) suspends() bool {
	client, ok := c.action.Client.(mcp.SuspendableClient)
	return ok && !c.nested && client.Suspends()
}

// Wait implements elicit.Call. What a step of another call waits for is not stored, as for suspends.
func (c *call) Wait(timeout time.Duration, wait func() error) error {
	client, ok := c.action.Client.(mcp.SuspendableClient)
	if !ok || c.nested {
		return wait()
	}
	err := client.Wait(c.frame.Context, func() (string, error) { return c.sealState(timeout) }, wait)
	if errors.Is(err, mcp.ErrUnavailable) {
		return c.storeFault(err)
	}
	return err
}

// proceed makes sure before a step that no other process continues the call, if it has waited in another one. A step
// that asks the client waits again, and sees to that itself.
func (c *call) proceed(s *Step) error {
	if !c.progress.continues || s.asks() {
		return nil
	}
	c.progress.continues = false
	client, ok := c.action.Client.(mcp.SuspendableClient)
	if !ok {
		return nil
	}
	switch err := client.Proceed(c.frame.Context); {
	case errors.Is(err, mcp.ErrSuspended):
		return &elicit.PausedError{}
	default:
		return c.storeFault(err)
	}
}

// asks reports whether the step asks the client.
func (s *Step) asks() bool {
	_, ok := s.Action.(*elicit.AskGroup)
	return ok
}

// stateDigest identifies the call and its caller: a state token opens for the same call of the same
// caller.
func (c *call) stateDigest() (digest.Digest, error) {
	arguments, err := elicit.AppendFrozen(nil, c.frame.Input)
	if err != nil {
		return digest.Digest{}, err
	}
	o, x := c.operation, c.elicitation
	return digest.Of(
		o.Kind, o.Decl.Name, o.Decl.Digest, x.Request, string(arguments), x.Caller.Owner(), x.Caller.Toolset,
	), nil
}

// resume takes up a call where it has paused, if the request brings its state token.
func (c *call) resume() error {
	if c.elicitation == nil || c.elicitation.State == "" {
		return nil
	}
	err := c.openState()
	if err != nil {
		return c.contextCause(err)
	}
	// A call that waited for approval has not entered its limits.
	c.progress.resumed = c.approval == nil || c.approval.Stage == approvalComplete
	return nil
}

func (c *call) openState() error {
	request, err := c.stateDigest()
	if err != nil {
		return err
	}
	open := c.operation.Env.State.Sealer().Open
	if c.elicitation.Interactive() { // the token is in the record of the call, which one process has at a time
		open = c.operation.Env.State.Sealer().Read
	}
	frozen, err := open(c.frame.Context, c.elicitation.State, request)
	if err != nil {
		return failure.Unavailable(err)
	}
	return c.thaw(frozen, c.events.request.Reserve)
}

// checkClient rejects a caller without the required scopes and a client without the required
// capabilities. It lets the call ask any other client: while the call waits where the client can be
// asked then, otherwise by pausing.
func (c *call) checkClient(req *mcp.CallRequest) (err error) {
	o := c.operation
	if err := o.CheckScopes(req.Caller); err != nil {
		return err
	}
	for _, name := range o.RequiredCapabilities {
		if !elicit.HasCapability(req.Caller, name) {
			return elicit.CapabilityError(req.Caller, name)
		}
	}
	if !o.AsksClient {
		if req.State != "" {
			return mcp.InvalidState()
		}
		return nil
	}
	c.elicitation, err = elicit.New(c, c.action.Client, o.Writer, req)
	c.action.Client = c.elicitation
	return err
}

// BeginAsking implements elicit.Call.
func (c *call) BeginAsking(questions []mcp.Question) (ctx context.Context, end func()) {
	c.audit.addQuestions(questions)
	c.pin()
	resume := c.pauseTimeout()
	ctx, cancel := context.WithCancelCause(c.frame.Context)
	unhook := context.AfterFunc(c.timing.stopCtx, func() { cancel(context.Cause(c.timing.stopCtx)) })
	return ctx, func() {
		unhook()
		cancel(nil)
		resume()
	}
}
