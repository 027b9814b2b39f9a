package server

import (
	"errors"
	"net/http"
	"strconv"
	"strings"

	"hatchel/runtime/durable/grant"
	"hatchel/runtime/durable/state"
	"hatchel/runtime/edge/operator"
)

// SignInPageSize is the number of sign-ins in a page when a request does not say, and the most that a page has.
const SignInPageSize = 1000

// signInPage is the response to GET /sign-ins.
type signInPage struct {
	SignIns []*grant.SignIn `json:"sign_ins"`
	Next    string          `json:"next,omitempty"`
}

// serveSignIns answers GET /sign-ins, GET /sign-ins/ID, and POST /sign-ins/ID/revoke.
func (s *Server) serveSignIns(w http.ResponseWriter, r *http.Request) {
	handle := func() error { return s.handleSignIns(w, r) }
	s.serveAPI(w, r, handle, func(err error) *Error { return describeSignInError(w, err) })
}

// handleSignIns answers a request about sign-ins, or returns an error and has written nothing.
func (s *Server) handleSignIns(w http.ResponseWriter, r *http.Request) error {
	if reason := s.mcp.CheckSource(r); reason != "" {
		return &operator.ForbiddenError{Why: reason}
	}
	id, verb, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/sign-ins"), "/"), "/")
	if verb != "" && verb != "revoke" || id == "" && r.URL.Path != "/sign-ins" {
		return newError(http.StatusNotFound,
			"Not found. The paths are /sign-ins, /sign-ins/ID and /sign-ins/ID/revoke")
	}
	methods := []string{http.MethodGet, http.MethodHead}
	if verb == "revoke" {
		methods = []string{http.MethodPost}
	}
	if err := checkMethod(w, r, methods...); err != nil {
		return err
	}
	signIns, err := s.Host.Operator().SignIns(r.Context(), s.callerOf(r))
	if err != nil {
		return err
	}
	defer signIns.Close()
	var answer any
	switch {
	case id == "":
		answer, err = listSignIns(r, signIns)
	case verb == "revoke":
		answer, err = signIns.End(r.Context(), id)
	default:
		answer, err = signIns.Find(r.Context(), id)
	}
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, answer)
	return nil
}

// listSignIns returns one page of the sign-ins that the caller may see: ?subject=&client=&limit=&after=.
func listSignIns(r *http.Request, signIns *operator.SignIns) (*signInPage, error) {
	values := r.URL.Query()
	q := grant.Query{Limit: SignInPageSize}
	for name, given := range values {
		switch text := given[len(given)-1]; name {
		case "subject":
			q.Subject = text
		case "client":
			q.Client = text
		case "after":
			q.After = text
		case "limit":
			n, err := strconv.Atoi(text)
			if err != nil || n < 1 || n > SignInPageSize {
				return nil, newError(http.StatusUnprocessableEntity,
					"limit must be a number from 1 to "+strconv.Itoa(SignInPageSize))
			}
			q.Limit = n
		default:
			return nil, newError(http.StatusUnprocessableEntity,
				"Unknown parameter. The parameters are subject, client, limit and after")
		}
	}
	page := new(signInPage)
	var err error
	page.SignIns, page.Next, err = signIns.List(r.Context(), q)
	if page.SignIns == nil {
		page.SignIns = []*grant.SignIn{}
	}
	return page, err
}

// describeSignInError returns the response to an error about sign-ins, and sets the header that belongs to it.
func describeSignInError(w http.ResponseWriter, err error) *Error {
	switch {
	case errors.Is(err, grant.ErrNotFound):
		return newError(http.StatusNotFound, "Sign-in not found. It may have ended")
	case errors.Is(err, grant.ErrCursor):
		return newError(http.StatusUnprocessableEntity, "after must be the next of an earlier page")
	case errors.Is(err, state.ErrUnavailable), errors.Is(err, state.ErrFull):
		w.Header().Set("Retry-After", "1")
		return newError(http.StatusServiceUnavailable, "The state store is unavailable. Try again in a moment")
	}
	return nil
}
