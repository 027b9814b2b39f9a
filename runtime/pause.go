package runtime

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"hatchel/adapters"
	"hatchel/runtime/mcp"
	"hatchel/runtime/state"
)

// paused is a call that goes on when the client has answered.
type paused struct {
	asked    []mcp.Question
	patience time.Duration // how long the client has
}

func (p *paused) Error() string { return "the call waits for the client" }

// unfinished reports whether a call goes on later: it has paused, becomes a task, or is one already.
func unfinished(err error) bool {
	return err != nil && (err == errBecomesTask || errors.As(err, new(*paused)) || errors.As(err, new(*joined)))
}

// stateLife is how long a client has at least to come back with answers.
const stateLife = 10 * time.Minute

// waits is what the client of a paused call is asked, with the state to go on from.
func (c *call) waits(ctx context.Context, p *paused) (*mcp.Questions, error) {
	c.log(ctx, slog.LevelDebug, "call waits for its client", nil)
	c.entry.asks(p.asked)
	of, err := c.purpose()
	if err != nil {
		return nil, err
	}
	frozen, err := c.freeze(nil)
	if err != nil {
		return nil, err
	}
	sealed, err := c.routine.generation.build.State.seal(ctx, frozen, of, time.Now().Add(max(p.patience, stateLife)))
	switch {
	case errors.Is(err, state.ErrAway):
		return nil, &adapters.Fault{Message: "it could not be asked: the server has to remember the call until the answer comes, and does not get at what it remembers. Nothing after the question was done", Cause: err}
	case errors.Is(err, state.ErrFull):
		return nil, &adapters.Fault{Message: "it could not be asked: the server has to remember the call until the answer comes, and it remembers too many. Nothing after the question was done", Cause: err}
	case err != nil:
		return nil, c.why(err)
	}
	return &mcp.Questions{Ask: p.asked, State: sealed}, nil
}

// purpose is what the call is, and whose: a state of it opens for the same.
func (c *call) purpose() (purpose, error) {
	arguments, err := appendFrozen(nil, c.frame.Input)
	if err != nil {
		return purpose{}, err
	}
	decl, caller := c.routine.decl, c.talk.caller
	return purposeOf(c.routine.noun, decl.Name, decl.Digest, c.talk.request, string(arguments), caller.Owner(), caller.Toolset), nil
}

// resume goes back to where the call was when it paused.
func (c *call) resume() error {
	if c.talk == nil || c.talk.state == "" {
		return nil
	}
	of, err := c.purpose()
	if err != nil {
		return err
	}
	frozen, err := c.routine.generation.build.State.unseal(c.frame.Context, c.talk.state, of)
	if err != nil {
		return err
	}
	err = c.thaw(frozen)
	c.resumed = c.consent == nil || c.consent.stage == consentGiven // who was asked to agree has not entered its limits
	return err
}
