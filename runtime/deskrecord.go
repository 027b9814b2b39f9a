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

// UnrecordedDecisionError is why a decision was not made: it cannot be written down.
type UnrecordedDecisionError struct{ Cause error }

func (u *UnrecordedDecisionError) Error() string {
	return "Nothing was decided. The server writes every decision down before it holds, and cannot do that at the moment. The server's log has the reason"
}

var errNoAudit = errors.New("the configuration has no audit block any more, and had one when approval was asked for")

// DecisionRecord is the record of a decision that is about to hold.
func DecisionRecord(p *approval.Proposal, by audit.Caller) audit.Record {
	a, decision := p.Approval, "rejected"
	if p.Approved {
		decision = "approved"
	}
	return audit.Record{
		Time: time.Now(), Event: audit.EventApproval, ID: a.ID, Kind: "tool", Name: a.Tool, Caller: by,
		Decision: decision, Rule: strings.Join(a.Rules, ", "), Revision: a.Revision,
		Approval: &audit.Approval{ID: a.ID, Asker: a.Caller.Subject, By: p.Decision.By, At: p.Decision.At, Reason: p.Decision.Reason, Rules: a.Rules},
	}
}

// confirmDecision writes a decision down, and makes it hold; one that cannot be written down is not made.
func (g *Generation) confirmDecision(ctx context.Context, book *approval.Book, p *approval.Proposal, by audit.Caller) (*approval.Approval, error) {
	ctx = context.WithoutCancel(ctx) // what has begun to be written down is decided, whether or not somebody waits
	err := errNoAudit
	if g.audit != nil {
		r := DecisionRecord(p, by)
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

// recordDecision writes down what somebody decides who cannot write it down, unless another process does.
func (h *Host) recordDecision(ctx context.Context, book *approval.Book, id string) {
	h.withAuditLog(func(g *Generation) {
		p, err := book.Claim(ctx, id, h.build.State.tasks.owner)
		if err == nil && p != nil {
			_, err = g.confirmDecision(ctx, book, p, audit.Caller{Subject: p.Decision.By})
		}
		if err != nil {
			g.log().LogAttrs(ctx, slog.LevelError, "a decision is not made", slog.String("approval", id), slog.String("error", g.scrubber.Text(err.Error())))
		}
	})
}
