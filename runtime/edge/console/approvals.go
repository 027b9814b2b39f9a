package console

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"hatchel/runtime/durable/audit"
	"hatchel/runtime/edge/operator"
	"hatchel/runtime/edge/served"
	"hatchel/runtime/stage/approval"
)

const approvalsPath = "/console/approvals"

// approvalReader reads the approvals that a person may see. It must be closed.
type approvalReader struct {
	store *approval.Store
	admin *operator.ApprovalAdmin // nil for a person who may decide nothing
	all   bool                    // they see what they may not decide, too
}

func (c *Console) openApprovals(ctx context.Context, q *request) (*approvalReader, error) {
	store, err := c.Host.Operator().Approvals(ctx)
	if err != nil {
		return nil, err
	}
	admin, err := c.Host.Operator().ApprovalAdmin(ctx, q.caller)
	if err != nil && !(q.isViewer && errors.As(err, new(*operator.ForbiddenError))) {
		return nil, err
	}
	return &approvalReader{store, admin, q.isViewer}, nil
}

func (r *approvalReader) close() {
	if r.admin != nil {
		r.admin.Close()
	}
}

// sees reports whether the person may see an approval.
func (r *approvalReader) sees(e *approval.Entry) bool { return r.all || r.admin.CanDecide(e) }

// find returns an approval, and why the person may not decide it; empty if they may.
func (r *approvalReader) find(ctx context.Context, id string) (a *approval.Approval, refusal string, err error) {
	refused := &operator.ForbiddenError{Why: "A decision needs a signed-in approver, whom the block approvals names"}
	if r.admin != nil {
		if a, err = r.admin.FindOther(ctx, id); !errors.As(err, &refused) || !r.all {
			return a, "", err
		}
	}
	if a, err = r.store.Find(ctx, id); err == nil && a == nil {
		err = approval.ErrNotFound
	}
	return a, refused.Why, err
}

const (
	maxCounted   = 100                    // approvals that the number in the menu reads
	countTimeout = 500 * time.Millisecond // after which the menu has no number
)

// countPending returns how many pending approvals a person may see, for the menu: empty for none, and with a plus if
// there may be more.
func (c *Console) countPending(q *request) string {
	ctx, cancel := context.WithTimeout(q.Context(), countTimeout)
	defer cancel()
	reader, err := c.openApprovals(ctx, q)
	if err != nil {
		return "" // the page of the approvals says why
	}
	defer reader.close()
	entries, more, err := reader.store.List(ctx, approval.ListQuery{Status: approval.Pending, Limit: maxCounted})
	n := 0
	for _, e := range entries {
		if reader.sees(e) {
			n++
		}
	}
	switch {
	case err != nil || n == 0 && more == "":
		return ""
	case more != "":
		return strconv.Itoa(n) + "+"
	}
	return strconv.Itoa(n)
}

// approvalsData is the data of the list of approvals.
type approvalsData struct {
	Tool, Caller, Status string
	Statuses             []approval.Status
	Rows                 []*approval.Approval
	Next                 string // address of the next page; empty for none
}

const (
	approvalsPerPage = 100
	maxSearch        = 2 * time.Second // of one page
)

// selectedStatuses returns the statuses that a choice of the filter selects: a used approval was approved, too.
func selectedStatuses(choice approval.Status) []approval.Status {
	if choice == approval.Approved {
		return []approval.Status{approval.Approved, approval.Used}
	}
	return []approval.Status{choice}
}

// matchesCaller reports whether a pattern matches what the list shows of the caller of an approval.
func matchesCaller(pattern string, a *approval.Approval) bool {
	return matches(pattern, cmp.Or(a.Caller.Subject, a.Caller.Remote))
}

// approvals lists approvals: those that are pending, the most urgent first, unless the query names another status.
func (c *Console) approvals(q *request) (*answer, error) {
	values := q.URL.Query()
	data := &approvalsData{
		Tool: values.Get("tool"), Caller: values.Get("caller"), Status: values.Get("status"),
		Statuses: approval.Statuses,
	}
	if !slices.Contains(approval.Statuses, approval.Status(data.Status)) {
		data.Status = string(approval.Pending)
	}
	reader, err := c.openApprovals(q.Context(), q)
	if err != nil {
		return nil, err
	}
	defer reader.close()
	query := approval.ListQuery{After: values.Get("after"), Limit: approvalsPerPage}
	statuses := selectedStatuses(approval.Status(data.Status))
	for began := time.Now(); ; {
		entries, next, err := reader.store.ListAny(q.Context(), statuses, query)
		if errors.Is(err, approval.ErrCursor) {
			return nil, &Error{http.StatusBadRequest, "The address of this page is not complete"}
		}
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if !reader.sees(e) || !matches(data.Tool, e.Tool) || e.Subject != "" && !matches(data.Caller, e.Subject) {
				continue
			}
			a, err := e.Approval()
			if err != nil {
				return nil, err
			}
			if matchesCaller(data.Caller, a) {
				data.Rows = append(data.Rows, a)
			}
		}
		if query.After = next; next != "" && len(data.Rows) < approvalsPerPage && time.Since(began) <= maxSearch {
			continue
		}
		if next != "" {
			data.Next = q.addressWith("after", next)
		}
		return &answer{template: "approvals", title: "Approvals", data: data}, nil
	}
}

// approvalData is the data of the page of an approval.
type approvalData struct {
	*approval.Approval
	Refusal      string // why the person may not decide; empty if they may
	Notice       string // what happened instead of what was asked for; empty for nothing
	Reason       string // that was typed
	Call         string // ID of the call that has requested it; empty for one that has no page
	Effects      []effectView
	MayLookAgain bool              // it can be looked at again
	History      *approval.History // of the caller and the tool; nil for an unknown caller
}

// Path returns the address of the approval, or what a form of it posts to.
func (d *approvalData) Path(verb string) string { return approvalPath(d.ID) + verb }

// BeforeTitle is the title of what the before blocks have read.
func (d *approvalData) BeforeTitle() string {
	if d.Status == approval.Pending {
		return "Now"
	}
	return "Before"
}

// approvalState returns the condition of an approval; of one whose call has failed, also in part, that of the call.
func approvalState(a *approval.Approval) condition {
	state := stateOf(a.Status)
	if a.Status == approval.Used && a.Call != nil && a.Call.Outcome != audit.OK {
		state = condition{stateOf(a.Call.Outcome).Class, "approved, call " + a.Call.Outcome}
	}
	return state
}

// EffectTitle is the title of the effects of the call, of which the approval does not know whether they have failed.
func (d *approvalData) EffectTitle() string {
	switch d.Status {
	case approval.Pending:
		return "What would be done"
	case approval.Approved, approval.Used:
		return "What was approved"
	}
	return "What would have been done"
}

func approvalPath(id string) string { return approvalsPath + "/" + url.PathEscape(id) }

// approval shows one approval.
func (c *Console) approval(q *request) (*answer, error) {
	return c.approvalPage(q, http.StatusOK, "")
}

// approvalPage shows an approval as it is now, with what happened instead of what was asked for.
func (c *Console) approvalPage(q *request, status int, notice string) (*answer, error) {
	reader, err := c.openApprovals(q.Context(), q)
	if err != nil {
		return nil, err
	}
	defer reader.close()
	a, refusal, err := reader.find(q.Context(), q.PathValue("id"))
	if errors.Is(err, approval.ErrNotFound) {
		const text = "There is no such approval. Approvals that were decided are kept for 7 days, and others for an " +
			"hour after they ended"
		return nil, notFound(text)
	}
	if err != nil {
		return nil, err
	}
	// Who may see an approval may see all that its caller has requested for its tool.
	history, err := reader.store.History(q.Context(), a)
	if err != nil {
		return nil, err
	}
	data := &approvalData{
		History: history, Approval: a, Refusal: refusal, Notice: notice, Reason: q.PostForm.Get("reason"),
		Effects:      viewEffects(a.Effects),
		Call:         c.findCall(q, a),
		MayLookAgain: a.Status == approval.Pending && len(a.Before) > 0 && refusal == "",
	}
	return &answer{template: "approval", title: "Approval of " + a.Tool, data: data, status: status}, nil
}

// findCall returns the ID of the call that has requested an approval, if the person may see its page.
func (c *Console) findCall(q *request, a *approval.Approval) string {
	if a.CallID == "" || !q.isViewer {
		return ""
	}
	found, _, err := c.recentCalls(q, operator.CallQuery{ID: a.CallID}, 1, nil)
	if err != nil || len(found) == 0 {
		return ""
	}
	return a.CallID
}

// decide approves or rejects what the form has shown.
func (c *Console) decide(q *request) (*answer, error) {
	digest, decision := q.PostForm.Get("digest"), q.PostForm.Get("decision")
	if decision != "approve" && decision != "reject" || digest == "" {
		return nil, &Error{http.StatusBadRequest, "The form is not complete. Load the page again"}
	}
	reason, err := approval.CheckReason(q.PostForm.Get("reason"))
	if err != nil {
		return c.approvalPage(q, http.StatusUnprocessableEntity, "Nothing was decided: "+err.Error()+".")
	}
	return c.change(q, func(admin *operator.ApprovalAdmin) error {
		_, err := admin.Decide(q.Context(), q.PathValue("id"), decision == "approve", reason, digest)
		return err
	})
}

// lookAgain has the state before a call read again.
func (c *Console) lookAgain(q *request) (*answer, error) {
	return c.change(q, func(admin *operator.ApprovalAdmin) error {
		_, err := admin.LookAgain(q.Context(), q.PathValue("id"))
		return err
	})
}

// change does something with an approval, and shows the approval after that.
func (c *Console) change(q *request, do func(*operator.ApprovalAdmin) error) (*answer, error) {
	admin, err := c.Host.Operator().ApprovalAdmin(q.Context(), q.caller)
	if err != nil {
		return nil, err
	}
	defer admin.Close()
	err = do(admin)
	var decided *approval.DecidedError
	var unrecorded *served.UnrecordedError
	switch {
	case err == nil:
		return &answer{location: approvalPath(q.PathValue("id"))}, nil
	case errors.As(err, &decided):
		return c.approvalPage(q, http.StatusConflict, "Nothing was decided: "+decided.Error()+".")
	case errors.Is(err, approval.ErrChanged):
		return c.approvalPage(q, http.StatusConflict, "Nothing was decided: the approval shows something else than "+
			"what you have seen. This is what it shows now.")
	case errors.Is(err, approval.ErrNobodyWaits):
		return c.approvalPage(q, http.StatusConflict, "No call waits for this approval at the moment, so nothing was "+
			"read.")
	case errors.As(err, &unrecorded):
		return c.approvalPage(q, http.StatusServiceUnavailable, unrecorded.Message+".")
	}
	return nil, err
}
