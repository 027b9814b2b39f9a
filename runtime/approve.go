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
	"hatchel/runtime/state"
)

// errUsed is why a call that holds its key does not go on: another has used the approval in the meantime.
var errUsed = errors.New("the approval was used by another call")

// approved begins what is agreed to, and uses up what an operator has approved. It reports false when another call has used it.
func (p *Program) approved(c *call) (bool, error) {
	if n := c.consent; n.stage != consentGiven {
		if used, err := p.use(c); !used || err != nil {
			return false, err
		}
		n.stage = consentGiven
	}
	if len(p.stages) == 0 {
		c.frame.Context = &computing{c.computing.Context, time.Now().Add(p.decl.Timeout), c}
	}
	return true, p.become(c)
}

// agree waits until all that is needed is agreed to. The user of the client goes first, so that no operator is asked for what they would not have.
func (p *Program) agree(c *call) error {
	n := c.consent
	if n.agreed() {
		return nil
	}
	if decide := approverOf(c.frame.Context); decide != nil {
		return p.decideByHand(c, decide)
	}
	if len(n.caller) > 0 && (n.stage == consentOpen || n.stage == consentAsked) {
		if err := p.confirm(c); err != nil {
			return err
		}
		n.stage = consentAgreed
	}
	if len(n.operator) == 0 {
		n.stage = consentGiven
		return nil
	}
	for n.given == nil { // another call may use what is approved before this one does
		if err := p.operated(c); err != nil {
			return err
		}
	}
	return nil
}

// errBegun is why a call with a key asks nobody: one with the same key has begun, or has used what was approved.
var errBegun = errors.New("a call with the same key has begun")

// operated waits for an operator.
func (p *Program) operated(c *call) error {
	a, isNew, err := p.open(c)
	if err != nil {
		return err
	}
	begun, err := p.begun(c, a, isNew)
	switch {
	case err != nil:
		return err
	case begun:
		return errBegun
	case a.Status == approval.Pending:
		p.notify(c, a)
	}
	if a.Status == approval.Pending {
		if c.floats {
			c.consent.stage, c.consent.given = consentWaiting, nil
			c.consent.patience = time.Until(a.Until)
			return errBecomesTask
		}
		if a, err = p.wait(c, a); err != nil {
			return err
		}
	}
	c.consent.record = recordOf(a)
	switch a.Status {
	case approval.Approved:
		c.consent.given = a
		return nil
	case approval.Used:
		if c.consent.begun != nil {
			return errBegun
		}
		return nil // by another call, so it is asked again
	case approval.Void:
		if p.stands(c) {
			return nil // for another process, so it is asked again
		}
		return p.overtaken()
	case approval.Rejected:
		return rejected(p.generation.scrubber.sentence(a.Decision.Reason))
	}
	return refusal("This call needed the approval " + a.ID + ", and nobody gave it in time. Nothing was done.")
}

func rejected(reason string) error {
	if reason = strings.TrimSpace(reason); reason == "" {
		return refusal("This call needed an approval, and it was rejected. Nothing was done.")
	}
	return refusal("This call needed an approval, and it was rejected: " + reason + "\nNothing was done.")
}

// open finds the approval that a call like this waits for, or has been given, or asks for one.
func (p *Program) open(c *call) (a *approval.Approval, isNew bool, err error) {
	book, err := p.generation.build.State.approvals(c.frame.Context)
	if err != nil {
		return nil, false, err
	}
	of, err := p.approvalPurpose(c)
	if err != nil {
		return nil, false, c.broken(err)
	}
	r, err := p.request(c, c.consent.operator)
	if err != nil {
		return nil, false, err
	}
	c.consent.of = of
	a, isNew, err = book.Open(c.frame.Context, of, *r)
	switch {
	case errors.Is(err, approval.ErrShare):
		return nil, false, &tooMany{fmt.Sprintf("This call needs an approval, and %d calls of the same caller wait for theirs already, which is as many as may. Nothing was done. Try again when some of them are decided, and ask for nothing else until then.", approval.MostOfCaller), time.Minute}
	case errors.Is(err, approval.ErrCrowded):
		return nil, false, &tooMany{"This call needs an approval, and on this server too many calls of other callers wait for theirs already. Nothing was done. Try again later.", time.Minute}
	case errors.Is(err, state.ErrFull):
		return nil, false, &adapters.Fault{Message: "the call needs an approval, and the server remembers too much to remember one more. Nothing was done; try again later", Cause: err, Untouched: true}
	case err != nil:
		return nil, false, c.why(ofState(err))
	}
	return a, isNew, nil
}

// begun reports whether a call with the same key has begun. It may have used what was approved, so that this one has asked again for nothing: that is taken back.
func (p *Program) begun(c *call, a *approval.Approval, isNew bool) (bool, error) {
	if c.consent.begun == nil {
		return false, nil
	}
	begun, err := c.consent.begun()
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

// become lets those with the same key find the task that does the work, once nothing stands in its way.
func (p *Program) become(c *call) error {
	if c.consent.task == "" || c.claim == nil || !c.claim.held {
		return nil
	}
	c.claim.deed.Task = c.consent.task
	return c.claim.settle(c.frame.Context, deedTask)
}

// use uses up what an operator has approved, and reports whether it was there to be used.
func (p *Program) use(c *call) (bool, error) {
	n := c.consent
	if n.given == nil {
		return false, nil
	}
	a := n.given
	n.given = nil
	if !p.stands(c) {
		return false, p.overtaken()
	}
	book, err := p.generation.build.State.approvals(c.frame.Context)
	if err != nil {
		return false, err
	}
	used, err := book.Use(c.frame.Context, a)
	if err != nil {
		return false, c.why(err)
	}
	if used {
		n.used = a
	}
	return used, nil
}

// giveBack lets the same call made again use what this one has used up, and done nothing with.
func (p *Program) giveBack(c *call) {
	if c.consent == nil || c.consent.used == nil {
		return
	}
	ctx := context.WithoutCancel(c.frame.Context)
	book, err := p.generation.build.State.approvals(ctx)
	if err == nil {
		_, err = book.Return(ctx, c.consent.of, c.consent.used)
	}
	if err != nil {
		p.generation.log().LogAttrs(ctx, slog.LevelWarn, "an approval is used up, and nothing was done", slog.String("approval", c.consent.used.ID), slog.String("error", p.generation.scrubber.sentence(err.Error())))
	}
	c.consent.used = nil
}

func recordOf(a *approval.Approval) *audit.Approval {
	r := &audit.Approval{ID: a.ID, Rules: a.Rules}
	if d := a.Decision; d != nil {
		r.By, r.At, r.Reason = d.By, d.At, d.Reason
	}
	return r
}
