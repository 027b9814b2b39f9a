package operator

import (
	"context"
	"log/slog"
	"slices"

	"hatchel/runtime/durable/audit"
	"hatchel/runtime/durable/grant"
	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/edge/served"
)

// SignIns lists and ends sign-ins for one caller: their own, and those of everybody for an admin. It must be closed.
type SignIns struct {
	g       *served.Served
	release func()
	grants  *grant.Store
	caller  *mcp.Caller
	isAdmin bool
}

// adminGroup is the group of the callers that operate a server with an auth block.
const adminGroup = "admin"

// SignIns returns the sign-ins that a caller may see. The error is a ForbiddenError for a caller without an identity
// and where the configuration lets nobody sign in; other errors are those of the state store.
func (o *Operator) SignIns(ctx context.Context, c *mcp.Caller) (*SignIns, error) {
	g, release, err := o.server.Admit(ctx, c)
	if err != nil {
		return nil, err
	}
	s := &SignIns{g: g, release: release, caller: c}
	switch {
	case g.SignIn == nil:
		err = newForbiddenError("The configuration of this server has no sign_in block, so there are no sign-ins")
	case c.Identity == nil:
		err = newForbiddenError("Sign-ins are for callers with a credential")
	default:
		s.isAdmin = slices.Contains(c.Identity.Groups, adminGroup)
		s.grants, err = o.State.Grants(ctx)
	}
	if err != nil {
		release()
		return nil, err
	}
	return s, nil
}

// Close releases the configuration.
func (s *SignIns) Close() { s.release() }

// IsAdmin reports whether the caller sees the sign-ins of everybody.
func (s *SignIns) IsAdmin() bool { return s.isAdmin }

// List returns a page of the sign-ins that the caller may see, and the cursor of the next page.
func (s *SignIns) List(ctx context.Context, q grant.Query) (list []*grant.SignIn, next string, err error) {
	if !s.isAdmin {
		q.Owner = s.caller.Owner()
	}
	return s.grants.List(ctx, q)
}

// Find returns a sign-in that the caller may see. The error is grant.ErrNotFound for another one, too.
func (s *SignIns) Find(ctx context.Context, id string) (*grant.SignIn, error) {
	g, err := s.grants.Find(ctx, id)
	switch {
	case err != nil:
		return nil, err
	case g == nil, !s.isAdmin && g.Owner() != s.caller.Owner():
		return nil, grant.ErrNotFound
	}
	return g.SignIn(), nil
}

// End ends a sign-in that the caller may see, and returns what it was. All processes refuse its tokens within a second.
func (s *SignIns) End(ctx context.Context, id string) (*grant.SignIn, error) {
	found, err := s.Find(ctx, id)
	if err != nil {
		return nil, err
	}
	ended, err := s.grants.Revoke(ctx, id)
	switch {
	case err != nil:
		return nil, err
	case !ended:
		return nil, grant.ErrNotFound
	}
	s.g.Env.Log.InfoContext(ctx, "sign-in revoked", slog.String("sign_in", found.ID),
		slog.String("subject", found.Subject), slog.String("by", s.caller.Subject))
	s.g.Metrics.SignIn(audit.Revoked)
	if s.g.Audit != nil {
		s.g.Record(ctx, revocationRecord(s.g, s.g.Env.AuditRecord(audit.EventSignIn, s.caller, nil), found))
	}
	return found, nil
}

// revocationRecord makes a record say that a sign-in was revoked by its caller.
func revocationRecord(g *served.Served, r *audit.Record, ended *grant.SignIn) *audit.Record {
	r.ID, r.Outcome, r.Kind = ended.ID, audit.Revoked, "client"
	r.Name, r.URI = g.Env.Scrubber.Text(ended.Client.Recorded()), g.Env.Scrubber.Text(ended.Resource)
	r.Message = g.Env.Scrubber.Text("The sign-in " + ended.ID + " of " + ended.Subject)
	return r
}

// RecordRevocations implements store.Observer. It records the sign-ins that commands have ended in the state, unless
// another process does.
func (o *Operator) RecordRevocations(ctx context.Context, grants *grant.Store) (left bool) {
	o.withAuditLog(func(g *served.Served) {
		var err error
		left, err = grants.RecordUnrecorded(ctx, func(revoked grant.Revocation) error {
			r := audit.NewRecord(audit.EventSignIn, audit.Common{
				Caller: audit.Caller{Subject: revoked.By}, Revision: g.Config.ID,
			})
			return g.Env.Audit.Append(revocationRecord(g, r, revoked.SignIn), true)
		})
		if err != nil {
			g.Env.LogFailure(ctx, slog.LevelError, "recording of revocations failed", err)
		}
	})
	return left
}
