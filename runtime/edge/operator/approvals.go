package operator

import (
	"context"
	"log/slog"

	"hatchel/hcl"
	"hatchel/runtime/call"
	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/edge/served"
	"hatchel/runtime/stage/approval"
	"hatchel/runtime/stage/policy"
)

// ApprovalAdmin lists and decides approvals for one caller, as the approvals block of one
// configuration allows. It must be used by one goroutine only, and closed.
type ApprovalAdmin struct {
	operator  *Operator
	g         *served.Served
	release   func()
	approvals *approval.Store
	caller    *mcp.Caller
	frame     *hcl.Frame
	mayDecide map[string]bool // by tool; a cache
}

// ApprovalAdmin returns the approvals that a caller may decide over HTTP. The error is a
// ForbiddenError when the configuration lets nobody decide, or the caller has no subject; other
// errors are those of the state store.
func (o *Operator) ApprovalAdmin(ctx context.Context, c *mcp.Caller) (*ApprovalAdmin, error) {
	g, release, err := o.server.Admit(ctx, c)
	if err != nil {
		return nil, err
	}
	d := &ApprovalAdmin{operator: o, g: g, release: release, caller: c, mayDecide: map[string]bool{}}
	if err = d.open(ctx); err != nil {
		release()
		return nil, err
	}
	return d, nil
}

// Approvals returns all approvals, whoever may decide them. The error is that of the state store.
func (o *Operator) Approvals(ctx context.Context) (*approval.Store, error) {
	if err := o.State.Watch(ctx); err != nil {
		return nil, err
	}
	return o.State.Approvals(), nil
}

// ForbiddenError reports that a caller may not make a request. Why is a sentence for the caller.
type ForbiddenError struct{ Why string }

func (f *ForbiddenError) Error() string { return f.Why }

func newForbiddenError(why string) error { return &ForbiddenError{why} }

func (d *ApprovalAdmin) open(ctx context.Context) error {
	switch {
	case d.g.Config.Approvals == nil:
		return newForbiddenError("The configuration of this server has no approvals block, so approvals cannot be " +
			"decided over HTTP. Declare approvals { allow = \"'approvers' in caller.groups\" } and an auth block, or " +
			"run hatchel approvals on the machine of the server")
	case d.caller.Subject == "":
		return newForbiddenError("A decision requires a caller with a subject")
	}
	d.frame = hcl.NewFrame(ctx, d.g.Env.Dir, d.g.Env.Now)
	d.frame.Caller = call.CallerRoot(d.caller)
	// The watch of the store reports the decisions of other processes.
	if err := d.operator.State.Watch(ctx); err != nil {
		return err
	}
	d.approvals = d.operator.State.Approvals()
	return nil
}

// Close releases the configuration.
func (d *ApprovalAdmin) Close() { d.release() }

// canDecide reports whether the caller may decide calls of a tool. Nobody may when the tool does
// not exist or the rule cannot be evaluated.
func (d *ApprovalAdmin) canDecide(tool string) bool {
	if may, asked := d.mayDecide[tool]; asked {
		return may
	}
	p, ok := d.g.Programs[tool]
	if ok {
		d.frame.Tool = policy.ToolRoot(p.Tool())
		var err error
		if ok, err = d.g.Config.Approvals.Allow.Eval(d.frame, nil); err != nil {
			const text = "approvals.allow failed, caller may not decide"
			d.g.Env.LogFailure(d.frame.Context, slog.LevelError, text, err, "tool", tool, "subject", d.caller.Subject)
			ok = false
		}
	}
	d.mayDecide[tool] = ok
	return ok
}

// CanDecide reports whether the caller may decide a pending approval.
func (d *ApprovalAdmin) CanDecide(e *approval.Entry) bool {
	return e.Subject != d.caller.Subject && d.canDecide(e.Tool)
}

// CanDecideAny reports whether the caller may decide the calls of any tool.
func (d *ApprovalAdmin) CanDecideAny() bool {
	for name := range d.g.Programs {
		if d.canDecide(name) {
			return true
		}
	}
	return false
}

// The number of approvals that one query reads. Larger ones would block the store.
const (
	minRead = 128
	maxRead = 1024
)

// List calls each with the approvals that the caller may decide, in parts, and returns the cursor
// of the next page, like approval.Store.List. It omits the caller's own calls, stops at an error of
// each, and reads nothing for a caller that may decide nothing.
func (d *ApprovalAdmin) List(
	ctx context.Context, q approval.ListQuery, each func([]*approval.Entry) error,
) (next string, err error) {
	if !d.CanDecideAny() {
		return "", nil
	}
	for left := q.Limit; ; {
		q.Limit = min(max(left, minRead), maxRead)
		page, more, err := d.approvals.List(ctx, q)
		if err != nil {
			return "", err
		}
		mine := page[:0]
		for i, e := range page {
			if !d.CanDecide(e) {
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

// Find returns an approval by its ID. The error is approval.ErrNotFound or a ForbiddenError.
func (d *ApprovalAdmin) Find(ctx context.Context, id string) (*approval.Approval, error) {
	a, err := d.approvals.Find(ctx, id)
	switch {
	case err != nil:
		return nil, err
	case a == nil:
		return nil, approval.ErrNotFound
	case d.g.Programs[a.Tool] == nil:
		return nil, newForbiddenError("The tool of this call no longer exists, so the approval cannot be decided")
	case !d.canDecide(a.Tool):
		return nil, newForbiddenError("You may not decide calls of this tool")
	}
	return a, nil
}

// FindOther is Find for what the caller may do only with calls of others.
func (d *ApprovalAdmin) FindOther(ctx context.Context, id string) (*approval.Approval, error) {
	a, err := d.Find(ctx, id)
	if err == nil && a.Caller.Subject == d.caller.Subject {
		return nil, newForbiddenError("This is your own call, which another approver must decide")
	}
	return a, err
}

// LookAgain has the state before a call read again. The error is that of Find or of approval.Store.LookAgain, or a
// ForbiddenError for the caller's own call.
func (d *ApprovalAdmin) LookAgain(ctx context.Context, id string) (*approval.Approval, error) {
	a, err := d.FindOther(ctx, id)
	if err != nil {
		return nil, err
	}
	return d.approvals.LookAgain(ctx, a.ID)
}

// Decide approves or rejects a call. Digest is that of what the caller was shown; empty for whatever is there. With an
// audit log the decision is recorded before it takes effect. Hooks have stored the decision when Decide returns. The
// error is that of Find or of approval.Store.Decide, a ForbiddenError for the caller's own call, or an UnrecordedError
// when the decision could not be recorded and was not made.
func (d *ApprovalAdmin) Decide(
	ctx context.Context, id string, approved bool, reason, digest string,
) (*approval.Approval, error) {
	a, err := d.FindOther(ctx, id)
	if err != nil {
		return nil, err
	}
	if a, err = d.decide(ctx, a, approved, reason, digest); err == nil {
		d.operator.PublishDecision(ctx, a)
	}
	return a, err
}

func (d *ApprovalAdmin) decide(
	ctx context.Context, a *approval.Approval, approved bool, reason, digest string,
) (*approval.Approval, error) {
	decision := approval.Decision{By: d.caller.Subject, At: d.g.Env.Now().UTC(), Digest: digest,
		Reason: d.g.Env.Scrubber.Text(reason)}
	if d.g.Audit == nil && !a.Audited {
		return d.approvals.Decide(ctx, a.ID, approved, decision)
	}
	a, err := d.approvals.Propose(ctx, a.ID, approved, decision, true)
	if err != nil {
		return nil, err
	}
	return confirmDecision(ctx, d.g, d.approvals, a, d.g.Env.AuditedCaller(d.caller))
}
