package call

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"hatchel/runtime/approval"
	"hatchel/runtime/audit"
	"hatchel/runtime/elicit"
	"hatchel/runtime/failure"
	"hatchel/runtime/idempotency"
	"hatchel/runtime/limit"
	"hatchel/runtime/metrics"
	"hatchel/runtime/state"
)

var (
	// errApprovalUsed ends an attempt whose approval another call has consumed in the meantime.
	errApprovalUsed = errors.New("the approval was used by another call")
	// errSameKeyStarted ends the wait for an approval of a call whose key another call has taken.
	errSameKeyStarted = errors.New("a call with the same key has started")
)

// awaitApprovals waits until all required approvals are given. The user of the client is asked
// first, so that no operator is asked for something that the user does not want.
func (p *Program) awaitApprovals(c *call) error {
	a := c.approval
	if a.isComplete() {
		return nil
	}
	c.access.refusedBy = metrics.RefusedByApproval // unless it is given
	defer func() {
		if a.given != nil || a.Stage == approvalComplete {
			c.access.refusedBy = ""
		}
	}()
	if decide := approverFrom(c.frame.Context); decide != nil {
		return p.askApprover(c, decide)
	}
	if len(a.userRules) > 0 && (a.Stage == approvalOpen || a.Stage == approvalAsked) {
		if err := p.askUser(c); err != nil {
			return err
		}
		a.Stage = approvalConfirmed
	}
	if len(a.operatorRules) == 0 {
		a.Stage = approvalComplete
		return nil
	}
	for a.given == nil { // another call may consume the approval before this one
		if err := p.awaitOperator(c); err != nil {
			return err
		}
	}
	return nil
}

// consumeApproval begins the work that is approved, and consumes the approval of an operator. It
// fails with errApprovalUsed, and gives back limits and key, when another call has consumed it.
func (p *Program) consumeApproval(c *call) error {
	a := c.approval
	if a == nil {
		return nil
	}
	if a.Stage != approvalComplete {
		consumed, err := p.consumeGiven(c)
		if err != nil {
			return err
		}
		if !consumed {
			c.releaseLimits()
			if err := c.releaseKey(); err != nil {
				return err
			}
			return errApprovalUsed
		}
		a.Stage = approvalComplete
	}
	if len(p.Steps) == 0 {
		c.timing.compute.until = time.Now().Add(p.Decl.Timeout)
		c.frame.Context = &c.timing.compute
	}
	return p.bindTask(c)
}

// consumeGiven consumes the approval of an operator. It reports false when another call has
// consumed it.
func (p *Program) consumeGiven(c *call) (bool, error) {
	given := c.approval.given
	if given == nil {
		return false, nil
	}
	c.approval.given = nil
	if !p.stillValid(c) {
		return false, p.supersededError()
	}
	consumed, err := p.Env.State.Approvals().Use(c.frame.Context, given)
	if err != nil {
		return false, c.contextCause(err)
	}
	if consumed {
		c.approval.consumed = given
	}
	return consumed, nil
}

// bindTask lets calls with the same key find the task that does the work.
func (p *Program) bindTask(c *call) error {
	if c.approval.task == "" || !c.reuse.claim.Held() {
		return nil
	}
	c.reuse.claim.Record.Task = c.approval.task
	return c.reuse.claim.Finish(c.frame.Context, idempotency.Task)
}

// restoreApproval lets the same call made again use the approval that this one has consumed and
// done nothing with.
func (p *Program) restoreApproval(c *call) {
	a := c.approval
	if a == nil || a.consumed == nil {
		return
	}
	ctx := context.WithoutCancel(c.frame.Context)
	if _, err := p.Env.State.Approvals().Return(ctx, a.Fingerprint, a.consumed); err != nil {
		const text = "approval consumed by a call that did nothing"
		p.Env.LogFailure(ctx, slog.LevelWarn, text, err, "approval", a.consumed.ID)
	}
	a.consumed = nil
}

// awaitOperator waits for an operator. Given is still nil afterwards when the call has to ask
// again.
func (p *Program) awaitOperator(c *call) error {
	a, isNew, err := p.openApproval(c)
	if err != nil {
		return err
	}
	if err := p.checkSameKey(c, a, isNew); err != nil {
		return err
	}
	if a.Status == approval.Pending {
		p.enqueueApprovalEvents(c, a)
		if isNew {
			p.publishRequest(c, a)
		}
		if c.progress.mayBecomeTask {
			c.approval.Stage, c.approval.given = approvalWaiting, nil
			c.approval.maxWait = time.Until(a.Deadline)
			return errBecomesTask
		}
		if c.progress.noWait {
			c.approval.Record = auditApproval(a)
			return &elicit.PausedError{Approval: a.ID}
		}
		if a, err = p.waitForDecision(c, a); err != nil {
			return err
		}
	}
	c.approval.Record = auditApproval(a)
	switch a.Status {
	case approval.Approved:
		c.approval.given = a
		return nil
	case approval.Used:
		if c.approval.sameKeyStarted != nil {
			return errSameKeyStarted
		}
		return nil // by another call, so this one asks again
	case approval.Void:
		if p.stillValid(c) {
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

// openApproval returns the approval that a call like this waits for or was given, or else a new
// one.
func (p *Program) openApproval(c *call) (a *approval.Approval, isNew bool, err error) {
	fingerprint, err := p.approvalFingerprint(c)
	if err != nil {
		return nil, false, c.evalError(err)
	}
	r, err := p.approvalRequest(c, c.approval.operatorRules)
	if err != nil {
		return nil, false, err
	}
	c.approval.Fingerprint = fingerprint
	r.Observe = p.observer(c, c.approval.operatorRules)
	a, isNew, err = p.Env.State.Approvals().Open(c.frame.Context, fingerprint, *r)
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
		return nil, false, c.contextCause(failure.StateError(err))
	}
	a.Observe = r.Observe
	return a, isNew, nil
}

// checkSameKey fails with errSameKeyStarted when another call with the same key has started. That
// call may have consumed the approval, so that this one has opened a new one for nothing, which it
// rejects.
func (p *Program) checkSameKey(c *call, a *approval.Approval, isNew bool) error {
	if c.approval.sameKeyStarted == nil {
		return nil
	}
	started, err := c.approval.sameKeyStarted()
	switch {
	case err != nil || !started:
		return err
	case !isNew:
		return errSameKeyStarted
	}
	const reason = "the call was made already, with the same idempotency key"
	decision := approval.Decision{By: approval.Server, At: time.Now(), Reason: reason}
	_, err = p.Env.State.Approvals().Decide(c.frame.Context, a.ID, false, decision)
	if err == nil || errors.As(err, new(*approval.DecidedError)) {
		return errSameKeyStarted
	}
	return err
}

// recordApproved stores in the approval of an operator what the call came to that has used it. Interim is the outcome
// of a call that continues later; empty for one that has ended.
func (c *call) recordApproved(ctx context.Context, failed *failure.Failure, interim string) {
	a := c.approval
	if a == nil || a.Record == nil || a.Record.ID == "" || a.Stage != approvalComplete || interim != "" {
		return
	}
	call := approval.Call{Outcome: c.outcome(ctx, failed, ""), At: time.Now().UTC().Truncate(time.Millisecond)}
	if failed != nil {
		call.Message = cutMessage(c.hideInputs(failed.Message))
	} else if f := c.result.Failures; f.Failed > 0 {
		call.Failed, call.Of, call.FailedStep = f.Failed, f.Of, f.Step
		call.FailedKey, call.Message = cutMessage(c.hideInputs(f.Key)), cutMessage(c.hideInputs(f.Error))
	}
	ctx, env := context.WithoutCancel(ctx), c.operation.Env
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
