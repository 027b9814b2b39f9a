package operator

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync"

	"hatchel/hcl/eventkind"
	"hatchel/runtime/durable/audit"
	"hatchel/runtime/durable/store"
	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/edge/served"
	"hatchel/runtime/observe/event"
	"hatchel/runtime/stage/approval"
)

const unrecordedDecision = "Nothing was decided, because the server cannot write its audit log. The server's log has " +
	"the reason"

var errNoAudit = errors.New("the configuration had an audit block when the approval was requested, and has none now")

// decisionRecord returns the audit record of the decision that is proposed for an approval.
func decisionRecord(a *approval.Approval, by audit.Caller) *audit.Record {
	p, decision := a.Proposal, "rejected"
	if p.Approved {
		decision = "approved"
	}
	r := audit.NewRecord(audit.EventApproval,
		audit.Common{ID: a.ID, Kind: "tool", Name: a.Tool, Caller: by, Revision: a.Revision})
	r.Decision, r.Rule = decision, strings.Join(a.Rules, ", ")
	r.Approval = &audit.Approval{
		ID: a.ID, Requester: a.Caller.Subject, Rules: a.Rules, By: p.By, At: p.At, Reason: p.Reason, Digest: p.Digest,
	}
	return r
}

// confirmDecision records the decision that is proposed for an approval and makes it effective. A
// decision that cannot be recorded is withdrawn.
func confirmDecision(
	ctx context.Context, g *served.Served, approvals *approval.Store, a *approval.Approval, by audit.Caller,
) (*approval.Approval, error) {
	ctx = context.WithoutCancel(ctx) // a recorded decision must become effective
	err := errNoAudit
	if g.Audit != nil {
		err = g.Audit.Append(decisionRecord(a, by), true)
	}
	if err != nil {
		g.Env.LogAuditFailure(ctx, err)
		if failed := approvals.Withdraw(ctx, a); failed != nil {
			return nil, failed
		}
		return nil, &served.UnrecordedError{Message: unrecordedDecision, Cause: err}
	}
	return approvals.Confirm(ctx, a)
}

// RecordDecisions implements store.Observer. It records the decision of an approval that another process has stored, or
// those of all approvals when the ID is empty, unless a third process does.
func (o *Operator) RecordDecisions(ctx context.Context, approvals *approval.Store, id string) {
	o.withAuditLog(func(g *served.Served) {
		ids := []string{id}
		if id == "" {
			ids, _ = approvals.Unclaimed(ctx) // the next change or start tries again
		}
		for _, id := range ids {
			a, err := approvals.Claim(ctx, id)
			if err == nil && a != nil {
				a.Proposal.Reason = g.Env.Scrubber.Text(a.Proposal.Reason)
				_, err = confirmDecision(ctx, g, approvals, a, audit.Caller{Subject: a.Proposal.By})
			}
			if err != nil {
				g.Env.LogFailure(ctx, slog.LevelError, "approval decision failed", err, "approval", id)
			}
		}
	})
}

// decidedApprovals are the latest approvals whose decision was published, or is being published.
type decidedApprovals struct {
	mu            sync.Mutex
	recent, older map[string]*sync.Once // by ID; guarded by mu
}

const maxDecidedApprovals = 4096

// find returns what publishes the decision of an approval.
func (d *decidedApprovals) find(id string) *sync.Once {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, known := range [...]map[string]*sync.Once{d.recent, d.older} {
		if once := known[id]; once != nil {
			return once
		}
	}
	if d.recent == nil || len(d.recent) >= maxDecidedApprovals {
		d.recent, d.older = map[string]*sync.Once{}, d.recent
	}
	d.recent[id] = new(sync.Once)
	return d.recent[id]
}

// ApprovalChanged implements store.Observer. It publishes the decision of an approval that was changed.
func (o *Operator) ApprovalChanged(approvals *approval.Store, id string) {
	if !o.server.Configuration().Env.Events.Wants(eventkind.ApprovalDecided) {
		return
	}
	o.State.Process.Go(func(ctx context.Context) {
		if a, err := approvals.Find(ctx, id); err == nil && a != nil && a.IsDecided() {
			o.PublishDecision(ctx, a)
		}
	})
}

// PublishDecision implements store.Observer. It publishes the decision of an approval once.
func (o *Operator) PublishDecision(ctx context.Context, a *approval.Approval) {
	p := o.server.Configuration().Env.Events
	if !p.Wants(eventkind.ApprovalDecided) {
		return
	}
	body, err := store.DecidedApproval(a).AppendJSON(nil)
	if err != nil {
		return
	}
	m := event.Meta{Kind: eventkind.ApprovalDecided, Operation: "tool", Name: a.Tool, Subject: a.Caller.Subject,
		Owner: (&mcp.Identity{Key: a.Caller.Key, Subject: a.Caller.Subject}).Owner()}
	if a.Caller.Key == "" {
		m.Owner = a.Caller.Subject
	}
	o.published.find(a.ID).Do(func() {
		p.Publish(ctx, m, event.Member{Name: "tool", Value: a.Tool},
			event.Member{Name: "approval", Value: json.RawMessage(body)})
	})
}
