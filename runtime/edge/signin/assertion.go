package signin

import (
	"errors"
	"net/http"
	"slices"

	"hatchel/internal/digest"
	"hatchel/runtime/durable/audit"
	"hatchel/runtime/durable/grant"
	"hatchel/runtime/edge/signin/client"
	"hatchel/runtime/edge/signin/provider"
)

// exchangeAssertion gives an access token for an identity assertion of the provider (ID-JAG). There is no consent page
// and no refresh token: the provider decides who may use which client.
func (q *request) exchangeAssertion() error {
	assertion := q.form.Get("assertion")
	if assertion == "" {
		return invalidRequest("assertion is missing")
	}
	asked, err := q.resource()
	if err != nil {
		return err
	}
	id, err := q.identifyClient()
	if err != nil {
		return err
	}
	c, err := q.findClient(id)
	switch {
	case err != nil:
		return err
	case !c.IsConfidential() && !q.decl.Assertions.Public:
		return &oauthError{status: 401, code: "invalid_client", text: "a client must authenticate to use an assertion"}
	case !c.MayUse(assertionGrant):
		return &oauthError{code: "unauthorized_client", text: "the client does not have this grant type"}
	}
	if failed := q.g.SignIn.Clients.Authenticate(q.Context(), c, q.Request, q.grants.Use); failed != nil {
		return clientError(failed)
	}
	a, err := q.g.SignIn.Provider.Assertion(q.Context(), provider.AssertionRequest{
		Assertion: assertion, Client: c.ID,
		AcceptsResource: func(resource string) bool { _, ok := q.ownResource(resource); return ok },
	})
	var failed *provider.Error
	switch {
	case errors.Is(err, provider.ErrUnavailable):
		return err
	case errors.As(err, &failed):
		return &oauthError{code: failed.Code, text: failed.Page}
	case err != nil:
		return err
	}
	resource := q.decl.Resource("")
	if a.Resource != "" {
		resource, _ = q.ownResource(a.Resource)
	}
	if asked != "" && asked != resource {
		return &oauthError{code: "invalid_target", text: "the assertion is for " + resource}
	}
	g := &grant.Grant{
		ID: grant.NewID(), Client: c.ID, ClientName: c.Name, ClientKind: kinds[c.Kind], Resource: resource,
		Began: q.now, Ends: q.now.Add(grant.TokenLife),
	}
	if err := q.g.SignIn.SetPerson(g, &a.Person); err != nil {
		return err
	}
	if g.Scopes = a.Scopes; q.form.Get("scope") != "" {
		g.Scopes = slices.DeleteFunc(q.words("scope"), func(s string) bool { return !slices.Contains(a.Scopes, s) })
	}
	switch admitted, err := q.admit(g); {
	case err != nil:
		return err
	case !admitted:
		return invalidGrant("this server does not admit this person")
	}
	first, err := q.grants.Use(q.Context(), digest.Of("assertion", q.decl.Assertions.Issuer, a.ID).String(), a.Ends)
	switch {
	case err != nil:
		return err
	case !first:
		q.record(&event{outcome: audit.Replayed, grant: g, text: "The assertion was used before"})
		return invalidGrant("the assertion was used before")
	}
	if err := q.recordFirst(&event{outcome: audit.Asserted, grant: g, rule: q.rule()}); err != nil {
		return err
	}
	return q.issue(g, "")
}

// findClient returns the client with an ID, which is not authenticated.
func (q *request) findClient(id string) (*client.Client, error) {
	c, err := q.g.SignIn.Clients.Find(q.Context(), id, q.network)
	var refused *client.Refusal
	switch {
	case errors.As(err, &refused) && refused.Status == http.StatusTooManyRequests:
		return nil, tooMany
	case errors.As(err, &refused):
		return nil, &oauthError{status: http.StatusUnauthorized, code: "invalid_client", text: refused.Text}
	}
	return c, err
}
