package server

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"hatchel/runtime/approval"
	"hatchel/runtime/mcp"
)

// Error is the JSON body of a request to /files or /approvals that failed.
type Error struct {
	HTTPStatus int    `json:"-"`
	Message    string `json:"error"` // a sentence for the caller

	// The state of an approval that was decided before; empty in all other errors.
	Status   approval.Status    `json:"status,omitempty"`
	Decision *approval.Decision `json:"decision,omitempty"`
}

func (e *Error) Error() string { return e.Message }

func newError(status int, message string) error { return &Error{HTTPStatus: status, Message: message} }

// internalError converts an error that the endpoint itself does not know.
func (s *Server) internalError(r *http.Request, err error) *Error {
	var protocol *mcp.Error
	switch {
	case errors.As(err, &protocol) && protocol.Code == mcp.CodeUnauthorized:
		return &Error{HTTPStatus: http.StatusUnauthorized, Message: protocol.Message}
	case errors.As(err, &protocol):
		return &Error{HTTPStatus: http.StatusServiceUnavailable, Message: protocol.Message}
	}
	s.Log.ErrorContext(r.Context(), "request failed", slog.String("path", r.URL.Path),
		slog.String("error", err.Error()))
	return &Error{
		HTTPStatus: http.StatusInternalServerError,
		Message:    "The request failed because of a problem on the server. The server's log has the reason",
	}
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
