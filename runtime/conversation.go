package runtime

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/hcl/value"
	"hatchel/runtime/failure"
	"hatchel/runtime/mcp"
)

// elicitation is what a call has with its client, who can be asked. It belongs to the goroutine of the call.
type elicitation struct {
	adapters.Client
	call    *call
	caller  *mcp.Caller
	request string           // what the request names
	state   string           // that the request brought; empty for none
	req     *mcp.CallRequest // through which the client is asked while the call is under way; nil when the call pauses instead

	sent    map[string]any    // what the client has answered by key, for the round that comes next; nil when there is nothing
	done    map[string]any    // the answers of the round in hand so far; nil before it has begun
	invalid map[string]string // what is wrong with an answer that has to be given again
}

// checkClient refuses a caller who was not granted what it takes and a client that cannot do what it must, and lets the call ask the others: while it is under way where they can be asked then, otherwise
// by pausing. A request that brings a state goes on where the call paused that got it.
func (c *call) checkClient(req *mcp.CallRequest) error {
	if err := c.operation.checkScopes(req.Caller); err != nil {
		return err
	}
	for _, name := range c.operation.requiredCapabilities {
		if !hasCapability(req.Caller, name) {
			return capabilityError(req.Caller, name)
		}
	}
	if !c.operation.asksClient {
		if req.State != "" {
			return mcp.InvalidState()
		}
		return nil
	}
	c.elicitation = &elicitation{Client: c.action.Client, call: c, caller: req.Caller, request: req.Name, state: req.State}
	c.action.Client = c.elicitation
	if !req.Caller.Revision.Modern() {
		c.elicitation.req = req
		return nil
	}
	return c.elicitation.acceptAnswers(req.Answers)
}

// acceptAnswers takes the answers of the client: an object as encoded JSON, or nil.
func (t *elicitation) acceptAnswers(answers []byte) error {
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

// askAll asks all questions at once, and leaves what was answered in sent. The clock of the call stands still meanwhile.
func (t *elicitation) askAll(asks []*hcl.Ask, questions []mcp.Question) error {
	t.call.audit.addQuestions(questions)
	t.call.pin()
	resume := t.call.pauseTimeout()
	defer resume()
	ctx, cancel := context.WithCancelCause(t.call.frame.Context)
	defer cancel(nil)
	unhook := context.AfterFunc(t.call.stopCtx, func() { cancel(context.Cause(t.call.stopCtx)) })
	defer unhook()
	answers, errs := make([]any, len(asks)), make([]error, len(asks))
	var all sync.WaitGroup
	for i := range asks {
		all.Go(func() {
			if answers[i], errs[i] = t.askOne(ctx, asks[i], questions[i]); errs[i] != nil {
				cancel(errs[i])
			}
		})
	}
	all.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	t.sent = make(map[string]any, len(asks))
	for i, a := range asks {
		t.sent[a.Key] = answers[i]
	}
	return nil
}

func (t *elicitation) askOne(ctx context.Context, a *hcl.Ask, q mcp.Question) (any, error) {
	late := &adapters.Fault{Message: fmt.Sprintf("the client did not answer the question %q within %s", a.Key, failure.FormatDuration(a.Timeout))}
	ctx, cancel := context.WithTimeoutCause(ctx, a.Timeout, late)
	defer cancel()
	raw, err := t.req.Ask(ctx, q)
	var no *mcp.ClientError
	switch {
	case errors.As(err, &no):
		return nil, failure.Refusal(fmt.Sprintf("The client would not answer the question %q: %s", a.Key, no.Message))
	case errors.Is(err, mcp.ErrUnreachable):
		return nil, failure.Refusal(fmt.Sprintf("This has to ask the client %q, and the client cannot be reached while it waits for the answer.", a.Key))
	case err != nil:
		return nil, err
	}
	v, err := value.Decode(raw)
	if err != nil {
		return nil, nil // no object, so it is asked again
	}
	return v, nil
}
