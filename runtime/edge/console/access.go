package console

import (
	"slices"

	"hatchel/hcl"
)

// permission reports whether the person who is signed in may open a page, or post a form.
type permission func(*Console, *request) bool

// adminGroup is the group of the callers that operate a server with an auth block.
const adminGroup = "admin"

// isSignedIn permits everybody who has a session.
func isSignedIn(*Console, *request) bool { return true }

// isViewer permits those whom allow of the console block permits; without allow, those who operate the server.
func isViewer(_ *Console, q *request) bool { return q.isViewer }

// isIdentifiedViewer permits viewers with an identity, which nobody has without authentication.
func isIdentifiedViewer(_ *Console, q *request) bool { return q.isViewer && q.session.Identity != nil }

// isOperator permits viewers who operate the server.
func isOperator(_ *Console, q *request) bool { return q.isViewer && q.isAdmin() }

// mayPlan and mayCall permit viewers if try of the block does.
func mayPlan(_ *Console, q *request) bool { return q.isViewer && q.block.Try != hcl.TryNone }
func mayCall(_ *Console, q *request) bool { return q.isViewer && q.block.Try == hcl.TryCall }

// maySeeApprovals permits viewers and approvers.
func maySeeApprovals(c *Console, q *request) bool {
	if q.isViewer {
		return true
	}
	admin, err := c.Host.Operator().ApprovalAdmin(q.Context(), q.caller)
	if err != nil {
		return false
	}
	defer admin.Close()
	return admin.CanDecideAny()
}

// mayDecide permits those who see approvals and have an identity. Each approval says whether they may decide it.
func mayDecide(c *Console, q *request) bool {
	return q.session.Identity != nil && maySeeApprovals(c, q)
}

// setSession sets who is signed in, and whether they are a viewer.
func (c *Console) setSession(q *request, s *session) {
	q.session, q.caller = s, newCaller(s.identity(), q.remote)
	if q.block.Allow != nil {
		q.isViewer = c.Host.Operator().AllowsConsole(q.Context(), q.caller)
	} else {
		q.isViewer = c.Host.Authenticator() == nil || q.isAdmin()
	}
}

// isAdmin reports whether the person who is signed in is in the group admin.
func (q *request) isAdmin() bool {
	i := q.session.Identity
	return i != nil && slices.Contains(i.Groups, adminGroup)
}
