package call

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"time"

	"hatchel/hcl/eventkind"
	"hatchel/runtime/durable/webhook"
	"hatchel/runtime/stage/approval"
)

// ApprovalSubject is the prefix of the subject of an event about an approval, before its ID.
const ApprovalSubject = "approval:"

// DecisionEventID returns the ID of the event that an approval was decided.
func DecisionEventID(id string) string { return id + "-decided" }

// PublicationSubject is the prefix of the subject of a delivery that has no event of its own, before the ID of an
// approval. It makes the process that resolves it publish the decision for hooks, whichever process was killed before.
const PublicationSubject = "approval-published:"

// PublicationID returns the ID of the delivery with a PublicationSubject.
func PublicationID(id string) string { return id + "-published" }

// enqueueApprovalEvents stores the events for the webhooks of the rules that an approval is requested and, later,
// decided, and that the decision is to be published for hooks: once, however many calls wait for it. The approval is
// requested even when they cannot be stored.
func (p *Program) enqueueApprovalEvents(ctx context.Context, a *approval.Approval, rules []*ApprovalRule) {
	ctx = context.WithoutCancel(ctx)
	err := p.enqueueDecision(ctx, a, p.events.Webhooks(eventkind.ApprovalDecided),
		PublicationID(a.ID), PublicationSubject)
	if err == nil {
		err = p.enqueueNotifications(ctx, a, rules)
	}
	if err != nil {
		p.Env.LogFailure(ctx, slog.LevelError, "webhook events of an approval not stored", err, "approval", a.ID)
	}
}

// enqueueDecision stores for webhooks an event that is known when an approval is decided.
func (p *Program) enqueueDecision(
	ctx context.Context, a *approval.Approval, hooks []string, id, subject string,
) error {
	decided := &webhook.Event{ID: id, Subject: subject + a.ID, ResolvedBy: a.Deadline}
	for _, hook := range hooks {
		if err := p.Env.State.Enqueue(ctx, hook, decided); err != nil {
			return err
		}
	}
	return nil
}

func (p *Program) enqueueNotifications(
	ctx context.Context, a *approval.Approval, rules []*ApprovalRule,
) error {
	var hooks []string
	for _, r := range rules {
		hooks = append(hooks, r.decl.Notify...)
	}
	if len(hooks) == 0 {
		return nil
	}
	slices.Sort(hooks)
	hooks = slices.Compact(hooks)
	body, err := a.AppendJSON(nil)
	if err != nil {
		return err
	}
	data := json.RawMessage(p.Env.Scrubber.JSON(body))
	requested := &webhook.Event{ID: a.ID, Type: "approval.requested", At: time.Now(), Data: data}
	for _, hook := range hooks {
		if err := p.Env.State.Enqueue(ctx, hook, requested); err != nil {
			return err
		}
	}
	return p.enqueueDecision(ctx, a, hooks, DecisionEventID(a.ID), ApprovalSubject)
}
