package http

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"

	"hatchel/adapters"
	"hatchel/hcl"
)

// auth is an auth block.
type auth struct {
	Bearer hcl.SecretText
	Basic  *hcl.KeyValues
	Header *hcl.KeyValues
	Query  *hcl.KeyValues
	OAuth2 *oauth2
}

func (a *auth) spec() hcl.Spec {
	return hcl.ExactlyOneOf("how to sign in",
		hcl.Attr(&a.Bearer, "bearer", "A token, sent as `Authorization: Bearer …`."),
		hcl.Attr(&a.Basic, "basic", "A user name and a password, such as "+
			`{ username = "reports", password = secret.shop }.`).AllowSecret().FixedKeys(),
		hcl.Attr(&a.Header, "header",
			"Headers that contain keys, such as { X-Api-Key = secret.key }.").AllowSecret().FixedKeys(),
		hcl.Attr(&a.Query, "query",
			"Query parameters that contain keys, such as { appid = secret.key }.").AllowSecret().FixedKeys(),
		hcl.Block(&a.OAuth2, "oauth2", "OAuth 2.0 client credentials. A token is fetched on first use and renewed "+
			"shortly before it expires. With exchange, each caller has a token of their own.", (*oauth2).spec),
	)
}

func (a *auth) check(checks *adapters.Checks) {
	checkHeaderNames(checks, &a.Header, a.Header.Names())
	checks.Refuse(!isHeaderValue(a.Bearer.Reveal()), &a.Bearer,
		"The token contains a line break or another control character.")
	if a.Basic != nil {
		names := slices.Sorted(slices.Values(a.Basic.Names()))
		checks.Refuse(!slices.Equal(names, []string{"password", "username"}), &a.Basic,
			"basic must have a username and a password: { username = …, password = … }.")
	}
	if a.OAuth2 != nil {
		a.OAuth2.check(checks)
	}
}

// onBehalfOf returns the field that makes requests on behalf of the caller, or nil if it is not set.
func (a *auth) onBehalfOf() any {
	if a == nil || a.OAuth2 == nil || !a.OAuth2.Exchange {
		return nil
	}
	return &a.OAuth2.Exchange
}

// authorizer adds credentials to a request. In a dry run it fetches no token.
type authorizer interface {
	authorize(ctx context.Context, f *hcl.Frame, r *compiledRequest) error
}

// tokenAuthorizer is an authorizer that fetches tokens.
type tokenAuthorizer interface {
	authorizer
	// invalidate drops the token of a request, which the service has rejected.
	invalidate(r *compiledRequest)
}

func (a *auth) authorizer(s *service, env adapters.Env) authorizer {
	switch {
	case a.Basic != nil:
		return basicAuth{a.Basic}
	case a.Header != nil:
		return headerKeys{a.Header}
	case a.Query != nil:
		return queryKeys{a.Query}
	case a.OAuth2 != nil:
		return a.OAuth2.authorizer(s, env)
	}
	return bearerToken(a.Bearer)
}

type bearerToken hcl.SecretText

func (b bearerToken) authorize(_ context.Context, _ *hcl.Frame, r *compiledRequest) error {
	token := hcl.SecretText(b).Reveal()
	r.setAuthorization("Bearer ", token, token)
	return nil
}

type basicAuth struct{ entries *hcl.KeyValues }

func (b basicAuth) authorize(_ context.Context, f *hcl.Frame, r *compiledRequest) error {
	entries, err := b.entries.Eval(f)
	if err != nil {
		return &adapters.Fault{Message: err.Error()}
	}
	parts := map[string]string{}
	for _, e := range entries {
		if parts[e.Name], err = scalar(e.Value); err != nil {
			return &adapters.Fault{Message: fmt.Sprintf("the %s %v", e.Name, err)}
		}
	}
	encoded := base64.StdEncoding.EncodeToString([]byte(parts["username"] + ":" + parts["password"]))
	r.setAuthorization("Basic ", encoded, encoded, parts["password"])
	return nil
}

// setAuthorization sets the Authorization header and records its secrets.
func (r *compiledRequest) setAuthorization(scheme, credentials string, secrets ...string) {
	if r.dryRun {
		credentials = hcl.Hidden
	}
	r.secrets = append(r.secrets, secrets...)
	r.header["Authorization"] = []string{scheme + credentials}
}

type headerKeys struct{ entries *hcl.KeyValues }

func (k headerKeys) authorize(_ context.Context, f *hcl.Frame, r *compiledRequest) error {
	return r.addHeaders(f, k.entries)
}

type queryKeys struct{ entries *hcl.KeyValues }

func (k queryKeys) authorize(_ context.Context, f *hcl.Frame, r *compiledRequest) error {
	entries, err := k.entries.Eval(f)
	if err != nil {
		return &adapters.Fault{Message: err.Error()}
	}
	for _, e := range entries {
		text, err := scalar(e.Value)
		if err != nil {
			return &adapters.Fault{Message: fmt.Sprintf("the query parameter %s %v", e.Name, err)}
		}
		r.addSecret(text)
		r.setQuery(parameter{e.Name, text, true})
	}
	return nil
}
