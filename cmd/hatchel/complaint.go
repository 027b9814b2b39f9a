package main

import (
	"errors"
	"log/slog"
	"net/http"

	"hatchel/runtime/approval"
	"hatchel/runtime/mcp"
)

// complaint is a request about approvals or files that is not done, and why.
type complaint struct {
	status   int
	Text     string             `json:"error"`
	Status   approval.Status    `json:"status,omitempty"` // what has become of it already
	Decision *approval.Decision `json:"decision,omitempty"`
}

func (c *complaint) Error() string { return c.Text }

func complain(status int, text string) error { return &complaint{status: status, Text: text} }

// failed is the complaint about a request that was not done for a reason of the server: none that its own endpoint knows.
func (e *endpoints) failed(r *http.Request, err error) *complaint {
	var protocol *mcp.Error
	switch {
	case errors.As(err, &protocol) && protocol.Code == mcp.CodeUnauthorized:
		return &complaint{status: http.StatusUnauthorized, Text: protocol.Message}
	case errors.As(err, &protocol):
		return &complaint{status: http.StatusServiceUnavailable, Text: protocol.Message}
	}
	e.reloader.log.LogAttrs(r.Context(), slog.LevelError, "a request is not answered", slog.String("path", r.URL.Path), slog.String("error", err.Error()))
	return &complaint{status: http.StatusInternalServerError, Text: "This is a problem on the server. Its log has the reason"}
}
