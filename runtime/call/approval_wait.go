package call

import (
	"context"
	"errors"
	"time"

	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/observe/metrics"
	"hatchel/runtime/stage/approval"
	"hatchel/runtime/stage/elicit"
	"hatchel/runtime/stage/failure"
	"hatchel/runtime/stage/limit"
)

const (
	callAgain     = "Call again: the call needs a new approval."
	callWhenStart = "Call again when the server is back: the approval is valid for the same call then."
)

var (
	// errSuperseded ends a call that waits for an approval while its configuration changes.
	errSuperseded = failure.NotDone{
		Message: "The configuration was changed while this call waited for an approval", Advice: callAgain,
	}
	toolRemoved = failure.NotDone{Message: "This tool was removed while the call waited for an approval"}
	toolChanged = failure.NotDone{
		Message: "The configuration of this tool was changed while the call waited for an approval", Advice: callAgain,
	}
	stoppedWhileWaiting = failure.NotDone{
		Message: "The server is shutting down, and this call waits for an approval.", Advice: callWhenStart,
	}
)

// errShuttingDown is why the calls that wait for people end.
var errShuttingDown = errors.New("the server is shutting down")

// progressInterval is the time between two progress messages to a client that waits.
const progressInterval = 3 * time.Second

// waitForDecision returns an approval when an operator has decided, or when its time has passed.
func (s *approvals) waitForDecision(a *approval.Approval) (*approval.Approval, error) {
	w := s.program.Env.Waiters
	if !w.enter(s.call.Owner) {
		return nil, &limit.Error{
			Message: "Too many calls of one caller wait for approvals.", Advice: "Try again when one is decided.",
			RetryAfter: time.Minute,
		}
	}
	defer w.leave(s.call.Owner)
	s.program.meter.Wait(metrics.WaitApproval, 1)
	s.call.Span.AddEvent("approval awaited")
	began, opened := time.Now(), a
	defer func() {
		s.program.meter.Wait(metrics.WaitApproval, -1)
		s.program.meter.Decided(decisionWord(a), time.Since(began))
		s.call.Span.AddEvent("approval: " + decisionWord(a))
	}()
	store, reports := s.program.Env.State.Approvals(), 0
	report := func() {
		reports++
		// A step may report its own progress later, from 1 on.
		s.call.Client.Progress(float64(reports)*1e-6, 0, approval.ProgressMessage(opened.ID))
	}
	report()
	err := s.waiting.Wait(time.Until(opened.Deadline), func() error {
		interrupted := s.awaitInterruption
		err := s.clock.whileWaiting(interrupted, func(ctx context.Context, end context.CancelCauseFunc) (err error) {
			a, err = store.Wait(ctx, a, progressInterval, func() {
				report()
				if !s.isValid() {
					end(errSuperseded)
				}
			})
			return err
		})
		if errors.Is(err, errShuttingDown) && s.waiting.suspends() {
			return mcp.ErrSuspended
		}
		return err
	})
	switch {
	case errors.Is(err, errSuperseded):
		s.program.voidApproval(s.call.Frame.Context, opened)
		return nil, s.program.supersededError()
	case errors.Is(err, mcp.ErrSuspended):
		return nil, &elicit.PausedError{Timeout: time.Until(opened.Deadline)}
	case errors.Is(err, errShuttingDown):
		return nil, stoppedWhileWaiting
	case err != nil:
		return nil, err
	}
	return a, nil
}

// awaitInterruption waits for what ends the waiting of a call, or for the end of ctx, and returns
// which it was.
func (s *approvals) awaitInterruption(ctx context.Context) error {
	w := s.program.Env.Waiters
	for {
		reloaded := w.nextReload()
		if !s.isValid() {
			return errSuperseded
		}
		select {
		case <-reloaded:
		case <-w.stopped:
			return errShuttingDown
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// isValid reports whether the call would be made now as it is made here: its tool, the rules
// about it and its caller are what they were.
func (s *approvals) isValid() bool {
	p := s.program
	serving, known := p.Env.Generation.Serving(p.Decl.Name, s.view.caller)
	return serving != nil && serving.approvalDigest == p.approvalDigest && known
}

// supersededError returns why a call is not made that is no longer valid.
func (p *Program) supersededError() error {
	switch serving, _ := p.Env.Generation.Serving(p.Decl.Name, nil); {
	case serving == nil:
		return toolRemoved
	case serving.approvalDigest != p.approvalDigest:
		return toolChanged
	}
	return errSuperseded
}

// decisionWord returns what was decided about an approval, which is nil when the wait failed.
func decisionWord(a *approval.Approval) string {
	if a == nil || a.Status == approval.Pending {
		return "none"
	}
	return string(a.Status)
}
