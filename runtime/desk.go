package runtime

import (
	"context"
	"log/slog"

	"hatchel/hcl"
	"hatchel/runtime/approval"
	"hatchel/runtime/mcp"
	"hatchel/runtime/policy"
)

// ApprovalAdmin is where one caller decides about the calls of others, as one configuration says who may. It belongs to one goroutine; who has one closes it.
type ApprovalAdmin struct {
	g         *Generation
	book      *approval.Book
	caller    *mcp.Caller
	frame     *hcl.Frame
	mayDecide map[string]bool // about the calls of which tools the caller may decide, as far as that was asked
}

// ApprovalAdmin is the desk of a caller over HTTP. The error is Forbidden where nobody, or not this caller, decides; what else fails is the store.
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

// ForbiddenError is why a caller does not decide, in a sentence for them.
type ForbiddenError struct{ Why string }

func (f *ForbiddenError) Error() string { return f.Why }

func newForbiddenError(why string) error { return &ForbiddenError{why} }

func (d *ApprovalAdmin) open(ctx context.Context) (err error) {
	switch {
	case d.g.Config.Approvals == nil:
		return newForbiddenError(`The configuration of this server does not say who decides, so nobody does over HTTP. Write it, as in: approvals { allow = "'approvers' in caller.groups" }, beside an auth block. On the server's machine hatchel approvals decides`)
	case d.caller.Subject == "":
		return newForbiddenError("Nobody knows who you are, and a decision has a name")
	}
	d.frame = hcl.NewFrame(ctx, d.g.build.Dir, d.g.build.Now)
	d.frame.Caller = callerRoot(d.caller)
	// What other processes decide is heard from now on, too.
	if err := d.g.build.State.tasks.startHeartbeat(ctx); err != nil {
		return err
	}
	d.book, err = d.g.build.State.approvals(ctx)
	return err
}

// Close lets the configuration go.
func (d *ApprovalAdmin) Close() { d.g.leave() }

// canDecide reports whether the caller may decide about calls of a tool. About one that is there no more nobody decides, nor where that cannot be computed.
func (d *ApprovalAdmin) canDecide(tool string) bool {
	if may, asked := d.mayDecide[tool]; asked {
		return may
	}
	p, ok := d.g.programs[tool]
	if ok {
		d.frame.Tool = policy.ToolRoot(p.tool)
		var err error
		if ok, err = d.g.Config.Approvals.Allow.Eval(d.frame, nil); err != nil {
			d.g.log().LogAttrs(d.frame.Context, slog.LevelError, "approvals.allow cannot be computed, so the caller does not decide", slog.String("tool", tool), slog.String("subject", d.caller.Subject), slog.String("error", d.g.scrubber.Text(err.Error())))
			ok = false
		}
	}
	d.mayDecide[tool] = ok
	return ok
}

// canDecideAny reports whether there is a tool about whose calls the caller may decide.
func (d *ApprovalAdmin) canDecideAny() bool {
	for name := range d.g.programs {
		if d.canDecide(name) {
			return true
		}
	}
	return false
}

// How many approvals are read from the store at once: the store has other things to do, too.
const (
	smallRead = 128
	largeRead = 1024
)

// List gives those approvals about which the caller may decide to each, a part after the other, and returns where the next list goes on, as approval.Book.List does. Calls of the
// caller's own are left out. An error of each ends it. For who decides about nothing, nothing is read.
func (d *ApprovalAdmin) List(ctx context.Context, q approval.ListQuery, each func([]*approval.Entry) error) (next string, err error) {
	if !d.canDecideAny() {
		return "", nil
	}
	for left := q.Limit; ; {
		q.Limit = min(max(left, smallRead), largeRead)
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

// Find is an approval by its ID. The error is approval.ErrUnknown, or Forbidden.
func (d *ApprovalAdmin) Find(ctx context.Context, id string) (*approval.Approval, error) {
	a, err := d.book.Find(ctx, id)
	switch {
	case err != nil:
		return nil, err
	case a == nil:
		return nil, approval.ErrUnknown
	case d.g.programs[a.Tool] == nil:
		return nil, newForbiddenError("The tool of this call is not served any more, so nobody decides about it")
	case !d.canDecide(a.Tool):
		return nil, newForbiddenError("You may not decide about calls of this tool")
	}
	return a, nil
}

// Decide approves or rejects, and has that written down before it holds, if decisions are. It fails as Find and as approval.Book.Decide do, with Forbidden for a call of
// the caller's own, and with Unwritten when the decision cannot be written down, and was not made.
func (d *ApprovalAdmin) Decide(ctx context.Context, id string, approved bool, reason string) (*approval.Approval, error) {
	a, err := d.Find(ctx, id)
	switch {
	case err != nil:
		return nil, err
	case a.Caller.Subject == d.caller.Subject:
		return nil, newForbiddenError("This call is your own, and somebody else has to decide about it")
	}
	decision := approval.Decision{By: d.caller.Subject, At: d.g.build.Now().UTC(), Reason: reason}
	if d.g.audit == nil && !a.Audited {
		return d.book.Decide(ctx, a.ID, approved, decision)
	}
	p, err := d.book.Propose(ctx, a.ID, approval.Proposal{Approved: approved, Decision: decision}, d.g.build.State.tasks.owner)
	if err != nil {
		return nil, err
	}
	return d.g.confirmDecision(ctx, d.book, p, d.g.auditedCaller(d.caller))
}
