package runtime

import (
	"context"
	"net/http"

	"hatchel/hcl"
	"hatchel/runtime/auth"
	"hatchel/runtime/mcp"
)

// authentication makes what finds out who makes a request, and opens what TLS takes.
func (c *compiler) authentication() {
	cfg := c.g.Config
	if cfg.TLS != nil {
		opened, err := auth.OpenCertificates(cfg.TLS, c.build.Dir, c.build.Log)
		if err != nil {
			c.diags = append(c.diags, &hcl.Diagnostic{Summary: "Invalid certificates", Detail: "They cannot be used: " + err.Error() + ".", Subject: cfg.TLS.Range})
			return
		}
		c.g.certificates = opened
	}
	c.g.authenticator = auth.New(cfg.Auth, auth.Options{
		Issuers: c.build.Issuers, Certificates: c.g.certificates, Log: c.build.Log, Now: c.build.Now, Defer: c.g.cleanups.add,
	})
}

// Authenticator are those whom what is served now knows; nil when nobody is asked who they are.
func (h *Host) Authenticator() *auth.Callers { return h.current.Load().authenticator }

// Certificates are what TLS takes now; nil when what is served now says nothing of TLS.
func (h *Host) Certificates() *auth.Certificates { return h.current.Load().certificates }

// isAuthenticated reports whether a request may be served from the generation as far as it depends on who makes it: one over HTTP has been authenticated, by a credential
// that is good in this very configuration. Who has the other end of a pair of streams has started the process.
func (g *Generation) isAuthenticated(c *mcp.Caller) bool {
	return c.Header == nil || g.authenticator.Stands(c.Identity)
}

// admit is pin for a request of a caller. Who was admitted must leave.
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

// checkScopes refuses a caller who was not granted the scopes that the routine takes. Where nobody is asked who they are, nobody is asked for scopes.
func (r *operation) checkScopes(c *mcp.Caller) error {
	if len(r.requiredScopes) == 0 || c.Identity == nil || len(c.Identity.Lacks(r.requiredScopes)) == 0 {
		return nil
	}
	return mcp.InsufficientScope(r.requiredScopes)
}
