package runtime

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"

	"hatchel/runtime/approval"
	"hatchel/runtime/webhook"
)

// ofApproval is what an event about an approval is about.
const ofApproval = "approval:"

// decisionEventID is the id of the event that an approval was decided.
func decisionEventID(id string) string { return id + "-decided" }

// enqueueApprovalEvents tells the webhooks of the rules that somebody must decide, and has them told what becomes of that: once, however many calls wait for it. The approval stands whether they can be told or not.
func (p *Program) enqueueApprovalEvents(c *call, a *approval.Approval) {
	var names []string
	for _, r := range c.approval.operatorRules {
		for _, name := range r.decl.Notify {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	if len(names) == 0 {
		return
	}
	body, err := a.AppendJSON(nil)
	if err == nil {
		err = p.generation.enqueueEvent(context.WithoutCancel(c.frame.Context), names, a.ID, "approval.requested", json.RawMessage(body))
	}
	if err == nil {
		err = p.generation.enqueueDecisionEvents(context.WithoutCancel(c.frame.Context), names, a)
	}
	if err != nil {
		p.generation.log().LogAttrs(c.frame.Context, slog.LevelError, "webhooks cannot be told of an approval", slog.String("approval", a.ID), slog.String("error", p.generation.scrubber.Text(err.Error())))
	}
}

// enqueueDecisionEvents remembers that webhooks are to be told what becomes of an approval, whoever decides, in whatever process, and whether or not anybody waits for it then.
func (g *Generation) enqueueDecisionEvents(ctx context.Context, names []string, a *approval.Approval) error {
	return g.enqueue(ctx, names, &webhook.Event{ID: decisionEventID(a.ID), Of: ofApproval + a.ID, By: a.Until})
}

// approvalEvent is the event that an approval was decided, or that nobody has decided in time, if it was.
func (s *State) approvalEvent(ctx context.Context, id string) (*webhook.Event, bool, error) {
	book, err := s.approvals(ctx)
	if err != nil {
		return nil, false, err
	}
	a, err := book.Find(ctx, id)
	if err != nil || a == nil {
		return nil, err == nil, err
	}
	at, told := a.Until, *a
	switch {
	case a.Status == approval.Pending:
		return nil, false, nil
	case a.Decision == nil:
		told.Status = approval.Expired
	case a.Status != approval.Rejected && a.Status != approval.Void:
		told.Status = approval.Approved // whether or not it was used
	}
	if a.Decision != nil {
		at = a.Decision.At
	}
	body, err := told.AppendJSON(nil)
	return &webhook.Event{ID: decisionEventID(id), Type: "approval.decided", At: at, Data: json.RawMessage(body)}, err == nil, err
}
