package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/edge/operator"
	"hatchel/runtime/stage/approval"
	"hatchel/runtime/stage/files"
)

// Error is the JSON body of a request to /files, /approvals or /sign-ins that failed.
type Error struct {
	HTTPStatus int    `json:"-"`
	Message    string `json:"error"` // a sentence for the caller

	// The state of an approval that was decided before; empty in all other errors.
	Status   approval.Status    `json:"status,omitempty"`
	Decision *approval.Decision `json:"decision,omitempty"`
}

func (e *Error) Error() string { return e.Message }

func newError(status int, message string) *Error { return &Error{HTTPStatus: status, Message: message} }

// serveAPI answers a request to /files, /approvals or /sign-ins with handle, which has written nothing when it
// returns an error. Describe returns the response to an error that is neither a refusal nor an Error;
// nil for one that the endpoint does not know.
func (s *Server) serveAPI(w http.ResponseWriter, r *http.Request, handle func() error, describe func(error) *Error) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	err := checkEncoding(w, r)
	if err == nil {
		err = handle()
	}
	var forbid *operator.ForbiddenError
	var failed *Error
	switch {
	case err == nil:
		return
	case errors.As(err, &forbid):
		s.refuse(w, r, forbidden(forbid.Why))
		return
	case errors.Is(err, files.ErrSignature):
		s.refuse(w, r, forbidden("The URL is not signed, or its signature has expired"))
		return
	case !errors.As(err, &failed):
		if failed = describe(err); failed == nil {
			failed = s.internalError(r, err)
		}
	}
	closeIfUnread(w, r)
	if isUnder(r, "/files") {
		http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTimeout))
		s.audit(r, failed.HTTPStatus, failed.Message)
	}
	writeJSON(w, failed.HTTPStatus, failed)
}

// checkEncoding refuses a body that is compressed, which would be stored as it is.
func checkEncoding(w http.ResponseWriter, r *http.Request) error {
	encoding := strings.Join(r.Header["Content-Encoding"], ", ")
	if encoding == "" || strings.EqualFold(encoding, "identity") {
		return nil
	}
	w.Header().Set("Accept-Encoding", "identity")
	return newError(http.StatusUnsupportedMediaType, fmt.Sprintf("The Content-Encoding %.40q is not supported. "+
		"Send the body without it. A compressed file has a Content-Type of its own, such as application/gzip",
		encoding))
}

// internalError converts an error that the endpoint itself does not know.
func (s *Server) internalError(r *http.Request, err error) *Error {
	var protocol *mcp.Error
	switch {
	case errors.As(err, &protocol) && protocol.Code == mcp.CodeUnauthorized:
		return newError(http.StatusUnauthorized, protocol.Message)
	case errors.As(err, &protocol):
		return newError(http.StatusServiceUnavailable, protocol.Message)
	}
	s.Log.ErrorContext(r.Context(), "request failed", slog.String("path", r.URL.Path),
		slog.String("error", err.Error()))
	return newError(http.StatusInternalServerError,
		"The request failed because of a problem on the server. The server's log has the reason")
}

// checkMethod returns an error and sets the Allow header when a request has none of the methods.
func checkMethod(w http.ResponseWriter, r *http.Request, methods ...string) error {
	if slices.Contains(methods, r.Method) {
		return nil
	}
	allowed := strings.Join(methods, ", ")
	w.Header().Set("Allow", allowed)
	return newError(http.StatusMethodNotAllowed, "Use "+allowed)
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	out.Encode(v)
}

func capitalize(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	return strings.ToUpper(string(first)) + text[size:]
}
