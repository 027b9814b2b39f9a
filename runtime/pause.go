package runtime

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"hatchel/adapters"
	"hatchel/runtime/digest"
	"hatchel/runtime/elicit"
	"hatchel/runtime/mcp"
	"hatchel/runtime/state"
)

// continuesLater reports whether a call goes on later: it has paused, becomes a task, or is one already.
func continuesLater(err error) bool {
	return err != nil && (err == errBecomesTask || errors.As(err, new(*elicit.PausedError)) || errors.As(err, new(*existingTaskError)))
}

// minStateTTL is how long a client has at least to come back with answers.
const minStateTTL = 10 * time.Minute

// sealQuestions is what the client of a paused call is asked, with the state to go on from.
func (c *call) sealQuestions(ctx context.Context, p *elicit.PausedError) (*mcp.Questions, error) {
	c.log(ctx, slog.LevelDebug, "call waits for its client", nil)
	c.audit.addQuestions(p.Questions)
	of, err := c.stateDigest()
	if err != nil {
		return nil, err
	}
	frozen, err := c.freeze(nil)
	if err != nil {
		return nil, err
	}
	sealed, err := c.operation.generation.build.State.seal(ctx, frozen, of, time.Now().Add(max(p.Timeout, minStateTTL)))
	switch {
	case errors.Is(err, state.ErrAway):
		return nil, &adapters.Fault{Message: "it could not be asked: the server has to remember the call until the answer comes, and does not get at what it remembers. Nothing after the question was done", Cause: err}
	case errors.Is(err, state.ErrFull):
		return nil, &adapters.Fault{Message: "it could not be asked: the server has to remember the call until the answer comes, and it remembers too many. Nothing after the question was done", Cause: err}
	case err != nil:
		return nil, c.contextCause(err)
	}
	return &mcp.Questions{Ask: p.Questions, State: sealed}, nil
}

// stateDigest is what the call is, and whose: a state of it opens for the same.
func (c *call) stateDigest() (digest.Digest, error) {
	arguments, err := elicit.AppendFrozen(nil, c.frame.Input)
	if err != nil {
		return digest.Digest{}, err
	}
	decl, caller := c.operation.decl, c.elicitation.Caller
	return digest.Of(c.operation.kind, decl.Name, decl.Digest, c.elicitation.Request, string(arguments), caller.Owner(), caller.Toolset), nil
}

// resume goes back to where the call was when it paused.
func (c *call) resume() error {
	if c.elicitation == nil || c.elicitation.State == "" {
		return nil
	}
	of, err := c.stateDigest()
	if err != nil {
		return err
	}
	frozen, err := c.operation.generation.build.State.unseal(c.frame.Context, c.elicitation.State, of)
	if err != nil {
		return err
	}
	err = c.thaw(frozen)
	c.resumed = c.approval == nil || c.approval.stage == approvalComplete // who was asked to agree has not entered its limits
	return err
}
