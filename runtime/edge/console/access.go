package console

import (
	"slices"
	"strconv"

	"hatchel/hcl"
)

// permission returns why the person who is signed in may not open a page, or post a form; empty if they may.
type permission func(*Console, *request) (refusal string)

// adminGroup is the group of the callers that operate a server with an auth block.
const adminGroup = "admin"

// Reasons of refusals that several permissions have.
const (
	onlyAdmins     = "You may not see this page: it is for callers in the group " + adminGroup
	noCredentials  = "This page is for people with a key, and this server has no authentication"
	notByAllowRule = "You may not see this page: the rule allow of the console block decides who may look"
)

// permitSignedIn permits everybody who has a session.
func permitSignedIn(*Console, *request) string { return "" }

// permitViewer permits those whom allow of the console block permits; without allow, those who operate the server.
func permitViewer(_ *Console, q *request) string {
	switch {
	case q.isViewer:
		return ""
	case q.block.Allow == nil:
		return onlyAdmins
	}
	return notByAllowRule
}

// permitIdentifiedViewer permits viewers with an identity, which nobody has without authentication.
func permitIdentifiedViewer(c *Console, q *request) string {
	if q.session.Identity == nil {
		return noCredentials
	}
	return permitViewer(c, q)
}

// permitOperator permits viewers who operate the server.
func permitOperator(c *Console, q *request) string {
	if refusal := permitIdentifiedViewer(c, q); refusal != "" || q.isAdmin() {
		return refusal
	}
	return onlyAdmins
}

// permitPlan and permitCall permit viewers if try of the block does.
func permitPlan(c *Console, q *request) string {
	return permitTry(c, q, q.block.Try != hcl.TryNone)
}

func permitCall(c *Console, q *request) string {
	return permitTry(c, q, q.block.Try == hcl.TryCall)
}

func permitTry(c *Console, q *request, offered bool) string {
	if refusal := permitViewer(c, q); refusal != "" || offered {
		return refusal
	}
	return "This is not offered here: try of the console block is " + strconv.Quote(string(q.block.Try))
}

// permitApprovals permits viewers and approvers.
func permitApprovals(c *Console, q *request) string {
	if q.isViewer {
		return ""
	}
	const refusal = "You may not see this page: the rule allow of the console block and the approvals block decide " +
		"who may"
	admin, err := c.Host.Operator().ApprovalAdmin(q.Context(), q.caller)
	if err != nil {
		return refusal
	}
	defer admin.Close()
	if !admin.CanDecideAny() {
		return refusal
	}
	return ""
}

// permitDecision permits those who see approvals and have an identity. Each approval says whether they may decide it.
func permitDecision(c *Console, q *request) string {
	if q.session.Identity == nil {
		return noCredentials
	}
	return permitApprovals(c, q)
}

// setSession sets who is signed in, and whether they are a viewer.
func (c *Console) setSession(q *request, s *session) {
	identity := s.identity()
	c.Host.Authenticator().Own().AddToken(identity)
	q.session, q.caller = s, newCaller(identity, q.remote)
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
