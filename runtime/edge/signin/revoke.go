package signin

import (
	"net/http"

	"hatchel/runtime/durable/audit"
	"hatchel/runtime/durable/grant"
)

// revoke ends the sign-in of a refresh token or an access token (RFC 7009). It answers the same for a token that is not
// valid.
func (s *Server) revoke(q *request) error {
	if err := q.checkRepeated(); err != nil {
		return err
	}
	token := q.form.Get("token")
	if token == "" {
		return invalidRequest("token is missing")
	}
	caller, err := q.identifyClient()
	if err != nil {
		return err
	}
	id, ok := q.grants.IDOf(token)
	owner := ""
	if !ok {
		id, owner = q.g.Authenticator.Own().GrantOf(q.Context(), token)
	}
	g, err := q.grants.Find(q.Context(), id)
	if err != nil {
		return err
	}
	switch {
	case g == nil && owner != "" && !q.grants.Revoked(id):
		err = q.revokeAsserted(&grant.Grant{ID: id, Client: owner}, caller)
	case g != nil:
		err = q.revokeGrant(g, caller)
	}
	if err != nil {
		return err
	}
	q.writer.Header().Set("Cache-Control", "no-store")
	q.writer.WriteHeader(http.StatusOK)
	return nil
}

// revokeGrant ends a sign-in for its client.
func (q *request) revokeGrant(g *grant.Grant, caller string) error {
	if g.Client != caller {
		return errOtherClient
	}
	if err := q.authenticate(g); err != nil {
		return err
	}
	if _, err := q.grants.Revoke(q.Context(), g.ID); err != nil {
		return err
	}
	q.recordRevocation(g)
	return nil
}

// revokeAsserted ends the access token of an assertion for its client.
func (q *request) revokeAsserted(g *grant.Grant, caller string) error {
	if g.Client != caller {
		return errOtherClient
	}
	c, err := q.findClient(caller)
	if err != nil {
		return err
	}
	if failed := q.g.SignIn.Clients.Authenticate(q.Context(), c, q.Request, q.grants.Use); failed != nil {
		return clientError(failed)
	}
	if err := q.grants.RevokeTokens(q.Context(), g.ID); err != nil {
		return err
	}
	q.recordRevocation(g)
	return nil
}

func (q *request) recordRevocation(g *grant.Grant) {
	q.record(&event{outcome: audit.Revoked, grant: g, text: "The client has ended it"})
	q.giveBack()
}

var errOtherClient = invalidGrant("the token was issued to another client")
