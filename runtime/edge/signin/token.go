package signin

import (
	"context"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"hatchel/internal/lazyregexp"
	"hatchel/runtime/durable/audit"
	"hatchel/runtime/durable/grant"
	"hatchel/runtime/edge/auth"
	"hatchel/runtime/edge/signin/client"
	"hatchel/runtime/edge/signin/provider"
)

// tokens is the response to a request for tokens (RFC 6749, section 5.1).
type tokens struct {
	Access  string `json:"access_token"`
	Type    string `json:"token_type"`
	Seconds int    `json:"expires_in"`
	Refresh string `json:"refresh_token,omitempty"`
	Scope   string `json:"scope,omitempty"`
}

func invalidGrant(text string) *oauthError { return &oauthError{code: "invalid_grant", text: text} }

// token answers a request for tokens.
func (s *Server) token(q *request) error {
	if err := q.checkRepeated(); err != nil {
		return err
	}
	switch kind := q.form.Get("grant_type"); {
	case kind == "authorization_code":
		return q.redeem()
	case kind == "refresh_token":
		return q.refresh()
	case kind == assertionGrant && q.decl.Assertions != nil:
		return q.exchangeAssertion()
	case kind == "":
		return invalidRequest("grant_type is missing")
	}
	return &oauthError{code: "unsupported_grant_type", text: "grant_type must be authorization_code or refresh_token"}
}

// redeem gives the first tokens for a code.
func (q *request) redeem() error {
	code, verifier := q.form.Get("code"), q.form.Get("code_verifier")
	switch {
	case code == "":
		return invalidRequest("code is missing")
	case verifier == "":
		return invalidRequest("code_verifier is missing")
	case !verifierForm.MatchString(verifier):
		return invalidRequest("code_verifier must have 43 to 128 letters, digits, and characters of -._~")
	}
	resource, err := q.resource()
	if err != nil {
		return err
	}
	caller, err := q.identifyClient()
	if err != nil {
		return err
	}
	g, refresh, err := q.grants.Redeem(q.Context(), code, func(g *grant.Grant) error {
		redirect := q.form.Get("redirect_uri")
		switch {
		case g.Client != caller:
			return invalidGrant("the code was issued to another client")
		case redirect != "" && redirect != g.Redirect:
			return invalidGrant("redirect_uri is not the one of the request for authorization")
		case subtle.ConstantTimeCompare([]byte(challengeOf(verifier)), []byte(g.Challenge)) != 1:
			return invalidGrant("code_verifier does not belong to the code")
		case resource != "" && resource != g.Resource:
			return &oauthError{code: "invalid_target", text: "the code is for " + g.Resource}
		}
		return q.checkGrant(g)
	})
	if err != nil {
		return q.grantFailure(g, err, "code")
	}
	return q.issue(g, refresh)
}

// identifyClient returns the id of the client that a request names. Nothing of it is verified.
func (q *request) identifyClient() (string, error) {
	id, failed := client.IDOf(q.Request)
	if failed != nil {
		return "", clientError(failed)
	}
	return id, nil
}

// authenticate authenticates the client of a grant, as it was when the person consented.
func (q *request) authenticate(g *grant.Grant) error {
	if q.authenticated { // with an assertion, which can be used once
		return nil
	}
	c, err := q.g.SignIn.Clients.Resume(client.Kept{
		ID: g.Client, IsDeclared: g.ClientKind == grant.Declared, Redirect: g.Redirect, Keys: g.ClientKeys,
	})
	var refused *client.Refusal
	if errors.As(err, &refused) {
		return &oauthError{status: http.StatusUnauthorized, code: "invalid_client", text: refused.Text}
	}
	if err != nil {
		return err
	}
	if failed := q.g.SignIn.Clients.Authenticate(q.Context(), c, q.Request, q.grants.Use); failed != nil {
		return clientError(failed)
	}
	q.authenticated = true
	return nil
}

// clientError returns why a client is not authenticated.
func clientError(e *client.Error) error {
	failed := &oauthError{status: e.Status, code: e.Code, text: e.Text, basic: e.Basic}
	if e.Status == http.StatusServiceUnavailable {
		failed.retry = "5"
	}
	return failed
}

// verifierForm is the form of verifiers (RFC 7636, section 4.1). A shorter one could be guessed.
var verifierForm = lazyregexp.New(`^[A-Za-z0-9._~-]{43,128}$`)

// challengeOf returns the challenge of a verifier with S256.
func challengeOf(verifier string) string {
	return base64.RawURLEncoding.EncodeToString(hashOf(verifier))
}

// checkGrant authenticates the client of a grant, and checks that the person is still admitted.
func (q *request) checkGrant(g *grant.Grant) error {
	if err := q.authenticate(g); err != nil {
		return err
	}
	return q.checkPerson(g)
}

// refresh gives the next tokens for a refresh token.
func (q *request) refresh() error {
	token := q.form.Get("refresh_token")
	if token == "" {
		return invalidRequest("refresh_token is missing")
	}
	resource, err := q.resource()
	if err != nil {
		return err
	}
	caller, err := q.identifyClient()
	if err != nil {
		return err
	}
	narrows := len(q.words("scope")) > 0
	asked := q.declaredScopes(q.words("scope")) // others are ignored, as in the request for authorization
	check := func(g *grant.Grant) error {
		switch {
		case g.Client != caller:
			return invalidGrant("the token was issued to another client")
		case resource != "" && resource != g.Resource:
			return &oauthError{code: "invalid_target", text: "the token is for " + g.Resource}
		case slices.ContainsFunc(asked, func(scope string) bool { return !slices.Contains(g.Scopes, scope) }):
			return &oauthError{code: "invalid_scope", text: "a refresh token has no more scopes than its sign-in"}
		}
		return q.checkGrant(g)
	}
	g, next, err := q.grants.Refresh(q.Context(), token, check, q.renew)
	if err != nil {
		return q.grantFailure(g, err, "refresh token")
	}
	if err := q.recordFirst(&event{outcome: audit.Refreshed, grant: g, rule: q.rule()}); err != nil {
		return err
	}
	narrowed := *g
	if narrows {
		isOther := func(s string) bool { return !slices.Contains(asked, s) }
		narrowed.Scopes = slices.DeleteFunc(slices.Clone(g.Scopes), isOther)
	}
	return q.issue(&narrowed, next)
}

// renew renews a grant with the refresh token of the provider.
func (q *request) renew(ctx context.Context, g *grant.Grant) error {
	if !q.enter(ctx, &q.server.back) {
		return unavailable
	}
	err := q.g.SignIn.Renew(ctx, g)
	if err != nil {
		q.logProvider(err)
	}
	if errors.Is(err, grant.ErrEnded) {
		q.record(&event{outcome: audit.Revoked, grant: g, rule: providerRule, text: "The provider has ended it"})
	}
	return err
}

// checkPerson checks that the rules of the server admit the person of a grant.
func (q *request) checkPerson(g *grant.Grant) error {
	if g.Digest != q.decl.Digest() {
		if err := q.g.SignIn.MapAgain(g); err != nil {
			return invalidGrant("the server signs people in differently now; sign in again")
		}
	}
	admitted, err := q.admit(g)
	if err == nil && !admitted {
		err = invalidGrant("this server does not admit this person any more")
	}
	return err
}

// issue answers with an access token and a refresh token; an empty one is left out.
func (q *request) issue(g *grant.Grant, refresh string) error {
	access, ends, err := q.g.Authenticator.Own().Issue(g)
	if errors.Is(err, auth.ErrTokenTooLarge) {
		q.server.Log.ErrorContext(q.Context(), "access token not issued", slog.String("subject", g.Subject),
			slog.String("error", err.Error()))
		return &oauthError{code: "invalid_grant", text: auth.ErrTokenTooLarge.Error()}
	}
	if err != nil {
		return err
	}
	q.giveBack()
	writeJSON(q.writer, http.StatusOK, &tokens{
		Access: access, Type: "Bearer", Seconds: int(ends.Sub(q.now) / time.Second), Refresh: refresh,
		Scope: strings.Join(g.Scopes, " "),
	})
	return nil
}

// grantFailure returns the answer to a failure of a code or of a refresh token.
func (q *request) grantFailure(g *grant.Grant, err error, what string) error {
	var known *oauthError
	var failed *provider.Error
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &failed) && !errors.Is(err, provider.ErrUnavailable) && !errors.Is(err, grant.ErrEnded):
		return invalidGrant(failed.Page) // what the provider says of the person is not accepted
	case errors.Is(err, grant.ErrReplayed):
		q.record(&event{outcome: audit.Replayed, grant: g, text: "The " + what + " was used before"})
		return invalidGrant("the " + what + " was used before; all sessions of this sign-in have ended")
	case errors.Is(err, grant.ErrInvalid):
		return invalidGrant("the " + what + " is not valid, or has expired")
	case errors.Is(err, grant.ErrEnded):
		return invalidGrant("the provider does not know this person any more; sign in again")
	}
	return err
}
