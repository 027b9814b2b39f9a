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

func (a *auth) authorizer(s *service, env adapters.Env) authorizer {
	if a.OAuth2 != nil {
		return newTokens(a.OAuth2, s, env)
	}
	return a
}

// authorize implements authorizer for credentials that the configuration contains.
func (a *auth) authorize(_ context.Context, f *hcl.Frame, r *compiledRequest) error {
	switch {
	case a.Basic != nil:
		return r.setBasicAuth(f, a.Basic)
	case a.Header != nil:
		return r.addHeaders(f, a.Header)
	case a.Query != nil:
		return eachText(f, a.Query, "query parameter ", func(name, text string) {
			r.addSecret(text)
			r.setQuery(name, text, true)
		})
	}
	token := a.Bearer.Reveal()
	r.setAuthorization("Bearer ", token, token)
	return nil
}

func (r *compiledRequest) setBasicAuth(f *hcl.Frame, entries *hcl.KeyValues) error {
	parts := map[string]string{}
	if err := eachText(f, entries, "", func(name, text string) { parts[name] = text }); err != nil {
		return err
	}
	encoded := base64.StdEncoding.EncodeToString([]byte(parts["username"] + ":" + parts["password"]))
	r.setAuthorization("Basic ", encoded, encoded, parts["password"])
	return nil
}

// eachText calls do with the text of each entry of a map argument; kind precedes its name in a message.
func eachText(f *hcl.Frame, entries *hcl.KeyValues, kind string, do func(name, text string)) error {
	list, err := entries.Eval(f)
	if err != nil {
		return &adapters.Fault{Message: err.Error()}
	}
	for _, e := range list {
		text, err := scalar(e.Value)
		if err != nil {
			return &adapters.Fault{Message: fmt.Sprintf("the %s%s %v", kind, e.Name, err)}
		}
		do(e.Name, text)
	}
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
