package call

import (
	"context"
	"errors"
	"fmt"
	"time"

	"hatchel/adapters"
	"hatchel/runtime/durable/state"
	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/stage/elicit"
)

// waiting is how a call waits for people. It implements elicit.Call.
type waiting struct {
	call   *adapters.Call
	clock  *clock
	audit  *auditCall
	client mcp.SuspendableClient // nil where the client cannot leave
	// seal returns the token to resume the call with, which may be given for as long as the call waits.
	seal func(timeout time.Duration) (string, error)
}

// suspends reports whether the call is to pause, because the server stops and its client can come back
// for it.
func (w *waiting) suspends() bool { return w.client != nil && w.client.Suspends() }

// Wait implements elicit.Call.
func (w *waiting) Wait(timeout time.Duration, wait func() error) error {
	if w.client == nil {
		return wait()
	}
	seal := func() (string, error) { return w.seal(timeout) }
	err := w.client.Wait(w.call.Frame.Context, seal, wait)
	if errors.Is(err, mcp.ErrUnavailable) {
		return w.clock.storeFault(err)
	}
	return err
}

// WhileAsking implements elicit.Call.
func (w *waiting) WhileAsking(questions []mcp.Question, inAction bool, ask func(context.Context) error) error {
	w.audit.addQuestions(questions)
	if inAction {
		err := w.clock.whileWaiting(nil, func(ctx context.Context, _ context.CancelCauseFunc) error { return ask(ctx) })
		if errors.Is(err, errShuttingDown) {
			return stoppedInAction
		}
		return err
	}
	w.clock.pin()
	resume := w.clock.pause()
	defer resume()
	ctx, cancel := context.WithCancelCause(w.call.Frame.Context)
	defer cancel(nil)
	stopCtx := w.clock.stopCtx
	defer context.AfterFunc(stopCtx, func() { cancel(context.Cause(stopCtx)) })()
	return ask(ctx)
}

// stoppedInAction ends a call whose backend asks the client when the server stops.
var stoppedInAction = &adapters.Fault{
	Message: "the server was stopped while the client was asked a question of the backend",
	Change:  adapters.ChangeUnknown,
}

// Traceparent implements elicit.Call.
func (w *waiting) Traceparent() string { return w.call.Traceparent }

// proceed makes sure that no other process continues the call, which has waited in another one.
func (k *clock) proceed(client adapters.Client) error {
	suspendable, ok := client.(mcp.SuspendableClient)
	if !ok {
		return nil
	}
	err := suspendable.Proceed(k.frame.Context)
	if errors.Is(err, mcp.ErrSuspended) {
		return &elicit.PausedError{}
	}
	return k.storeFault(err)
}

// storeFault returns what the caller is told when a call that waits for people cannot be stored.
func (k *clock) storeFault(err error) error {
	const text = "the client could not be asked, because the state store, which holds the call until the answer " +
		"comes, is %s. Nothing after the question was done"
	switch {
	case errors.Is(err, state.ErrUnavailable), errors.Is(err, mcp.ErrUnavailable):
		return &adapters.Fault{Message: fmt.Sprintf(text, "unavailable"), Cause: err}
	case errors.Is(err, state.ErrFull):
		return &adapters.Fault{Message: fmt.Sprintf(text, "full"), Cause: err}
	case err != nil:
		return k.cause(err)
	}
	return nil
}
