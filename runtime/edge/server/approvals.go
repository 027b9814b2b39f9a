package server

import (
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"hatchel/runtime/durable/state"
	"hatchel/runtime/edge/operator"
	"hatchel/runtime/edge/served"
	"hatchel/runtime/stage/approval"
)

const (
	// ApprovalPageSize is the number of approvals in a page when a request does not say.
	ApprovalPageSize = 100

	maxPageSize     = 16384 // the maximum number of pending approvals
	maxDecisionBody = 8 << 10
)

// serveApprovals answers GET /approvals, GET /approvals/ID, and POST /approvals/ID/approve, /reject and /look.
func (s *Server) serveApprovals(w http.ResponseWriter, r *http.Request) {
	handle := func() error { return s.handleApprovals(w, r) }
	s.serveAPI(w, r, handle, func(err error) *Error { return describeApprovalError(w, err) })
}

// handleApprovals answers a request about approvals, or returns an error and has written nothing.
func (s *Server) handleApprovals(w http.ResponseWriter, r *http.Request) error {
	if reason := s.mcp.CheckSource(r); reason != "" {
		return &operator.ForbiddenError{Why: reason}
	}
	id, verb, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/approvals"), "/"), "/")
	decides := verb == "approve" || verb == "reject"
	methods := []string{http.MethodGet, http.MethodHead}
	if decides || verb == "look" {
		methods = []string{http.MethodPost}
	}
	if verb != "" && verb != "look" && !decides || id == "" && r.URL.Path != "/approvals" {
		return newError(http.StatusNotFound,
			"Not found. The paths are /approvals, /approvals/ID, /approvals/ID/approve, /approvals/ID/reject and "+
				"/approvals/ID/look")
	}
	if err := checkMethod(w, r, methods...); err != nil {
		return err
	}
	approvals, err := s.Host.Operator().ApprovalAdmin(r.Context(), s.callerOf(r))
	if err != nil {
		return err
	}
	defer approvals.Close()
	var a *approval.Approval
	switch {
	case id == "":
		return listApprovals(w, r, approvals)
	case decides:
		reason, digest, err := readDecision(w, r)
		if err != nil {
			return err
		}
		a, err = approvals.Decide(r.Context(), id, verb == "approve", reason, digest)
		if err != nil {
			return err
		}
	case verb == "look":
		if a, err = approvals.LookAgain(r.Context(), id); err != nil {
			return err
		}
	default:
		if a, err = approvals.Find(r.Context(), id); err != nil {
			return err
		}
	}
	text, err := a.AppendJSON(nil)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.Write(append(text, '\n'))
	return nil
}

// listApprovals streams one page of the approvals that the caller may decide.
func listApprovals(w http.ResponseWriter, r *http.Request, approvals *operator.ApprovalAdmin) error {
	q, err := parseListQuery(r)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	started, out := false, []byte(`{"approvals":[`)
	next, err := approvals.List(r.Context(), q, func(part []*approval.Entry) error {
		for _, a := range part {
			if started {
				out = append(out, ',')
			}
			out, started = a.AppendJSON(append(out, '\n')), true
		}
		if !started {
			return nil // a write would send the status
		}
		_, err := w.Write(out)
		out = out[:0]
		return err
	})
	switch {
	case err != nil && started:
		panic(http.ErrAbortHandler) // the client must not take the response for complete
	case err != nil:
		return err
	}
	out = append(out, ']')
	if next != "" {
		out = append(append(append(out, `,"next":"`...), next...), '"')
	}
	w.Write(append(out, "}\n"...))
	return nil
}

// parseListQuery parses ?status=&limit=&after=. The default status is pending.
func parseListQuery(r *http.Request) (approval.ListQuery, error) {
	values := r.URL.Query()
	q := approval.ListQuery{Status: approval.Pending, Limit: ApprovalPageSize, After: values.Get("after")}
	for name := range values {
		if !slices.Contains([]string{"status", "limit", "after"}, name) {
			return q, newError(http.StatusUnprocessableEntity,
				"Unknown parameter. The parameters are status, limit and after")
		}
	}
	if text := values.Get("status"); text != "" {
		if q.Status = approval.Status(text); text == "all" {
			q.Status = ""
		} else if !slices.Contains(approval.Statuses, q.Status) {
			return q, newError(http.StatusUnprocessableEntity, "status must be one of "+statusNames()+" and all")
		}
	}
	if text := values.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > maxPageSize {
			return q, newError(http.StatusUnprocessableEntity,
				"limit must be a number from 1 to "+strconv.Itoa(maxPageSize))
		}
		q.Limit = n
	}
	return q, nil
}

func statusNames() string {
	names := make([]string, len(approval.Statuses))
	for i, status := range approval.Statuses {
		names[i] = string(status)
	}
	return strings.Join(names, ", ")
}

// readDecision reads the body of a decision: {"reason": "…", "digest": "…"}, a part of it, or nothing.
func readDecision(w http.ResponseWriter, r *http.Request) (reason, digest string, err error) {
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || media != "application/json" {
		return "", "", newError(http.StatusUnsupportedMediaType, "The Content-Type must be application/json")
	}
	http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTimeout))
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxDecisionBody))
	if err != nil {
		if errors.As(err, new(*http.MaxBytesError)) {
			return "", "", newError(http.StatusRequestEntityTooLarge, "The body of a decision may have at most 8 KiB")
		}
		return "", "", newError(http.StatusBadRequest, "The body of the request could not be read")
	}
	http.NewResponseController(w).SetReadDeadline(time.Time{})
	var decision struct {
		Reason string `json:"reason"`
		Digest string `json:"digest"`
	}
	if len(body) > 0 {
		d := json.NewDecoder(strings.NewReader(string(body)))
		d.DisallowUnknownFields()
		if d.Decode(&decision) != nil || d.More() || !utf8.Valid(body) {
			const text = `The body of a decision must be {"reason": "…", "digest": "…"}, or a part of it`
			return "", "", newError(http.StatusUnprocessableEntity, text)
		}
	}
	if reason, err = approval.CheckReason(decision.Reason); err != nil {
		return "", "", newError(http.StatusUnprocessableEntity, capitalize(err.Error()))
	}
	return reason, decision.Digest, nil
}

// describeApprovalError returns the response to an error about approvals, and sets the header that
// belongs to it.
func describeApprovalError(w http.ResponseWriter, err error) *Error {
	var decided *approval.DecidedError
	switch {
	case errors.As(err, &decided):
		return &Error{http.StatusConflict, capitalize(decided.Error()), decided.Status, decided.Decision}
	case errors.Is(err, approval.ErrChanged):
		return newError(http.StatusConflict, "The approval shows something else than what you have seen. Read it again")
	case errors.Is(err, approval.ErrNobodyWaits):
		return newError(http.StatusConflict, "No call waits for this approval at the moment, so nothing was read")
	case errors.Is(err, approval.ErrNotFound):
		return newError(http.StatusNotFound,
			"Approval not found. Decided approvals are kept for 7 days, and expired ones for an hour")
	case errors.Is(err, approval.ErrCursor):
		return newError(http.StatusUnprocessableEntity, "after must be the next of an earlier page")
	case errors.As(err, new(*served.UnrecordedError)):
		return newError(http.StatusServiceUnavailable, err.Error())
	case errors.Is(err, state.ErrUnavailable), errors.Is(err, state.ErrFull):
		w.Header().Set("Retry-After", "1")
		return newError(http.StatusServiceUnavailable, "The state store is unavailable, and it is "+
			"unknown whether the decision was made. Look at the approval in a moment")
	}
	return nil
}
