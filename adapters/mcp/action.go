package mcp

import (
	"context"
	"errors"
	"time"

	"hatchel/adapters"
	"hatchel/adapters/mcp/client"
	"hatchel/hcl"
	"hatchel/hcl/schema"
	"hatchel/internal/ctxtime"
)

// action is one mcp block that is served. It may be used concurrently.
type action struct {
	*block
	server *server

	readOnly, idempotent bool                      // what the author declares of the tool
	mirrored             []client.MirroredArgument // arguments that are repeated in headers
	digest               string                    // of the pinned definition
	returned             *schema.Validator         // of structured results; nil if none is declared
}

func bind(_ context.Context, b *block, env adapters.Env) (adapters.Action, error) {
	s, ok := env.Connection.(*server)
	if !ok {
		return nil, errors.New("an mcp block names its connection")
	}
	a := &action{
		block: b, server: s, readOnly: env.ReadOnly, idempotent: env.Idempotent, digest: b.pinned.Digest(),
	}
	var err error
	if a.mirrored, err = client.MirroredArguments([]byte(b.pinned.InputSchema)); err != nil {
		return nil, hcl.Blame(&b.Call, "The inputSchema of %s cannot be sent: %v.", b.Call, err)
	}
	if b.pinned.Output != nil {
		a.returned = b.pinned.Output.Type().Opened().Compile()
	}
	releaseLogs := s.messages.use(env.Log, s.authorizer, b.ForwardLogs)
	release := s.monitor.Use(b.Call, b.pinned.Sent)
	env.Defer(func() error {
		release()
		releaseLogs()
		return nil
	})
	return a, nil
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
	if r.conversation, err = a.converse(call, r.arguments); err != nil {
		return nil, err
	}
	result, err := a.send(ctx, r)
	if err != nil {
		return nil, err
	}
	return a.output(call, result, r.conversation.fetched())
}

// send sends a request, once more if that is certain to be safe.
func (a *action) send(ctx context.Context, r *request) (*client.Result, error) {
	result, failed := a.exchange(ctx, r)
	switch {
	case failed == nil:
		return result, nil
	case failed.final != nil:
		return nil, failed.final
	case ctx.Err() != nil:
		return nil, afterDeadline(ctx, r.sentBefore(failed))
	}
	if !a.mayRepeat(ctx, r, failed) {
		return nil, &r.sentBefore(failed).Fault
	}
	result, again := a.exchange(ctx, r.again())
	switch {
	case again == nil:
		return result, nil
	case again.final != nil:
		return nil, again.final
	}
	again.NotSent = again.NotSent && failed.NotSent
	again.SaysNotSent = again.SaysNotSent && again.NotSent
	again.Change = adapters.Worse(failed.change(), again.change())
	r.sentBefore(again)
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
		isSafe := a.idempotent || a.readOnly || a.IdempotencyArgument != "" && r.call.Key != ""
		if !isSafe || f.RetryAfter <= 0 || f.RetryAfter > maxRetryAfter {
			return false
		}
	case f.isUnknown():
		if !a.readOnly || r.conversation.state.Asked > 0 {
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

// exchange sends a request, again with the answers to what the server asks.
func (a *action) exchange(ctx context.Context, r *request) (result *client.Result, failed *failure) {
	r.conversation.request.Store(r)
	sendOnce := func(ctx context.Context, sent *client.Request) (result *client.Result, err error) {
		if result, failed = a.ask(ctx, r, sent); failed != nil {
			return nil, failed.err
		}
		return result, nil
	}
	result, err := r.conversation.send(ctx, sendOnce, &client.Request{Name: a.Call, Mirrored: a.mirrored})
	if final, ok := errors.AsType[conversationError](err); ok {
		return nil, &failure{final: final.error}
	}
	return result, failed
}

// attempt sends a request once, in a session of its caller in which the tool is as reviewed.
func (a *action) attempt(ctx context.Context, r *request, sent *client.Request) (*client.Result, *failure) {
	s := a.server
	detached, err := s.detach(r.call)
	if err != nil {
		return nil, s.openFailure(r, err)
	}
	outside := context.WithValue(ctx, requestKey{}, detached)
	lease, err := s.sessions.Acquire(outside, s.owner(r.call))
	if err != nil {
		return nil, s.openFailure(detached, err)
	}
	defer func() { s.release(lease, err) }()
	session := lease.Session()
	defer session.traceErrorOutput(r.call)
	defer session.frames.follow(r)()
	if err = session.drift.Admit(outside, a.Call); err != nil {
		s.discardLost(lease, err)
		return nil, s.openFailure(detached, err)
	}
	session.SetLogLevel(outside, s.messages.level()) // a reload may have changed it
	r.traceSession(session)
	span := a.startSpan(r, session.Session)
	r.setMeta(span)
	sent.Meta = r.meta
	r.call.Asked = time.Now()
	r.call.Attempts++
	result, err := session.Call(context.WithValue(ctx, requestKey{}, r), sent)
	if err == nil {
		a.recordCall(r, session)
		span.End("")
		return result, nil
	}
	s.discardLost(lease, err)
	failed := s.failureOf(r, err)
	if !failed.NotSent {
		a.recordCall(r, session)
	}
	span.End(adapters.ErrorType(&failed.Fault))
	return nil, failed
}

// recordCall records a call for the audit log.
func (a *action) recordCall(r *request, s *session) {
	r.call.Upstreams.Add(adapters.UpstreamCall{
		Connection: a.server.name, Tool: a.Call, Protocol: s.Protocol(), Definition: a.digest, Calls: 1,
	})
}
