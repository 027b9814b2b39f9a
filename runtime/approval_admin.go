package runtime

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"hatchel/hcl"
	"hatchel/runtime/approval"
	"hatchel/runtime/audit"
	"hatchel/runtime/call"
	"hatchel/runtime/mcp"
	"hatchel/runtime/policy"
)

// ApprovalAdmin lets one approver decide about calls, under the rules of one configuration. It belongs to one goroutine,
// which must close it.
type ApprovalAdmin struct {
	g         *Generation
	book      *approval.Book
	caller    *mcp.Caller
	frame     *hcl.Frame
	mayDecide map[string]bool // by tool, as far as that was evaluated
}

// ApprovalAdmin returns what a caller over HTTP decides with. The error is a ForbiddenError where nobody, or not this
// caller, may decide; any other is one of the state store.
func (h *Host) ApprovalAdmin(ctx context.Context, c *mcp.Caller) (*ApprovalAdmin, error) {
	g, err := h.admit(ctx, c)
	if err != nil {
		return nil, err
	}
	d := &ApprovalAdmin{g: g, caller: c, mayDecide: map[string]bool{}}
	if err = d.open(ctx); err != nil {
		g.leave()
		return nil, err
	}
	return d, nil
}

// ForbiddenError is why a caller may not decide, in a sentence for them.
type ForbiddenError struct{ Why string }

func (f *ForbiddenError) Error() string { return f.Why }

const (
	noApprovers = `The configuration of this server does not say who decides, so nobody does over HTTP. Declare it, as in: ` +
		`approvals { allow = "'approvers' in caller.groups" }, with an auth block. On the server's machine, decide with ` +
		`hatchel approvals`
	unknownApprover = "You are not authenticated, and a decision needs the name of its approver"
	toolNotServed   = "The tool of this call is not served any more, so nobody may decide about it"
	notApprover     = "You may not decide about calls of this tool"
	ownCall         = "This call is your own, and somebody else has to decide about it"
)

func (d *ApprovalAdmin) open(ctx context.Context) (err error) {
	switch {
	case d.g.Config.Approvals == nil:
		return &ForbiddenError{noApprovers}
	case d.caller.Subject == "":
		return &ForbiddenError{unknownApprover}
	}
	d.frame = hcl.NewFrame(ctx, d.g.build.Dir, d.g.build.Now)
	d.frame.Caller = call.CallerRoot(d.caller)
	if err := d.g.build.State.watch(ctx); err != nil { // decisions of other processes are noticed from now on
		return err
	}
	d.book, err = d.g.build.State.Approvals(ctx)
	return err
}

// Close releases the configuration.
func (d *ApprovalAdmin) Close() { d.g.leave() }

// canDecide reports whether the caller may decide about calls of a tool. Nobody may for a tool that is not served, or when
// the rule fails.
func (d *ApprovalAdmin) canDecide(tool string) bool {
	if may, known := d.mayDecide[tool]; known {
		return may
	}
	p, ok := d.g.programs[tool]
	if ok {
		d.frame.Tool = policy.ToolRoot(p.Tool())
		var err error
		if ok, err = d.g.Config.Approvals.Allow.Eval(d.frame, nil); err != nil {
			d.g.log().LogAttrs(d.frame.Context, slog.LevelError, "approvals.allow failed, denying the decision",
				slog.String("tool", tool), slog.String("subject", d.caller.Subject),
				slog.String("error", d.g.env.Scrubber.Text(err.Error())))
			ok = false
		}
	}
	d.mayDecide[tool] = ok
	return ok
}

// canDecideAny reports whether the caller may decide about calls of any tool.
func (d *ApprovalAdmin) canDecideAny() bool {
	for name := range d.g.programs {
		if d.canDecide(name) {
			return true
		}
	}
	return false
}

// How many approvals are read from the store at once.
const (
	minListRead = 128
	maxListRead = 1024
)

// List passes the approvals that the caller may decide about to each, in parts, and returns where the next list begins, as
// approval.Book.List does. Calls of the caller are left out. An error of each ends the list.
func (d *ApprovalAdmin) List(
	ctx context.Context, q approval.ListQuery, each func([]*approval.Entry) error,
) (next string, err error) {
	if !d.canDecideAny() {
		return "", nil
	}
	for left := q.Limit; ; {
		q.Limit = min(max(left, minListRead), maxListRead)
		page, more, err := d.book.List(ctx, q)
		if err != nil {
			return "", err
		}
		mine := page[:0]
		for i, e := range page {
			if e.Subject == d.caller.Subject || !d.canDecide(e.Tool) {
				continue
			}
			if mine = append(mine, e); len(mine) == left && (i < len(page)-1 || more != "") {
				return e.Cursor(), each(mine)
			}
		}
		left -= len(mine)
		if err := each(mine); err != nil || more == "" {
			return "", err
		}
		q.After = more
	}
}

// Find returns an approval by its ID. The error is approval.ErrUnknown, or a ForbiddenError.
func (d *ApprovalAdmin) Find(ctx context.Context, id string) (*approval.Approval, error) {
	a, err := d.book.Find(ctx, id)
	switch {
	case err != nil:
		return nil, err
	case a == nil:
		return nil, approval.ErrUnknown
	case d.g.programs[a.Tool] == nil:
		return nil, &ForbiddenError{toolNotServed}
	case !d.canDecide(a.Tool):
		return nil, &ForbiddenError{notApprover}
	}
	return a, nil
}

// Decide approves or rejects a call, and records that before it takes effect. It fails as Find and approval.Book.Decide do,
// with a ForbiddenError for a call of the caller, and with an UnrecordedDecisionError when the decision cannot be recorded
// and was not made.
func (d *ApprovalAdmin) Decide(
	ctx context.Context, id string, approved bool, reason string,
) (*approval.Approval, error) {
	a, err := d.Find(ctx, id)
	switch {
	case err != nil:
		return nil, err
	case a.Caller.Subject == d.caller.Subject:
		return nil, &ForbiddenError{ownCall}
	}
	decision := approval.Decision{By: d.caller.Subject, At: d.g.build.Now().UTC(), Reason: reason}
	if d.g.audit == nil && !a.Audited {
		return d.book.Decide(ctx, a.ID, approved, decision)
	}
	proposal := approval.Proposal{Approved: approved, Decision: decision}
	p, err := d.book.Propose(ctx, a.ID, proposal, d.g.env.Process.Name())
	if err != nil {
		return nil, err
	}
	return d.g.confirmDecision(ctx, d.book, p, d.g.env.AuditedCaller(d.caller))
}

// UnrecordedDecisionError is why a decision was not made: it cannot be recorded.
type UnrecordedDecisionError struct{ Cause error }

func (u *UnrecordedDecisionError) Error() string {
	return "Nothing was decided. This server makes no decision that it cannot write to its audit log, and the audit log is " +
		"unavailable at the moment. The server's log has the reason"
}

var errNoAudit = errors.New("the configuration has no audit block any more, and had one when the approval was requested")

// decisionRecord returns the record of a decision that is about to take effect.
func decisionRecord(p *approval.Proposal, by audit.Caller) audit.Record {
	a, decision := p.Approval, "rejected"
	if p.Approved {
		decision = "approved"
	}
	return audit.Record{
		Time: time.Now(), Event: audit.EventApproval, ID: a.ID, Kind: "tool", Name: a.Tool, Caller: by,
		Decision: decision, Rule: strings.Join(a.Rules, ", "), Revision: a.Revision,
		Approval: &audit.Approval{
			ID: a.ID, Asker: a.Caller.Subject, By: p.Decision.By, At: p.Decision.At, Reason: p.Decision.Reason,
			Rules: a.Rules,
		},
	}
}

// confirmDecision records a decision and makes it take effect. A decision that cannot be recorded is withdrawn.
func (g *Generation) confirmDecision(
	ctx context.Context, book *approval.Book, p *approval.Proposal, by audit.Caller,
) (*approval.Approval, error) {
	ctx = context.WithoutCancel(ctx) // once it is being recorded, the decision is made whoever waits for it
	err := errNoAudit
	if g.audit != nil {
		r := decisionRecord(p, by)
		err = g.audit.Append(&r, true)
	}
	if err != nil {
		g.env.LogAuditFailure(ctx, err)
		if _, failed := book.Withdraw(ctx, p); failed != nil {
			return nil, failed
		}
		return nil, &UnrecordedDecisionError{err}
	}
	return book.Confirm(ctx, p)
}

// recordDecision records a decision that was stored by a process without the audit log, unless another process does.
func (h *Host) recordDecision(ctx context.Context, book *approval.Book, id string) {
	h.withAuditLog(func(g *Generation) {
		p, err := book.Claim(ctx, id, g.env.Process.Name())
		if err == nil && p != nil {
			_, err = g.confirmDecision(ctx, book, p, audit.Caller{Subject: p.Decision.By})
		}
		if err != nil {
			g.log().LogAttrs(ctx, slog.LevelError, "approval decision not recorded",
				slog.String("approval", id), slog.String("error", g.env.Scrubber.Text(err.Error())))
		}
	})
}
