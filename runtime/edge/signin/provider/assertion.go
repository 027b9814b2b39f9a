package provider

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"hatchel/runtime/edge/auth/issuer"
)

// AssertionRequest is a token request with an identity assertion.
type AssertionRequest struct {
	Assertion string
	Client    string // that has authenticated, or is a client without authentication

	AcceptsResource func(resource string) bool // whether this server issues tokens for it
}

// Assertion is what a valid identity assertion says.
type Assertion struct {
	Person
	ID       string    // it must be used once
	Ends     time.Time // the ID must be remembered until then
	Resource string    // empty for the one of all toolsets
	Scopes   []string  // nil if it has no claim scope, which grants none
}

const (
	assertionType    = "oauth-id-jag+jwt"
	maxAssertionLife = 10 * time.Minute
	maxAssertionID   = 256 // bytes
)

// Assertion verifies an identity assertion (ID-JAG, draft-ietf-oauth-identity-assertion-authz-grant, section 5). The
// caller must refuse one whose ID was used before, and a client without authentication unless it is declared that these
// are accepted. The error is an *Error, of which the page is a description for the client.
func (p *Provider) Assertion(ctx context.Context, r AssertionRequest) (*Assertion, error) {
	refuse := func(format string, args ...any) (*Assertion, error) {
		text := "the assertion " + fmt.Sprintf(format, args...)
		return nil, &Error{Page: text, Log: text, Code: codeInvalidGrant}
	}
	s := p.declared
	if p.assertions == nil {
		return nil, &Error{
			Page: "this server accepts no assertions", Log: "this server accepts no assertions",
			Code: "unsupported_grant_type",
		}
	}
	if !slices.Contains(s.Assertions.Clients, r.Client) {
		const text = "this client may not use assertions"
		return nil, &Error{Page: text, Log: text, Code: "unauthorized_client"}
	}
	token, claims, err := verify(ctx, p.assertions, r.Assertion)
	if err != nil {
		if e := verificationError("", err); errors.Is(e, ErrUnavailable) {
			return nil, e
		}
		return refuse("%s", strings.Replace(tokenFault(err), "another client", "another server", 1))
	}
	kind, _ := token.Header["typ"].(string)
	if strings.TrimPrefix(strings.ToLower(kind), "application/") != assertionType {
		return refuse("has another type than %s", assertionType)
	}
	id, _ := claims["jti"].(string)
	issued, _ := token.Claims.GetIssuedAt()
	expires, _ := token.Claims.GetExpirationTime()
	audiences, resources := issuer.Texts(claims["aud"]), issuer.Texts(claims["resource"])
	_, names := claims["resource"]
	switch {
	case len(audiences) != 1:
		return refuse("is for several servers")
	case claims["client_id"] != r.Client:
		return refuse("is for another client")
	case id == "" || len(id) > maxAssertionID:
		return refuse("has no claim jti of at most %d bytes", maxAssertionID)
	case issued == nil || expires == nil:
		return refuse("has no claim iat")
	case expires.Sub(issued.Time) > maxAssertionLife || !expires.After(issued.Time):
		return refuse("is valid for longer than %v", maxAssertionLife)
	case claims["cnf"] != nil:
		return refuse("is bound to a key, whose proof this server does not verify")
	case names && (len(resources) != 1 || !r.AcceptsResource(resources[0])):
		return refuse("is for a resource that this server does not have")
	}
	var person *Person
	if err = checkOverage(s, claims); err == nil {
		person, err = mapPerson(s, claims)
	}
	if e, ok := errors.AsType[*Error](err); ok { // for a client, which has no person before it
		return nil, &Error{Page: e.Log, Log: e.Log, Code: codeInvalidGrant}
	}
	a := &Assertion{Person: *person, ID: id, Ends: expires.Add(s.ClockSkew), Scopes: issuer.Scopes(claims)}
	if names {
		a.Resource = resources[0]
	}
	return a, nil
}
