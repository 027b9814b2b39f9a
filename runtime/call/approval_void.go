package call

import (
	"context"
	"log/slog"

	"hatchel/internal/digest"
	"hatchel/runtime/stage/approval"
)

// A reload voids the pending approvals of tools whose definition has changed, and ends the calls
// that wait for them. Each process voids what it has asked for itself: another process may still
// serve the definition that an approval is for, and there a waiting call asks anew.

// Why an approval is void, for approvers.
const (
	reasonChanged = "the configuration of the tool was changed, so the requested call can no longer be made"
	reasonRemoved = "the tool was removed"
)

// approvalSeal marks the approvals that this process requests for calls of the tool as it is
// configured.
func (p *Program) approvalSeal() string {
	return digest.Of("seal", p.Env.Process.Name(), p.Decl.Name, p.approvalDigest).String()
}

// VoidFilter returns which approvals that this process has requested become void when another
// program, nil for none, is served in place of this one. Changed is false when all stay valid.
func (p *Program) VoidFilter(next *Program) (filter approval.VoidFilter, changed bool) {
	switch {
	case len(p.Approvals) == 0, next == p, next != nil && next.approvalDigest == p.approvalDigest:
		return approval.VoidFilter{}, false
	case next == nil:
		return approval.VoidFilter{Seal: p.approvalSeal(), Reason: reasonRemoved}, true
	}
	return approval.VoidFilter{Seal: p.approvalSeal(), Reason: reasonChanged}, true
}

// voidApproval voids the approval that a call has waited for, if this process has requested it and
// it is not valid now.
func (p *Program) voidApproval(ctx context.Context, a *approval.Approval) {
	serving, _ := p.Env.Generation.Serving(p.Decl.Name, nil)
	filter, changed := p.VoidFilter(serving)
	if !changed || a.Seal != filter.Seal {
		return
	}
	ctx = context.WithoutCancel(ctx)
	if _, err := p.Env.State.Approvals().Void(ctx, a.ID, filter.Reason); err != nil {
		p.Env.LogVoidFailure(ctx, err)
	}
}

// LogVoidFailure logs that approvals stay pending until they expire, although they are no longer
// valid.
func (e *Environment) LogVoidFailure(ctx context.Context, err error) {
	e.LogFailure(ctx, slog.LevelWarn, "outdated approvals not voided, they stay pending until they expire", err)
}
