package call

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"hatchel/adapters"
	"hatchel/runtime/durable/audit"
	"hatchel/runtime/durable/state"
	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/observe/metrics"
	"hatchel/runtime/observe/recent"
	"hatchel/runtime/stage/approval"
	"hatchel/runtime/stage/elicit"
	"hatchel/runtime/stage/failure"
	"hatchel/runtime/stage/limit"
)

// errSameKeyStarted ends the wait for an approval of a call whose key another call has taken.
var errSameKeyStarted = errors.New("a call with the same key has started")

// approvals is the stage in which people approve a call. Its state is nil for a call that needs no approval.
type approvals struct {
	*approvalState
	program     *Program
	call        *adapters.Call
	clock       *clock
	caller      *mcp.Caller // nil in a step of another call
	elicitation *elicit.Exchange
	waiting     *waiting
	view        approvalView
	entry       recent.Entry // of the call

	mayBecomeTask bool // the call becomes a task when it has to wait for an operator
	noWait        bool // the caller is answered when the call has to wait for an operator
	// sameKeyStarted reports whether another call with the same key has started; nil without a key.
	sameKeyStarted func() (bool, error)
}

// fingerprint identifies what is approved.
func (s *approvals) fingerprint() (string, error) {
	return s.program.approvalFingerprint(s.call, s.caller)
}

// await waits until all required approvals are given. The user of the client is asked first, so that no operator is
// asked for something that the user does not want.
func (s *approvals) await() error {
	if s.isComplete() {
		return nil
	}
	if decide := approverFrom(s.call.Frame.Context); decide != nil {
		return s.askApprover(decide)
	}
	if len(s.userRules) > 0 && (s.Stage == approvalOpen || s.Stage == approvalAsked) {
		if err := s.askUser(); err != nil {
			return err
		}
		s.Stage = approvalConfirmed
	}
	if len(s.operatorRules) == 0 {
		s.Stage = approvalComplete
		return nil
	}
	for s.given == nil { // another call may consume the approval before this one
		if err := s.awaitOperator(); err != nil {
			return err
		}
	}
	return nil
}

// refusedBy returns what refuses the call for now, for metrics; empty when everybody has approved.
func (s *approvals) refusedBy() string {
	if s.isComplete() {
		return ""
	}
	return metrics.RefusedByApproval
}

// consume consumes the approval of an operator, if one has approved. It reports false when another call has consumed
// it.
func (s *approvals) consume() (bool, error) {
	if s.Stage == approvalComplete {
		return true, nil
	}
	given := s.given
	if given == nil {
		return false, nil
	}
	s.given = nil
	if !s.isValid() {
		return false, s.program.supersededError()
	}
	consumed, err := s.program.Env.State.Approvals().Use(s.call.Frame.Context, given)
	if err != nil {
		return false, s.clock.cause(err)
	}
	if consumed {
		s.consumed, s.Stage = given, approvalComplete
	}
	return consumed, nil
}

// restore lets the same call made again use the approval that this one has consumed and done nothing with.
func (a *approvalState) restore(ctx context.Context, env *Environment) {
	if a == nil || a.consumed == nil {
		return
	}
	ctx = context.WithoutCancel(ctx)
	if _, err := env.State.Approvals().Return(ctx, a.Fingerprint, a.consumed); err != nil {
		const text = "approval consumed by a call that did nothing"
		env.LogFailure(ctx, slog.LevelWarn, text, err, "approval", a.consumed.ID)
	}
	a.consumed = nil
}

// awaitOperator waits for an operator. Given is still nil afterwards when the call has to ask
// again.
func (s *approvals) awaitOperator() error {
	p := s.program
	a, isNew, err := s.open()
	if err != nil {
		return err
	}
	if err := s.checkSameKey(a, isNew); err != nil {
		return err
	}
	if a.Status == approval.Pending {
		s.entry.SetApproval(a.ID)
		p.enqueueApprovalEvents(s.call.Frame.Context, a, s.operatorRules)
		if isNew {
			p.publishRequest(s.call.Frame.Context, a, s.call.Owner)
		}
		if s.mayBecomeTask {
			s.Stage, s.given = approvalWaiting, nil
			s.maxWait = time.Until(a.Deadline)
			return errBecomesTask
		}
		if s.noWait {
			s.Record = auditApproval(a)
			return &elicit.PausedError{Approval: a.ID}
		}
		if a, err = s.waitForDecision(a); err != nil {
			return err
		}
	}
	s.Record = auditApproval(a)
	switch a.Status {
	case approval.Approved:
		s.given = a
		return nil
	case approval.Used:
		if s.sameKeyStarted != nil {
			return errSameKeyStarted
		}
		return nil // by another call, so this one asks again
	case approval.Void:
		if s.isValid() {
			return nil // for another process, so this one asks again
		}
		return p.supersededError()
	case approval.Rejected:
		return rejectionError(p.Env.Scrubber.Text(a.Decision.Reason))
	}
	return failure.NotDone{Message: "This call needed the approval " + a.ID + ", which expired."}
}

func rejectionError(reason string) error {
	if reason = strings.TrimSpace(reason); reason == "" {
		return failure.NotDone{Message: "This call needed an approval, and it was rejected."}
	}
	if !strings.ContainsAny(reason[len(reason)-1:], ".!?") {
		reason += "."
	}
	return failure.NotDone{Message: "This call needed an approval, and it was rejected: " + reason + "\n"}
}

// open returns the approval that a call like this waits for or was given, or else a new
// one.
func (s *approvals) open() (a *approval.Approval, isNew bool, err error) {
	fingerprint, err := s.fingerprint()
	if err != nil {
		return nil, false, s.clock.evalError(err)
	}
	r, err := s.view.request(s.operatorRules)
	if err != nil {
		return nil, false, err
	}
	s.Fingerprint = fingerprint
	r.Observe = s.view.observer(s.operatorRules)
	a, isNew, err = s.program.Env.State.Approvals().Open(s.call.Frame.Context, fingerprint, *r)
	switch {
	case errors.Is(err, approval.ErrTooManyOfCaller):
		const text = "This call needs an approval, and %d calls of the same caller wait for one already, which is " +
			"the limit."
		const advice = "Try again when some of them are decided; make no other such call until then."
		message := fmt.Sprintf(text, approval.MaxPendingPerCaller)
		return nil, false, &limit.Error{Message: message, Advice: advice, RetryAfter: time.Minute}
	case errors.Is(err, approval.ErrTooManyPending):
		const text = "This call needs an approval, and too many calls of other callers of this server wait for one " +
			"already."
		return nil, false, &limit.Error{Message: text, Advice: "Try again later.", RetryAfter: time.Minute}
	case errors.Is(err, state.ErrFull):
		const text = "the call needs an approval, and the state store has no room for another one."
		return nil, false, failure.NotDone{Message: text, Advice: "try again later", Cause: err}
	case err != nil:
		return nil, false, s.clock.cause(failure.StateError(err))
	}
	a.Observe = r.Observe
	return a, isNew, nil
}

// checkSameKey fails with errSameKeyStarted when another call with the same key has started. That
// call may have consumed the approval, so that this one has opened a new one for nothing, which it
// rejects.
func (s *approvals) checkSameKey(a *approval.Approval, isNew bool) error {
	if s.sameKeyStarted == nil {
		return nil
	}
	started, err := s.sameKeyStarted()
	switch {
	case err != nil || !started:
		return err
	case !isNew:
		return errSameKeyStarted
	}
	const reason = "the call was made already, with the same idempotency key"
	decision := approval.Decision{By: approval.Server, At: time.Now(), Reason: reason}
	_, err = s.program.Env.State.Approvals().Decide(s.call.Frame.Context, a.ID, false, decision)
	if err == nil || errors.As(err, new(*approval.DecidedError)) {
		return errSameKeyStarted
	}
	return err
}

// recordCall stores in the approval of an operator what the call came to that has used it.
func (a *approvalState) recordCall(ctx context.Context, e *ending) {
	if a == nil || a.Record == nil || a.Record.ID == "" || a.Stage != approvalComplete || e.interim != "" {
		return
	}
	call := approval.Call{Outcome: e.outcome, At: time.Now().UTC().Truncate(time.Millisecond)}
	if e.failed != nil {
		call.Message = cutMessage(e.arguments.hideMessage(e.failed.Message))
	} else if f := e.result.Failures; f.Failed > 0 {
		call.Failed, call.Of, call.FailedStep = f.Failed, f.Of, f.Step
		call.FailedKey = cutMessage(e.arguments.hideMessage(f.Key))
		call.Message = cutMessage(e.arguments.hideMessage(f.Error))
	}
	ctx, env := context.WithoutCancel(ctx), e.operation.Env
	if err := env.State.Approvals().RecordCall(ctx, a.Record.ID, call); err != nil {
		env.LogFailure(ctx, slog.LevelWarn, "outcome of approved call not stored", err, "approval", a.Record.ID)
	}
}

func auditApproval(a *approval.Approval) *audit.Approval {
	r := &audit.Approval{ID: a.ID, Rules: a.Rules}
	if d := a.Decision; d != nil {
		r.By, r.At, r.Reason, r.Digest = d.By, d.At, d.Reason, d.Digest
	}
	return r
}
