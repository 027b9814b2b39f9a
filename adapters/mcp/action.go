package mcp

import (
	"context"
	"errors"
	"time"

	"hatchel/adapters"
	"hatchel/adapters/mcp/client"
	"hatchel/internal/ctxtime"
)

// action is one mcp block that is served. It may be used concurrently.
type action struct {
	*block
	server *server

	readOnly, idempotent bool // what the author declares of the tool
}

func bind(_ context.Context, b *block, env adapters.Env) (adapters.Action, error) {
	s, ok := env.Connection.(*server)
	if !ok {
		return nil, errors.New("an mcp block names its connection")
	}
	return &action{block: b, server: s, readOnly: env.ReadOnly, idempotent: env.Idempotent}, nil
}

// Do implements adapters.Action.
func (a *action) Do(ctx context.Context, call *adapters.Call) (any, error) {
	if call.Hops >= adapters.MaxHops {
		const message = "the call has passed too many servers on its way, which may call each other"
		return nil, &adapters.Fault{Message: message, NotSent: true, SaysNotSent: true}
	}
	r, err := a.compile(call)
	if err != nil {
		return nil, err
	}
	result, err := a.send(context.WithValue(ctx, requestKey{}, r), r)
	if err != nil {
		return nil, err
	}
	return a.output(call, result)
}

// send sends a request, once more if that is certain to be safe.
func (a *action) send(ctx context.Context, r *request) (*client.Result, error) {
	result, failed := a.ask(ctx, r)
	if failed == nil {
		return result, nil
	}
	if ctx.Err() != nil {
		return nil, afterDeadline(ctx, failed)
	}
	if !a.mayRepeat(ctx, r, failed) {
		return nil, &failed.Fault
	}
	result, again := a.ask(ctx, r)
	if again == nil {
		return result, nil
	}
	again.NotSent = again.NotSent && failed.NotSent
	again.SaysNotSent = again.SaysNotSent && again.NotSent
	again.Change = adapters.Worse(failed.change(), again.change())
	if ctx.Err() != nil {
		return nil, afterDeadline(ctx, again)
	}
	return nil, &again.Fault
}

const maxRetryAfter = 60 * time.Second

// mayRepeat reports whether a request may be sent once more, after the pause that the server asks for.
func (a *action) mayRepeat(ctx context.Context, r *request, f *failure) bool {
	r.call.Pace.Postpone(ctx, f.RetryAfter)
	switch {
	case f.refused:
		if !a.server.renew(ctx, r) {
			return false
		}
	case f.paused:
		if !a.idempotent && !a.readOnly || f.RetryAfter <= 0 || f.RetryAfter > maxRetryAfter {
			return false
		}
	case f.isUnknown():
		if !a.readOnly {
			return false
		}
	case !f.NotSent || !f.repeatable:
		return false
	}
	deadline, limited := ctx.Deadline()
	if limited && time.Until(deadline) <= f.RetryAfter || ctxtime.Sleep(ctx, f.RetryAfter) != nil {
		return false
	}
	return r.call.Pace.Wait(ctx) == nil
}

// attempt sends a request once, in a session of its caller.
func (a *action) attempt(ctx context.Context, r *request) (*client.Result, *failure) {
	session, err := client.Open(ctx, a.server.transport, a.server.options())
	if err != nil {
		return nil, a.server.openFailure(r, err)
	}
	defer session.Close()
	span := a.startSpan(r, session)
	r.setMeta(span)
	r.call.Asked = time.Now()
	r.call.Attempts++
	result, err := session.Call(ctx, &client.Request{Name: a.Call, Arguments: r.arguments, Meta: r.meta})
	r.call.Upstreams.Add(adapters.UpstreamCall{
		Connection: a.server.name, Tool: a.Call, Protocol: session.Protocol(), Calls: 1,
	})
	if err != nil {
		failed := a.server.failureOf(r, err)
		span.End(adapters.ErrorType(&failed.Fault))
		return nil, failed
	}
	span.End("")
	return result, nil
}
