package call

import (
	"context"
	"encoding/json"
	"errors"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/stage/elicit"
	"hatchel/runtime/stage/opencall"
)

// asking is what the backend of a step asks the client, until it has the answers. Either resume or open is set while
// the call is paused.
type asking struct {
	questions []adapters.Question
	resume    []byte       // what the backend continues with
	open      opencall.Ref // of the call that is open at the backend
	unused    bool         // another request has brought the answers, and the backend does not have them yet
	answers   []adapters.Answer
}

// isOpen reports whether the call continues with one that is open at its backend.
func (a *asking) isOpen() bool { return a != nil && a.open != (opencall.Ref{}) }

// mayAsk reports whether an action may ask the client in a step: its backend may, and the step runs it once.
func (s *Step) mayAsk() bool {
	a, ok := s.Action.(adapters.Asking)
	return ok && len(a.MayAsk()) > 0 && s.Decl.Each == nil && s.Decl.Repeat == nil
}

// stepAsker asks the client for the backend of a step. It is the adapters.Asker of that where the client is asked while
// the call waits.
type stepAsker struct {
	step        *Step
	elicitation *elicit.Exchange
	frame       *hcl.Frame // of the call
	owner       string     // of the call
	asking      **asking   // of the call
}

// CanAsk implements adapters.Asker.
func (a *stepAsker) CanAsk(capability string) bool {
	return elicit.HasCapability(a.elicitation.Caller, capability)
}

// Ask implements adapters.Asker.
func (a *stepAsker) Ask(
	ctx context.Context, questions []adapters.Question, resume []byte,
) (answers []adapters.Answer, err error) {
	if resume == nil {
		leave, err := a.step.operation.Env.OpenCalls.Enter(a.owner, a.step.connection)
		if err != nil {
			return nil, err
		}
		defer leave()
		return a.elicitation.AskBackend(ctx, questions, false, a.frame)
	}
	*a.asking = &asking{questions: questions, resume: resume}
	if answers, err = a.elicitation.AskBackend(ctx, questions, true, a.frame); err == nil {
		*a.asking = nil
	}
	return answers, err
}

// askingAction is the action of a step whose backend may ask the client.
type askingAction struct{ *stepAsker }

// Do implements adapters.Action.
func (a askingAction) Do(ctx context.Context, call *adapters.Call) (output any, err error) {
	asked := *a.asking
	*a.asking = nil
	var out opencall.Outcome
	if asked.isOpen() {
		out = a.step.operation.Env.OpenCalls.Continue(ctx, asked.open, asked.answers, call.Client)
	} else {
		if asked != nil {
			call.Resumption = &adapters.Resumption{State: asked.resume, Answers: asked.answers}
			defer func() { call.Resumption = nil }()
		}
		if a.elicitation.Interactive() {
			return a.step.Action.Do(ctx, call)
		}
		out = a.start(ctx, *call)
	}
	for _, u := range out.Report.Upstreams {
		call.Upstreams.Add(u)
	}
	call.Attempts += out.Report.Attempts
	call.Pages += out.Report.Pages
	call.Replaced += out.Report.Replaced
	call.Cut = out.Report.Cut
	call.Received.Add(out.Report.Received)
	q := out.Question
	if q == nil || out.Err != nil {
		return out.Output, out.Err
	}
	*a.asking = &asking{questions: q.Questions, resume: q.Resume, open: q.Open}
	if _, err = a.elicitation.AskBackend(ctx, q.Questions, q.Open == (opencall.Ref{}), a.frame); err == nil {
		err = errUnasked
	}
	return nil, err
}

// errUnasked reports a question that was answered without the client, though it can be asked.
var errUnasked = errors.New("a question of a backend was not asked")

// start runs the action of the step in a goroutine, which keeps the generation, until it asks or ends.
func (a askingAction) start(ctx context.Context, inner adapters.Call) opencall.Outcome {
	o, caller := a.step.operation, a.elicitation.Caller
	serving, _ := o.Env.Generation.Serving(o.Decl.Name, nil)
	inner.CheckOutput, inner.Changes = acceptAll, nil // the runtime checks the output, and records changes
	inner.Upstreams, inner.Received = new(adapters.UpstreamCalls), adapters.Received{}
	inner.Attempts, inner.Pages, inner.Replaced = 0, 0, 0
	o.Env.Generation.Retain()
	return o.Env.OpenCalls.Start(ctx, inner.Client, opencall.Options{
		Owner: inner.Owner, Connection: a.step.connection, Capable: a.CanAsk, Stop: o.Env.Pinned,
		Reloaded: o.Env.Waiters.nextReload,
		IsValid: func() bool {
			now, known := o.Env.Generation.Serving(o.Decl.Name, caller)
			return known && (o.Kind != "tool" || now == serving || now != nil && now.Decl.Digest == o.Decl.Digest)
		},
	}, func(
		ctx context.Context, asker adapters.Asker, client adapters.Client, report *opencall.Report,
	) (any, error) {
		inner.Frame, inner.Asker, inner.Client = inner.Frame.Fork(ctx), asker, client
		defer func() {
			*report = opencall.Report{
				Upstreams: inner.Upstreams.List(), Attempts: inner.Attempts, Pages: inner.Pages,
				Replaced: inner.Replaced, Cut: inner.Cut, Received: inner.Received,
			}
		}()
		return a.step.Action.Do(ctx, &inner)
	}, o.Env.Generation.Release)
}

// resumesIn reports whether a call continues in its backend, which was called before it has paused.
func resumesIn(call *adapters.Call) bool {
	asker, ok := call.Asker.(*stepAsker)
	return ok && *asker.asking != nil && (*asker.asking).unused
}

// acceptBackendAnswers takes the answers that the backend of the next step waits for. Where the client is asked while
// the call waits, it asks for those that are missing.
func (c *engine) acceptBackendAnswers() (err error) {
	a := c.asking
	resumes := a.open == (opencall.Ref{})
	a.answers, err = c.elicitation.AskBackend(c.frame.Context, a.questions, resumes, c.frame)
	if err == nil {
		a.unused = true
	}
	return err
}

// releaseOpenCall ends the call that is open at the backend if the call that has failed does not continue with it. It
// must be called with the error of each call that may ask.
func (c *engine) releaseOpenCall(ctx context.Context, err error) {
	if err == nil || isPaused(err) {
		return
	}
	if c.asking == nil && !c.progress.thawed {
		c.peekState()
	}
	c.dropAsking(ctx)
}

// dropAsking forgets what a backend asks, and ends its open call.
func (c *engine) dropAsking(ctx context.Context) {
	if c.asking.isOpen() {
		c.operation.Env.OpenCalls.Release(ctx, c.asking.open)
	}
	c.asking = nil
}

func isPaused(err error) bool { return errors.As(err, new(*elicit.PausedError)) }

// peekState reads the state of a request that was refused before it was resumed: what the backend asks, and what the
// call has changed before.
func (c *engine) peekState() {
	req := c.request
	if req == nil || req.State == "" || !c.operation.AsksClient || !req.Caller.Revision.Modern() {
		return
	}
	if c.elicitation == nil {
		x, err := elicit.New(c.waiting(), c.action.Client, c.operation.Writer, req)
		if err != nil {
			return
		}
		c.elicitation = x
	}
	if c.frame.Input == nil && c.validate(inputs{raw: req.Arguments}) != nil {
		return
	}
	request, err := c.operation.stateDigest(c.elicitation, &c.action)
	if err != nil {
		return
	}
	frozen, err := c.operation.Env.State.Sealer().Read(c.frame.Context, req.State, request)
	if err != nil {
		return
	}
	p, err := thaw(frozen, len(c.operation.Steps), req.Reserve)
	if err != nil || p.asking == nil {
		return
	}
	c.asking = p.asking
	c.action.Changes.Restore(p.changes)
}

// pendingQuestions accepts answers to the questions that the call waits for, and returns those to ask again. Complete
// reports whether no question is left.
func (c *engine) pendingQuestions(sent map[string]any) (again []mcp.Question, complete bool, err error) {
	if c.elicitation == nil {
		return nil, false, errFrozenCall
	}
	if c.asking != nil {
		return c.elicitation.PendingBackend(c.asking.questions, sent, c.frame)
	}
	group := c.operation.askGroup(c.progress.nextStep)
	if group == nil {
		return nil, false, errFrozenCall
	}
	return c.elicitation.Unanswered(group, sent, c.frame)
}

// OpenCallOf returns the call that is open at a backend while a frozen call waits for its client; the zero Ref for
// none.
func OpenCallOf(frozen []byte) (open opencall.Ref) {
	var f frozenCall
	if json.Unmarshal(frozen, &f) == nil && f.Asking != nil && f.Asking.Open != nil {
		open = *f.Asking.Open
	}
	return open
}
