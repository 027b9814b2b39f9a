package runtime

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"hatchel/runtime/approval"
	"hatchel/runtime/audit"
)

// UnrecordedDecisionError reports that a decision was not made, because it could not be recorded.
type UnrecordedDecisionError struct{ Cause error }

func (u *UnrecordedDecisionError) Error() string {
	return "Nothing was decided, because the server cannot write its audit log. The server's log has the reason"
}

var errNoAudit = errors.New("the configuration had an audit block when the approval was requested, and has none now")

// decisionRecord returns the audit record of a proposed decision.
func decisionRecord(p *approval.Proposal, by audit.Caller) audit.Record {
	a, decision := p.Approval, "rejected"
	if p.Approved {
		decision = "approved"
	}
	return audit.Record{
		Time: time.Now(), Event: audit.EventApproval, ID: a.ID, Kind: "tool", Name: a.Tool, Caller: by,
		Decision: decision, Rule: strings.Join(a.Rules, ", "), Revision: a.Revision,
		Approval: &audit.Approval{
			ID: a.ID, Asker: a.Caller.Subject, Rules: a.Rules,
			By: p.Decision.By, At: p.Decision.At, Reason: p.Decision.Reason,
		},
	}
}

// confirmDecision records a decision and makes it effective. A decision that cannot be recorded is withdrawn.
func (g *Generation) confirmDecision(
	ctx context.Context, book *approval.Book, p *approval.Proposal, by audit.Caller,
) (*approval.Approval, error) {
	ctx = context.WithoutCancel(ctx) // a recorded decision must become effective
	err := errNoAudit
	if g.audit != nil {
		r := decisionRecord(p, by)
		err = g.audit.Append(&r, true)
	}
	if err != nil {
		g.logAuditFailure(ctx, err)
		if _, failed := book.Withdraw(ctx, p); failed != nil {
			return nil, failed
		}
		return nil, &UnrecordedDecisionError{err}
	}
	return book.Confirm(ctx, p)
}

// recordDecision records the stored decision of another process, unless a third one does.
func (h *Host) recordDecision(ctx context.Context, book *approval.Book, id string) {
	h.withAuditLog(func(g *Generation) {
		p, err := book.Claim(ctx, id, h.build.State.tasks.owner)
		if err == nil && p != nil {
			_, err = g.confirmDecision(ctx, book, p, audit.Caller{Subject: p.Decision.By})
		}
		if err != nil {
			g.log().LogAttrs(ctx, slog.LevelError, "approval decision failed",
				slog.String("approval", id), slog.String("error", g.scrubber.Text(err.Error())))
		}
	})
}
