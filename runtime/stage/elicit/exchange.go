package elicit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/hcl/schema"
	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/stage/failure"
	"hatchel/runtime/stage/result"
)

// Call is what an exchange needs of the call that asks.
type Call interface {
	// WhileAsking runs ask, which asks the client while the call waits. The timeout of the call does not run
	// meanwhile. The context of ask ends when the call must. InAction says that a backend asks, whose context stays.
	WhileAsking(questions []mcp.Question, inAction bool, ask func(context.Context) error) error

	// Traceparent returns the W3C trace context of the call; empty for none.
	Traceparent() string

	// Wait runs wait, which takes as long as the client has to answer, at most timeout. Another process
	// continues the call if this one stops or dies meanwhile: the error is mcp.ErrSuspended then.
	Wait(timeout time.Duration, wait func() error) error
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

	backend   map[string]*adapters.Question // what a backend asks now, by key; nil where a step asks
	holdsOpen bool                          // the backend holds the call open, so no other process can continue it
	asking    context.Context               // ends when the backend withdraws what it asks; nil where a step asks
}

var _ mcp.SuspendableClient = (*Exchange)(nil)

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

// Suspends reports whether the call is to pause, because the server stops and the client can come back
// for it.
func (x *Exchange) Suspends() bool { return x.req != nil && x.req.Suspends() }

// Proceed is that of the request.
func (x *Exchange) Proceed(ctx context.Context) error {
	if x.req == nil {
		return nil
	}
	return x.req.Proceed(ctx)
}

// Wait is that of the request.
func (x *Exchange) Wait(ctx context.Context, state func() (string, error), wait func() error) error {
	if x.req == nil {
		return wait()
	}
	return x.req.Wait(ctx, state, wait)
}

// Detach closes the connection and asks the client to come back after retry. It reports whether it
// has.
func (x *Exchange) Detach(retry time.Duration) bool {
	c, ok := x.Client.(mcp.SuspendableClient)
	return ok && c.Detach(retry)
}

// acceptAnswers takes the answers of the client: an object as encoded JSON, or nil.
func (x *Exchange) acceptAnswers(answers []byte) error {
	if answers == nil {
		return nil
	}
	sent, err := DecodeAnswers(answers, x.req.Reserve)
	x.Sent = sent
	return err
}

// noMemory reports whether an error says that there is no memory for answers.
func noMemory(err error) bool {
	_, large := errors.AsType[*mcp.TooLargeError](err)
	return large || err == error(mcp.ErrNoMemory)
}

// DecodeAnswers decodes the answers of a client to questions: an object as encoded JSON. It first reserves the memory
// that they take. Its error is for the client.
func DecodeAnswers(answers []byte, reserve func(bytes int64) error) (map[string]any, error) {
	v, err := schema.DecodeWithin(answers, reserve)
	if err != nil {
		return nil, answersError(err)
	}
	m, _ := v.(map[string]any)
	return m, nil
}

// answersError returns why answers were not decoded, as the client reads it.
func answersError(err error) error {
	e := &mcp.Error{Code: mcp.CodeInvalidParams, Message: "params.inputResponses cannot be read"}
	if large, ok := errors.AsType[*mcp.TooLargeError](err); ok {
		e.Message = "The answers were not read: " + large.Error()
	} else if noMemory(err) {
		return err
	}
	return e
}

// askAll asks all questions at once, and leaves the answers in Sent. With mcp.ErrSuspended, these are the
// answers that have come so far.
func (x *Exchange) askAll(asks []*hcl.Ask, questions []mcp.Question) error {
	answers, answered := make([]any, len(asks)), make([]bool, len(asks))
	err := x.call.WhileAsking(questions, x.backend != nil, func(ctx context.Context) error {
		if asking := x.asking; asking != nil {
			ending, end := context.WithCancelCause(ctx)
			defer end(nil)
			defer context.AfterFunc(asking, func() { end(context.Cause(asking)) })()
			ctx = ending
		}
		wait := func() error {
			group, ctx := errgroup.WithContext(ctx)
			for i := range asks {
				group.Go(func() (err error) {
					answers[i], err = x.AskOne(ctx, asks[i], questions[i])
					answered[i] = err == nil
					return err
				})
			}
			return group.Wait()
		}
		if x.holdsOpen {
			return wait()
		}
		return x.call.Wait(longestTimeout(asks), wait)
	})
	if err != nil && !errors.Is(err, mcp.ErrSuspended) {
		return err
	}
	x.Sent = make(map[string]any, len(asks))
	for i, a := range asks {
		if answered[i] {
			x.Sent[a.Key] = answers[i]
		}
	}
	return err
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
	case x.backend[a.Key] != nil && (errors.As(err, &rejected) || errors.Is(err, mcp.ErrUnreachable)):
		return cancelled(), nil
	case errors.As(err, &rejected):
		return nil, failure.Refusal(fmt.Sprintf("The client rejected the question %q: %s", a.Key, rejected.Message))
	case errors.Is(err, mcp.ErrUnreachable):
		const text = "This has to ask the client %q, and the client cannot be reached while it waits for the result."
		return nil, failure.Refusal(fmt.Sprintf(text, a.Key))
	case err != nil:
		return nil, err
	}
	v, err := schema.DecodeWithin(raw, x.req.Reserve)
	if noMemory(err) {
		return nil, answersError(err)
	}
	if err != nil {
		return nil, nil // no object, so it is asked again
	}
	return v, nil
}

// AskGroup is the action of a step that asks the client: all its questions at once.
type AskGroup struct{ Asks []*hcl.Ask }

// Do returns an object of the answers by key. The error is a [PausedError] where the client cannot
// be asked while the call waits and answers are missing; the step is run again when there are more.
func (g *AskGroup) Do(_ context.Context, call *adapters.Call) (any, error) {
	x, ok := call.Client.(*Exchange)
	if !ok {
		return nil, failure.Refusal("This asks the client, and no client can be asked here.")
	}
	answers, err := x.Ask(g, call.Frame)
	if err != nil {
		return nil, err
	}
	return answers, nil
}

// Plan implements adapters.Planner.
func (g *AskGroup) Plan(*adapters.Call) ([]adapters.Effect, error) {
	keys := make([]string, len(g.Asks))
	for i, a := range g.Asks {
		keys[i] = a.Key
	}
	return adapters.PlanEffects("ask", "", "asks the client: "+strings.Join(keys, ", ")), nil
}

// PausedError is a call that resumes when its client has answered, in another process, or when it is made again.
type PausedError struct {
	Questions []mcp.Question // none where the client knows them already
	Approval  string         // that a call with NoWait needs; it has no Questions
	Timeout   time.Duration  // how long the client has
}

func (e *PausedError) Error() string { return "the call waits for the client" }

// maxTries is how often a question is asked while the call waits.
const maxTries = 3

// Ask asks the questions of a group that are not answered yet, and returns all answers.
func (x *Exchange) Ask(g *AskGroup, f *hcl.Frame) (map[string]any, error) {
	if x.Done == nil {
		x.Done = map[string]any{}
		for _, a := range g.Asks {
			if ok, err := result.EvalCondition(a.When, f); err != nil {
				return nil, failure.AsFault(err)
			} else if !ok {
				x.Done[a.Key] = nil
			}
		}
	}
	suspended := false
	for try := 0; ; try++ {
		pending, err := x.Pending(g, f)
		if err != nil {
			return nil, err
		}
		switch {
		case len(pending) == 0:
			done := x.Done
			x.Done, x.invalid = nil, nil
			return done, nil
		case suspended:
			return nil, &PausedError{Timeout: longestTimeout(pending)}
		case try == maxTries:
			const text = "The client's answer to %q is not valid: %s"
			return nil, failure.Refusal(fmt.Sprintf(text, pending[0].Key, x.invalid[pending[0].Key]))
		}
		questions := make([]mcp.Question, len(pending))
		for i, a := range pending {
			if questions[i], err = x.Question(a, f); err != nil {
				return nil, err
			}
		}
		if !x.Interactive() {
			return nil, &PausedError{Questions: questions, Timeout: longestTimeout(pending)}
		}
		err = x.askAll(pending, questions)
		if suspended = errors.Is(err, mcp.ErrSuspended); err != nil && !suspended {
			return nil, err
		}
	}
}

// Pending accepts the answers that have come, and returns the questions that have to be asked:
// those without a valid answer that this client can answer.
func (x *Exchange) Pending(g *AskGroup, f *hcl.Frame) (pending []*hcl.Ask, err error) {
	sent := x.Sent
	x.Sent, x.invalid = nil, nil
	for _, a := range g.Asks {
		if _, done := x.Done[a.Key]; done {
			continue
		}
		if v, ok := sent[a.Key]; ok {
			if ok, err = x.acceptAnswer(a, v, f); err != nil {
				return nil, err
			} else if ok {
				continue
			}
		}
		if capability := x.capabilityFor(a); HasCapability(x.Caller, capability) {
			pending = append(pending, a)
		} else if x.backend[a.Key] != nil {
			x.Done[a.Key] = cancelled()
		} else if err := x.fallback(a, capability, f); err != nil {
			return nil, err
		}
	}
	return pending, nil
}

// Unanswered accepts answers to the questions of a group that have come, and returns those of them to ask again.
// Complete reports whether no question of the group is left.
func (x *Exchange) Unanswered(
	g *AskGroup, sent map[string]any, f *hcl.Frame,
) (again []mcp.Question, complete bool, err error) {
	pending, err := x.Pending(g, f)
	if err != nil || len(pending) == 0 {
		return nil, true, nil // an error is what the call comes to when it continues
	}
	for _, a := range pending {
		if _, given := sent[a.Key]; !given {
			continue
		}
		q, err := x.Question(a, f)
		if err != nil {
			return nil, false, err
		}
		again = append(again, q)
	}
	return again, false, nil
}

// capabilityFor returns the name of the capability that answering a question takes.
func (x *Exchange) capabilityFor(a *hcl.Ask) string {
	if q := x.backend[a.Key]; q != nil {
		return q.Capability()
	}
	return CapabilityFor(a)
}

// acceptAnswer parses an answer, and reports whether it is valid.
func (x *Exchange) acceptAnswer(a *hcl.Ask, sent any, f *hcl.Frame) (bool, error) {
	if m, _ := sent.(map[string]any); x.backend[a.Key] != nil && m["action"] == adapters.AnswerCancel {
		x.Done[a.Key] = cancelled()
		return true, nil
	}
	answer, err := a.ParseResponse(sent, f.Budget())
	var declined *hcl.DeclinedError
	var invalid *hcl.InvalidAnswerError
	switch {
	case err == nil:
		x.Done[a.Key] = answer
		return true, nil
	case errors.As(err, &declined):
		return false, failure.Refusal(declined.Error())
	case errors.As(err, &invalid):
		if x.invalid == nil {
			x.invalid = map[string]string{}
		}
		x.invalid[a.Key] = invalid.Error()
		return false, nil
	}
	return false, failure.AsFault(err)
}

// fallback answers for a client that cannot be asked.
func (x *Exchange) fallback(a *hcl.Ask, capability string, f *hcl.Frame) error {
	if a.Fallback == nil {
		const text = "The question %q requires a client with the capability %q, and yours does not declare it. " +
			"Nothing after the question was done."
		return failure.Refusal(fmt.Sprintf(text, a.Key, capability))
	}
	answer, err := a.FallbackAnswer(f)
	if err != nil {
		return failure.AsFault(err)
	}
	x.Done[a.Key] = answer
	return nil
}

// longestTimeout returns how long the client has for all of the questions.
func longestTimeout(asks []*hcl.Ask) time.Duration {
	return slices.MaxFunc(asks, func(a, b *hcl.Ask) int { return int(a.Timeout - b.Timeout) }).Timeout
}
