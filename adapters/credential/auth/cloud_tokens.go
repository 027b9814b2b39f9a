package auth

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"hatchel/adapters"
	"hatchel/adapters/credential"
	"hatchel/adapters/credential/entra"
)

// tokenSource has the access token of the machine in a cloud.
type tokenSource interface {
	Token(ctx context.Context) (string, error)
	Invalidate(token string)
	Status() credential.Status
	Identity() string
}

// cloudTokens adds the token of the machine to requests.
type cloudTokens struct {
	authorizer *Authorizer
	source     tokenSource
	of         fmt.Stringer // describes the tokens, for people
}

// behalfTokens adds tokens on behalf of callers to requests.
type behalfTokens struct {
	authorizer *Authorizer
	source     *entra.OnBehalf
}

func (a *Authorizer) openEntra(
	fetches *credential.Fetches, cloud *credential.Cloud, env adapters.Env,
) (bearer, error) {
	b := a.block.entra
	if b.OnBehalfOf {
		source, err := entra.NewOnBehalf(fetches, cloud, b, env)
		return &behalfTokens{authorizer: a, source: source}, err
	}
	source, err := b.Source(fetches, cloud, env)
	return &cloudTokens{authorizer: a, source: source, of: b}, err
}

// announce has a request say which token it will have. It reports whether that is all, because nothing is fetched.
func (a *Authorizer) announce(r Request, of fmt.Stringer) bool {
	if r.Call() != nil && !a.mocked {
		return false
	}
	r.SetHeader("Authorization", "Bearer ("+of.String()+")")
	return true
}

// use adds a token to a request, and hides it.
func (a *Authorizer) use(r Request, token string) {
	setAuthorization(r, "Bearer ", token)
	a.hideToken(r, token)
}

// sentToken returns the token of a request.
func sentToken(r Request) string { return strings.TrimPrefix(r.Header("Authorization"), "Bearer ") }

// authorize implements bearer.
func (t *cloudTokens) authorize(ctx context.Context, r Request) error {
	if t.authorizer.announce(r, t.of) {
		return nil
	}
	token, err := t.source.Token(ctx)
	if err == nil {
		t.authorizer.use(r, token)
	}
	return err
}

// invalidate implements bearer.
func (t *cloudTokens) invalidate(_ context.Context, r Request) { t.source.Invalidate(sentToken(r)) }

// credential implements bearer.
func (t *cloudTokens) credential() *adapters.CredentialState {
	return t.source.Status().State(t.source.Identity())
}

// check implements bearer.
func (t *cloudTokens) check(ctx context.Context) error {
	_, err := t.source.Token(ctx)
	return err
}

// authorize implements bearer.
func (t *behalfTokens) authorize(ctx context.Context, r Request) error {
	if t.authorizer.announce(r, t.authorizer.block.entra) {
		return nil
	}
	s, err := callerOf(ctx, r.Call())
	if err != nil {
		return err
	}
	r.Hide(s.Token)
	token, err := t.source.Token(ctx, s.Caller)
	switch {
	case errors.Is(err, entra.ErrSignInAgain):
		return &adapters.Fault{Message: msgSignInAgain, Cause: err, NotSent: true}
	case err != nil:
		return credential.SignInError(err)
	}
	t.authorizer.use(r, token)
	return nil
}

// invalidate implements bearer.
func (t *behalfTokens) invalidate(ctx context.Context, r Request) {
	if s, err := callerOf(ctx, r.Call()); err == nil {
		t.source.Invalidate(s.Caller, sentToken(r))
	}
}

// credential implements bearer. Each caller has a token of their own.
func (*behalfTokens) credential() *adapters.CredentialState { return nil }

// check implements bearer. Nobody has a token before the caller of a call.
func (*behalfTokens) check(context.Context) error { return nil }
