package call

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"time"

	"hatchel/runtime/approval"
	"hatchel/runtime/digest"
	"hatchel/runtime/webhook"
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
func (p *Program) voidApproval(c *call, store *approval.Store, a *approval.Approval) {
	serving, _ := p.Env.Generation.Serving(p.Decl.Name, nil)
	filter, changed := p.VoidFilter(serving)
	if !changed || a.Seal != filter.Seal {
		return
	}
	ctx := context.WithoutCancel(c.frame.Context)
	if _, err := store.Void(ctx, a.ID, filter.Reason); err != nil {
		p.Env.LogVoidFailure(ctx, err)
	}
}

// LogVoidFailure logs that approvals stay pending until they expire, although they are no longer
// valid.
func (e *Environment) LogVoidFailure(ctx context.Context, err error) {
	e.Log.LogAttrs(ctx, slog.LevelWarn, "outdated approvals not voided, they stay pending until they expire",
		slog.String("error", e.Scrubber.Text(err.Error())))
}

// ApprovalSubject is the prefix of the subject of an event about an approval, before its ID.
const ApprovalSubject = "approval:"

// DecisionEventID returns the ID of the event that an approval was decided.
func DecisionEventID(id string) string { return id + "-decided" }

// enqueueApprovalEvents stores the events for the webhooks of the rules that an approval is
// requested and, later, decided: once, however many calls wait for it. The approval is requested
// even when they cannot be stored.
func (p *Program) enqueueApprovalEvents(c *call, a *approval.Approval) {
	var hooks []string
	for _, r := range c.approval.operatorRules {
		hooks = append(hooks, r.decl.Notify...)
	}
	if len(hooks) == 0 {
		return
	}
	slices.Sort(hooks)
	hooks = slices.Compact(hooks)
	body, err := a.AppendJSON(nil)
	data := json.RawMessage(p.Env.Scrubber.JSON(body))
	requested := &webhook.Event{ID: a.ID, Type: "approval.requested", At: time.Now(), Data: data}
	decided := &webhook.Event{ID: DecisionEventID(a.ID), Subject: ApprovalSubject + a.ID, ResolvedBy: a.Deadline}
	ctx := context.WithoutCancel(c.frame.Context)
	for _, e := range []*webhook.Event{requested, decided} {
		for _, hook := range hooks {
			if err == nil {
				err = p.Env.State.Enqueue(ctx, hook, e)
			}
		}
	}
	if err != nil {
		p.Env.Log.LogAttrs(ctx, slog.LevelError, "webhook events of an approval not stored",
			slog.String("approval", a.ID), slog.String("error", p.Env.Scrubber.Text(err.Error())))
	}
}
