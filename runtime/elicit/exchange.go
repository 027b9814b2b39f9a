package elicit

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/hcl/value"
	"hatchel/runtime/failure"
	"hatchel/runtime/mcp"
	"hatchel/runtime/result"
)

// Call is what an exchange needs of the call that asks.
type Call interface {
	// BeginAsking is called before the client is asked while the call waits. Until end is called
	// the timeout of the call does not run. Ctx ends when the call must.
	BeginAsking(questions []mcp.Question) (ctx context.Context, end func())
}

// Exchange is what a call and its client have asked and answered. It belongs to the goroutine of
// the call.
type Exchange struct {
	adapters.Client
	Caller  *mcp.Caller
	Request string // the name of the tool or prompt, or the URI, that the request is for
	State   string // the state token of the request; empty for none

	Sent map[string]any // answers of the client by key, for the next group; nil for none
	Done map[string]any // answers of the current group so far; nil before it begins

	call    Call
	writer  *result.Writer
	req     *mcp.CallRequest  // asks the client while the call waits; nil where the call pauses instead
	invalid map[string]string // why an answer has to be given again, by key
}

// New returns the exchange of a call that a request began.
func New(call Call, client adapters.Client, writer *result.Writer, req *mcp.CallRequest) (*Exchange, error) {
	x := &Exchange{Client: client, Caller: req.Caller, Request: req.Name, State: req.State, call: call, writer: writer}
	if !req.Caller.Revision.Modern() {
		x.req = req
		return x, nil
	}
	return x, x.acceptAnswers(req.Answers)
}

// Resume returns the exchange of a call that resumes as a task with these answers.
func Resume(
	call Call, client adapters.Client, writer *result.Writer, caller *mcp.Caller, sent map[string]any,
) *Exchange {
	return &Exchange{Client: client, Caller: caller, Sent: sent, call: call, writer: writer}
}

// Interactive reports whether the client is asked while the call waits.
func (x *Exchange) Interactive() bool { return x.req != nil }

// Detach closes the connection and asks the client to come back after retry. It reports whether it
// has.
func (x *Exchange) Detach(retry time.Duration) bool {
	c, ok := x.Client.(interface{ Detach(time.Duration) bool })
	return ok && c.Detach(retry)
}

// acceptAnswers takes the answers of the client: an object as encoded JSON, or nil.
func (x *Exchange) acceptAnswers(answers []byte) error {
	if answers == nil {
		return nil
	}
	v, err := value.Decode(answers)
	if err != nil {
		return &mcp.Error{Code: mcp.CodeInvalidParams, Message: "params.inputResponses cannot be read"}
	}
	x.Sent, _ = v.(map[string]any)
	return nil
}

// askAll asks all questions at once, and leaves the answers in Sent.
func (x *Exchange) askAll(asks []*hcl.Ask, questions []mcp.Question) error {
	ctx, end := x.call.BeginAsking(questions)
	defer end()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	answers, errs := make([]any, len(asks)), make([]error, len(asks))
	var all sync.WaitGroup
	for i := range asks {
		all.Go(func() {
			if answers[i], errs[i] = x.AskOne(ctx, asks[i], questions[i]); errs[i] != nil {
				cancel(errs[i])
			}
		})
	}
	all.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	x.Sent = make(map[string]any, len(asks))
	for i, a := range asks {
		x.Sent[a.Key] = answers[i]
	}
	return nil
}

// AskOne asks the client one question and returns its answer; nil for an answer that is not JSON.
func (x *Exchange) AskOne(ctx context.Context, a *hcl.Ask, q mcp.Question) (any, error) {
	const lateText = "the client did not answer the question %q within %s"
	late := &adapters.Fault{Message: fmt.Sprintf(lateText, a.Key, failure.FormatDuration(a.Timeout))}
	ctx, cancel := context.WithTimeoutCause(ctx, a.Timeout, late)
	defer cancel()
	raw, err := x.req.Ask(ctx, q)
	var rejected *mcp.ClientError
	switch {
	case errors.As(err, &rejected):
		return nil, failure.Refusal(fmt.Sprintf("The client rejected the question %q: %s", a.Key, rejected.Message))
	case errors.Is(err, mcp.ErrUnreachable):
		const text = "This has to ask the client %q, and the client cannot be reached while it waits for the result."
		return nil, failure.Refusal(fmt.Sprintf(text, a.Key))
	case err != nil:
		return nil, err
	}
	v, err := value.Decode(raw)
	if err != nil {
		return nil, nil // no object, so it is asked again
	}
	return v, nil
}
