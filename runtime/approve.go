package runtime

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"hatchel/adapters"
	"hatchel/runtime/approval"
	"hatchel/runtime/audit"
	"hatchel/runtime/failure"
	"hatchel/runtime/limit"
	"hatchel/runtime/state"
)

// errApprovalUsed is why a call that holds its key does not go on: another has used the approval in the meantime.
var errApprovalUsed = errors.New("the approval was used by another call")

// useApproval begins what is agreed to, and uses up what an operator has approved. It reports false when another call has used it.
func (p *Program) useApproval(c *call) (bool, error) {
	if n := c.approval; n.stage != approvalComplete {
		if used, err := p.consumeApproval(c); !used || err != nil {
			return false, err
		}
		n.stage = approvalComplete
	}
	if len(p.steps) == 0 {
		c.frame.Context = &computeContext{c.computeCtx.Context, time.Now().Add(p.decl.Timeout), c}
	}
	return true, p.bindTask(c)
}

// awaitApprovals waits until all that is needed is agreed to. The user of the client goes first, so that no operator is asked for what they would not have.
func (p *Program) awaitApprovals(c *call) error {
	n := c.approval
	if n.isComplete() {
		return nil
	}
	if decide := approverFrom(c.frame.Context); decide != nil {
		return p.askApprover(c, decide)
	}
	if len(n.callerRules) > 0 && (n.stage == approvalOpen || n.stage == approvalAsked) {
		if err := p.askUser(c); err != nil {
			return err
		}
		n.stage = approvalConfirmed
	}
	if len(n.operatorRules) == 0 {
		n.stage = approvalComplete
		return nil
	}
	for n.given == nil { // another call may use what is approved before this one does
		if err := p.awaitOperator(c); err != nil {
			return err
		}
	}
	return nil
}

// errSameKeyStarted is why a call with a key asks nobody: one with the same key has begun, or has used what was approved.
var errSameKeyStarted = errors.New("a call with the same key has begun")

// awaitOperator waits for an operator.
func (p *Program) awaitOperator(c *call) error {
	a, isNew, err := p.openApproval(c)
	if err != nil {
		return err
	}
	begun, err := p.sameKeyStarted(c, a, isNew)
	switch {
	case err != nil:
		return err
	case begun:
		return errSameKeyStarted
	case a.Status == approval.Pending:
		p.enqueueApprovalEvents(c, a)
	}
	if a.Status == approval.Pending {
		if c.mayBecomeTask {
			c.approval.stage, c.approval.given = approvalWaiting, nil
			c.approval.maxWait = time.Until(a.Until)
			return errBecomesTask
		}
		if a, err = p.waitForDecision(c, a); err != nil {
			return err
		}
	}
	c.approval.record = auditApproval(a)
	switch a.Status {
	case approval.Approved:
		c.approval.given = a
		return nil
	case approval.Used:
		if c.approval.sameKeyStarted != nil {
			return errSameKeyStarted
		}
		return nil // by another call, so it is asked again
	case approval.Void:
		if p.stillValid(c) {
			return nil // for another process, so it is asked again
		}
		return p.supersededError()
	case approval.Rejected:
		return rejectionError(p.generation.scrubber.Text(a.Decision.Reason))
	}
	return failure.Refusal("This call needed the approval " + a.ID + ", and nobody gave it in time. Nothing was done.")
}

func rejectionError(reason string) error {
	if reason = strings.TrimSpace(reason); reason == "" {
		return failure.Refusal("This call needed an approval, and it was rejected. Nothing was done.")
	}
	return failure.Refusal("This call needed an approval, and it was rejected: " + reason + "\nNothing was done.")
}

// openApproval finds the approval that a call like this waits for, or has been given, or asks for one.
func (p *Program) openApproval(c *call) (a *approval.Approval, isNew bool, err error) {
	book, err := p.generation.build.State.approvals(c.frame.Context)
	if err != nil {
		return nil, false, err
	}
	of, err := p.approvalFingerprint(c)
	if err != nil {
		return nil, false, c.evalError(err)
	}
	r, err := p.approvalRequest(c, c.approval.operatorRules)
	if err != nil {
		return nil, false, err
	}
	c.approval.fingerprint = of
	a, isNew, err = book.Open(c.frame.Context, of, *r)
	switch {
	case errors.Is(err, approval.ErrShare):
		return nil, false, &limit.Error{Message: fmt.Sprintf("This call needs an approval, and %d calls of the same caller wait for theirs already, which is as many as may. Nothing was done. Try again when some of them are decided, and ask for nothing else until then.", approval.MostOfCaller), RetryAfter: time.Minute}
	case errors.Is(err, approval.ErrCrowded):
		return nil, false, &limit.Error{Message: "This call needs an approval, and on this server too many calls of other callers wait for theirs already. Nothing was done. Try again later.", RetryAfter: time.Minute}
	case errors.Is(err, state.ErrFull):
		return nil, false, &adapters.Fault{Message: "the call needs an approval, and the server remembers too much to remember one more. Nothing was done; try again later", Cause: err, Untouched: true}
	case err != nil:
		return nil, false, c.contextCause(failure.StateError(err))
	}
	return a, isNew, nil
}

// sameKeyStarted reports whether a call with the same key has begun. It may have used what was approved, so that this one has asked again for nothing: that is taken back.
func (p *Program) sameKeyStarted(c *call, a *approval.Approval, isNew bool) (bool, error) {
	if c.approval.sameKeyStarted == nil {
		return false, nil
	}
	begun, err := c.approval.sameKeyStarted()
	if err != nil || !begun || !isNew {
		return begun, err
	}
	book, err := p.generation.build.State.approvals(c.frame.Context)
	if err == nil {
		_, err = book.Decide(c.frame.Context, a.ID, false, approval.Decision{By: "server", At: time.Now(), Reason: "the call was made already, with the same key"})
	}
	if errors.As(err, new(*approval.AlreadyError)) {
		err = nil
	}
	return true, err
}

// bindTask lets those with the same key find the task that does the work, once nothing stands in its way.
func (p *Program) bindTask(c *call) error {
	if c.approval.task == "" || c.claim == nil || !c.claim.held {
		return nil
	}
	c.claim.record.Task = c.approval.task
	return c.claim.finish(c.frame.Context, keyTask)
}

// consumeApproval uses up what an operator has approved, and reports whether it was there to be used.
func (p *Program) consumeApproval(c *call) (bool, error) {
	n := c.approval
	if n.given == nil {
		return false, nil
	}
	a := n.given
	n.given = nil
	if !p.stillValid(c) {
		return false, p.supersededError()
	}
	book, err := p.generation.build.State.approvals(c.frame.Context)
	if err != nil {
		return false, err
	}
	used, err := book.Use(c.frame.Context, a)
	if err != nil {
		return false, c.contextCause(err)
	}
	if used {
		n.used = a
	}
	return used, nil
}

// restoreApproval lets the same call made again use what this one has used up, and done nothing with.
func (p *Program) restoreApproval(c *call) {
	if c.approval == nil || c.approval.used == nil {
		return
	}
	ctx := context.WithoutCancel(c.frame.Context)
	book, err := p.generation.build.State.approvals(ctx)
	if err == nil {
		_, err = book.Return(ctx, c.approval.fingerprint, c.approval.used)
	}
	if err != nil {
		p.generation.log().LogAttrs(ctx, slog.LevelWarn, "an approval is used up, and nothing was done", slog.String("approval", c.approval.used.ID), slog.String("error", p.generation.scrubber.Text(err.Error())))
	}
	c.approval.used = nil
}

func auditApproval(a *approval.Approval) *audit.Approval {
	r := &audit.Approval{ID: a.ID, Rules: a.Rules}
	if d := a.Decision; d != nil {
		r.By, r.At, r.Reason = d.By, d.At, d.Reason
	}
	return r
}
