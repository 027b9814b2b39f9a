package main

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

	"hatchel/runtime"
	"hatchel/runtime/approval"
	"hatchel/runtime/auth"
	"hatchel/runtime/state"
)

const (
	pageSize     = 100
	largestPage  = 16384 // as many as can be pending
	largestBody  = 8 << 10
	longestWords = 1000 // characters of a reason
)

// approvals answers who decides about calls of others: GET /approvals, GET /approvals/ID, POST /approvals/ID/approve, POST /approvals/ID/reject.
func (e *endpoints) approvals(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if err := e.reviewed(w, r); err != nil {
		e.complained(w, r, err)
	}
}

// reviewed does what a request about approvals asks for, and answers it; or it has not answered, and says why.
func (e *endpoints) reviewed(w http.ResponseWriter, r *http.Request) error {
	if why := e.mcp.Source(r); why != "" {
		return &runtime.ForbiddenError{Why: why}
	}
	id, verb, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/approvals"), "/"), "/")
	decides := verb == "approve" || verb == "reject"
	switch {
	case verb != "" && !decides, r.URL.Path == "/approvals/":
		return complain(http.StatusNotFound, "There is nothing here. There are /approvals, /approvals/ID, /approvals/ID/approve and /approvals/ID/reject")
	case decides && r.Method != http.MethodPost:
		w.Header().Set("Allow", http.MethodPost)
		return complain(http.StatusMethodNotAllowed, "Use POST")
	case !decides && r.Method != http.MethodGet && r.Method != http.MethodHead:
		w.Header().Set("Allow", "GET, HEAD")
		return complain(http.StatusMethodNotAllowed, "Use GET")
	}
	desk, err := e.host.ApprovalAdmin(r.Context(), callerOf(r))
	if err != nil {
		return err
	}
	defer desk.Close()
	switch {
	case id == "":
		return listApprovals(w, r, desk)
	case !decides:
		a, err := desk.Find(r.Context(), id)
		return shown(w, a, err)
	}
	why, err := reasonOf(w, r)
	if err != nil {
		return err
	}
	a, err := desk.Decide(r.Context(), id, verb == "approve", why)
	return shown(w, a, err)
}

// shown answers with an approval.
func shown(w http.ResponseWriter, a *approval.Approval, err error) error {
	if err != nil {
		return err
	}
	text, err := a.AppendJSON(nil)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.Write(append(text, '\n'))
	return nil
}

func listApprovals(w http.ResponseWriter, r *http.Request, desk *runtime.ApprovalAdmin) error {
	q, err := listQuery(r)
	if err != nil {
		return err
	}
	began, out := false, []byte(nil)
	next, err := desk.List(r.Context(), q, func(part []*approval.Entry) error {
		for _, a := range part {
			if !began {
				w.Header().Set("Content-Type", "application/json")
				out, began = append(out, `{"approvals":[`...), true
			} else {
				out = append(out, ',')
			}
			out = a.AppendJSON(append(out, '\n'))
		}
		if len(out) == 0 {
			return nil // what writes nothing still begins the answer
		}
		_, err := w.Write(out)
		out = out[:0]
		return err
	})
	switch {
	case err != nil && began:
		panic(http.ErrAbortHandler) // the answer is not whole, and must not look so
	case err != nil:
		return err
	case !began:
		w.Header().Set("Content-Type", "application/json")
		out = append(out, `{"approvals":[`...)
	}
	out = append(out, ']')
	if next != "" {
		out = append(append(append(out, `,"next":"`...), next...), '"')
	}
	w.Write(append(out, "}\n"...))
	return nil
}

// listQuery reads ?status=&limit=&after=. What is not said is status=pending; status=all is all.
func listQuery(r *http.Request) (approval.ListQuery, error) {
	given := r.URL.Query()
	q := approval.ListQuery{Status: approval.Pending, Limit: pageSize, After: given.Get("after")}
	for name := range given {
		if !slices.Contains([]string{"status", "limit", "after"}, name) {
			return q, complain(http.StatusUnprocessableEntity, "A list takes status, limit and after, and nothing else")
		}
	}
	if s := given.Get("status"); s != "" {
		if q.Status = approval.Status(s); s == "all" {
			q.Status = ""
		} else if !slices.Contains(approval.Statuses, q.Status) {
			return q, complain(http.StatusUnprocessableEntity, "status is one of "+statuses()+" and all")
		}
	}
	if s := given.Get("limit"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 || n > largestPage {
			return q, complain(http.StatusUnprocessableEntity, "limit is a number from 1 to "+strconv.Itoa(largestPage))
		}
		q.Limit = n
	}
	return q, nil
}

func statuses() string {
	words := make([]string, len(approval.Statuses))
	for i, s := range approval.Statuses {
		words[i] = string(s)
	}
	return strings.Join(words, ", ")
}

// reasonOf reads the body of a decision: {"reason": "…"}, or nothing.
func reasonOf(w http.ResponseWriter, r *http.Request) (string, error) {
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || media != "application/json" {
		return "", complain(http.StatusUnsupportedMediaType, "The Content-Type must be application/json")
	}
	http.NewResponseController(w).SetReadDeadline(time.Now().Add(unread))
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, largestBody))
	if err != nil {
		if errors.As(err, new(*http.MaxBytesError)) {
			return "", complain(http.StatusRequestEntityTooLarge, "The request is larger than a decision is: at most 8 KiB")
		}
		return "", complain(http.StatusBadRequest, "The request body could not be read completely")
	}
	http.NewResponseController(w).SetReadDeadline(time.Time{})
	var said struct {
		Reason string `json:"reason"`
	}
	if len(body) > 0 {
		d := json.NewDecoder(strings.NewReader(string(body)))
		d.DisallowUnknownFields()
		if d.Decode(&said) != nil || d.More() || !utf8.Valid(body) {
			return "", complain(http.StatusUnprocessableEntity, `A decision is written {"reason": "…"}, or {}`)
		}
	}
	return wellSaid(said.Reason)
}

// wellSaid is a reason as it is kept.
func wellSaid(reason string) (string, error) {
	reason = strings.TrimSpace(reason)
	if utf8.RuneCountInString(reason) > longestWords {
		return "", complain(http.StatusUnprocessableEntity, "A reason has at most "+strconv.Itoa(longestWords)+" characters")
	}
	return reason, nil
}

// complained answers a request that is not done.
func (e *endpoints) complained(w http.ResponseWriter, r *http.Request, err error) {
	var refused *runtime.ForbiddenError
	var said *complaint
	var decided *approval.AlreadyError
	switch {
	case errors.As(err, &refused):
		e.refuse(w, r, &auth.Refusal{Status: http.StatusForbidden, Why: refused.Why})
		return
	case errors.As(err, &said):
	case errors.As(err, &decided):
		said = &complaint{http.StatusConflict, sentenceOf(decided.Error()), decided.Status, decided.Decision}
	case errors.Is(err, approval.ErrUnknown):
		said = &complaint{status: http.StatusNotFound, Text: "There is no such approval, or it is forgotten: decisions are kept for 7 days, and what nobody has decided for an hour"}
	case errors.Is(err, approval.ErrCursor):
		said = &complaint{status: http.StatusUnprocessableEntity, Text: "after is what a list before has called next"}
	case errors.As(err, new(*runtime.UnrecordedDecisionError)):
		said = &complaint{status: http.StatusServiceUnavailable, Text: err.Error()}
	case errors.Is(err, state.ErrAway), errors.Is(err, state.ErrFull):
		w.Header().Set("Retry-After", "1")
		said = &complaint{status: http.StatusServiceUnavailable, Text: "The server does not get at what it remembers, and whether anything was decided is not known. Look again in a moment"}
	default:
		said = e.failed(r, err)
	}
	if r.ContentLength != 0 {
		w.Header().Set("Connection", "close")
	}
	answer(w, said.status, said)
}

// sentenceOf begins with a capital letter.
func sentenceOf(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	return strings.ToUpper(string(first)) + text[size:]
}
