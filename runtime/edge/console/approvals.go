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
	Filter *filterBar
	Status string
	Rows   []*approval.Approval
	Next   string // address of the next page; empty for none
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
	g, err := c.admit(q)
	if err != nil {
		return nil, err
	}
	values := q.URL.Query()
	tool, caller := values.Get("tool"), values.Get("caller")
	data := &approvalsData{Status: values.Get("status")}
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
			if !reader.sees(e) || !matches(tool, e.Tool) || e.Subject != "" && !matches(caller, e.Subject) {
				continue
			}
			a, err := e.Approval()
			if err != nil {
				return nil, err
			}
			if matchesCaller(caller, a) {
				data.Rows = append(data.Rows, a)
			}
		}
		if query.After = next; next != "" && len(data.Rows) < approvalsPerPage && time.Since(began) <= maxSearch {
			continue
		}
		if next != "" {
			data.Next = q.addressWith("after", next)
		}
		data.addShown(q, reader)
		callers := map[string]bool{}
		for _, a := range data.Rows {
			callers[cmp.Or(a.Caller.Subject, a.Caller.Remote)] = true
		}
		data.Filter = newFilterBar(q, statusField(data.Status, approval.Statuses), toolField(g),
			filterField{Name: "caller", Label: "Caller", Choices: choicesOf(callers), IsText: true, Hint: "any"})
		return &answer{template: "approvals", title: "Approvals", data: data}, nil
	}
}

// addShown adds the approvals that the page of the person has shown already and that do not match any more, because
// somebody has decided them or they have expired: a script names them when it asks for the page again.
func (d *approvalsData) addShown(q *request, reader *approvalReader) {
	for _, id := range q.URL.Query()["shown"] {
		if len(d.Rows) >= 2*approvalsPerPage {
			return
		}
		if slices.ContainsFunc(d.Rows, func(a *approval.Approval) bool { return a.ID == id }) {
			continue
		}
		if a, _, err := reader.find(q.Context(), id); err == nil {
			d.Rows = append(d.Rows, a)
		}
	}
	slices.SortStableFunc(d.Rows, func(a, b *approval.Approval) int { return a.Deadline.Compare(b.Deadline) })
}

// Matching returns how many of the rows match the filter.
func (d *approvalsData) Matching() (n int) {
	selected := selectedStatuses(approval.Status(d.Status))
	for _, a := range d.Rows {
		if slices.Contains(selected, a.Status) {
			n++
		}
	}
	return n
}

// approvalData is the data of the page of an approval.
type approvalData struct {
	*approval.Approval
	Refusal      string // why the person may not decide; empty if they may
	Notice       string // what happened instead of what was asked for; empty for nothing
	Reason       string // that was typed
	Call         string // ID of the call that has requested it; empty for one that has no page
	Waiting      string // says whether the caller still waits; empty when that is not known
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
	call, waiting := c.findCall(q, a)
	data := &approvalData{
		History: history, Approval: a, Refusal: refusal, Notice: notice, Reason: q.PostForm.Get("reason"),
		Effects: viewEffects(a.Effects),
		Call:    call, Waiting: waiting,
		MayLookAgain: a.Status == approval.Pending && len(a.Before) > 0 && refusal == "",
	}
	return &answer{template: "approval", title: "Approval of " + a.Tool, data: data, status: status}, nil
}

// findCall returns the ID of the call that has requested an approval, if the person may see its page, and whether the
// caller of a pending one still waits.
func (c *Console) findCall(q *request, a *approval.Approval) (id, waiting string) {
	if a.CallID == "" || !q.isViewer {
		return "", ""
	}
	found, _, err := c.recentCalls(q, operator.CallQuery{ID: a.CallID}, 1, nil)
	if err != nil || len(found) == 0 {
		return "", ""
	}
	switch call := found[0]; {
	case a.Status != approval.Pending:
	case call.Task != "":
		waiting = "The call is a task, which goes on after the decision."
	case call.End == nil:
		waiting = "The caller waits for the decision."
	case call.End.Outcome == audit.Asked:
		waiting = "The caller was told that it needs an approval. It makes the call again after the decision."
	default:
		waiting = "The caller does not wait any more. The approval is valid for the same call made again."
	}
	return a.CallID, waiting
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
