package runtime

import (
	"context"

	"hatchel/runtime/approval"
	"hatchel/runtime/audit"
	"hatchel/runtime/failure"
)

// Approver decides about a call in the place of those who would be asked.
type Approver func(ctx context.Context, r *approval.Request) (approved bool, by approval.Decision, err error)

type approverKey struct{}

// WithApprover has the calls that are made with the context ask somebody who is there: who operates the server, and calls a tool of it by hand.
func WithApprover(ctx context.Context, decide Approver) context.Context {
	return context.WithValue(ctx, approverKey{}, decide)
}

func approverFrom(ctx context.Context) Approver {
	decide, _ := ctx.Value(approverKey{}).(Approver)
	return decide
}

// askApprover has who is there decide for everybody who would be asked.
func (p *Program) askApprover(c *call, decide Approver) error {
	n := c.approval
	r, err := p.approvalRequest(c, n.rules())
	if err != nil {
		return err
	}
	approved := false
	var by approval.Decision
	err = p.runWhileWaiting(c, nil, func(ctx context.Context, _ context.CancelCauseFunc) (err error) {
		approved, by, err = decide(ctx, r)
		return err
	})
	if err != nil {
		return failure.Refusal(err.Error())
	}
	n.record = &audit.Approval{By: by.By, At: by.At, Reason: by.Reason, Rules: r.Rules}
	if !approved {
		return rejectionError(by.Reason)
	}
	n.stage = approvalComplete
	return nil
}
