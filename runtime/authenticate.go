package runtime

import (
	"context"
	"net/http"

	"hatchel/runtime/auth"
	"hatchel/runtime/mcp"
)

// Authenticator returns what authenticates callers now; nil without authentication.
func (h *Host) Authenticator() *auth.Authenticator { return h.current.Load().authenticator }

// Certificates returns the certificates of TLS; nil when the configuration has none.
func (h *Host) Certificates() *auth.Certificates { return h.current.Load().certificates }

// isAuthenticated reports whether the generation may serve a request as far as that depends on who
// makes it: a caller over HTTP has a credential that is valid in this configuration, and a caller
// on stdio has started the process.
func (g *Generation) isAuthenticated(c *mcp.Caller) bool {
	return c.Header == nil || g.authenticator.StillValid(c.Identity)
}

// stillKnown is isAuthenticated, also for the caller of a call that has become a task in the
// meantime.
func (g *Generation) stillKnown(c *mcp.Caller) bool {
	if i := c.Identity; c.Header == nil && i != nil && i.Grant != "" {
		return g.authenticator.StillValid(i)
	}
	return g.isAuthenticated(c)
}

// admit is pin for the request of a caller. A request that was admitted must leave.
func (h *Host) admit(ctx context.Context, c *mcp.Caller) (*Generation, error) {
	g := h.pin()
	switch {
	case g == nil:
		return nil, errClosed
	case !g.isAuthenticated(c):
		g.leave()
		err := mcp.Unauthorized()
		h.RecordRefusal(ctx, Refusal{Status: http.StatusUnauthorized, Reason: err.Message, Caller: c})
		return nil, err
	}
	return g, nil
}
