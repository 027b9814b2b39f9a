package runtime

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/hcl/value"
	"hatchel/runtime/mcp"
	"hatchel/runtime/state"
)

// stateLife is how long a client has at least to come back with answers.
const stateLife = 10 * time.Minute

// unfinished reports whether a call goes on later: it has paused, or becomes a task.
func unfinished(err error) bool {
	return err != nil && (err == errBecomesTask || errors.As(err, new(*paused)))
}

// meet looks at what the client can do before anything else is done.
func (c *call) meet(req *mcp.CallRequest) error {
	for _, name := range c.routine.requires {
		if !capable(req.Caller, name) {
			return incapable(req.Caller, name)
		}
	}
	return c.converse(req)
}

// converse lets a call ask the client that has made the request: while the call is under way where it can be asked then, otherwise by pausing. A
// request that brings a state goes on where the call paused that got it.
func (c *call) converse(req *mcp.CallRequest) error {
	if !c.routine.asks {
		if req.State != "" {
			return mcp.InvalidState()
		}
		return nil
	}
	c.talk = &conversation{Client: c.action.Client, call: c, caller: req.Caller, request: req.Name, state: req.State}
	c.action.Client = c.talk
	if !req.Caller.Revision.Modern() {
		c.talk.req = req
		return nil
	}
	return c.talk.hear(req.Answers)
}

// hear takes the answers of the client: an object as encoded JSON, or nil.
func (t *conversation) hear(answers []byte) error {
	if answers == nil {
		return nil
	}
	v, err := value.Decode(answers)
	if err != nil {
		return &mcp.Error{Code: mcp.CodeInvalidParams, Message: "params.inputResponses cannot be read"}
	}
	t.sent, _ = v.(map[string]any)
	return nil
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
	return c.thaw(frozen)
}

// waits is what the client of a paused call is asked, with the state to go on from.
func (c *call) waits(ctx context.Context, caller *mcp.Caller, p *paused) (*mcp.Questions, error) {
	c.enter(ctx, slog.LevelDebug, "call waits for its client", caller.Remote, nil)
	of, err := c.purpose()
	if err != nil {
		return nil, err
	}
	frozen, err := c.freeze(nil)
	if err != nil {
		return nil, err
	}
	sealed, err := c.routine.generation.build.State.seal(ctx, frozen, of, time.Now().Add(max(p.patience, stateLife)))
	if errors.Is(err, state.ErrFull) {
		return nil, &adapters.Fault{Message: "it could not be asked: the server has to remember the call until the answer comes, and it remembers too many. Nothing after the question was done", Cause: err}
	}
	if err != nil {
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
	return purposeOf(c.routine.noun, decl.Name, decl.Digest, c.talk.request, string(arguments), caller.Subject, caller.Toolset), nil
}

// largestFrozen is how many bytes it may take to remember a call.
const largestFrozen = 4 << 20

// freeze is what it takes to go on with a call, and its inputs where nobody gives them again.
func (c *call) freeze(input map[string]any) ([]byte, error) {
	m := map[string]any{
		"at":     c.at,
		"spent":  int(c.clock().Milliseconds()),
		"steps":  c.frame.Steps,
		"locals": c.frame.Computed(),
	}
	if input != nil {
		m["input"] = input
	}
	if c.talk != nil && c.talk.done != nil {
		m["done"] = c.talk.done
	}
	frozen, err := appendFrozen(nil, m)
	if err != nil {
		return nil, &adapters.Fault{Message: "what the steps have given so far cannot be remembered: " + err.Error(), Cause: err}
	}
	if len(frozen) > largestFrozen {
		return nil, &adapters.Fault{Message: fmt.Sprintf("what the steps have given so far, %s, is too much to be remembered; no more than %s can be", hcl.Size(len(frozen)), hcl.Size(largestFrozen))}
	}
	return frozen, nil
}

var errFrozen = errors.New("what was remembered of a call does not fit it")

// thaw undoes freeze, in a call of the same routine.
func (c *call) thaw(frozen []byte) error {
	v, err := thaw(frozen)
	if err != nil {
		return err
	}
	m, _ := v.(map[string]any)
	at, isNumber := m["at"].(int)
	spent, _ := m["spent"].(int)
	steps, isObject := m["steps"].(map[string]any)
	if !isNumber || !isObject || at < 0 || at > len(c.routine.stages) {
		return errFrozen
	}
	c.at, c.ahead, c.frame.Steps = at, time.Duration(spent)*time.Millisecond, steps
	if locals, ok := m["locals"].(map[string]any); ok {
		c.frame.Recall(locals)
	}
	if input, ok := m["input"].(map[string]any); ok {
		c.frame.Input = input
	}
	if done, ok := m["done"].(map[string]any); ok && c.talk != nil {
		c.talk.done = done
	}
	return nil
}
