package http

import (
	"context"
	"encoding/base64"
	"slices"
	"strings"

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
		hcl.Headers(&a.Header, "header", "Headers that contain keys, such as { X-Api-Key = secret.key }.").
			FixedKeys().Credentials(),
		hcl.Headers(&a.Query, "query",
			"Query parameters that contain keys, such as { appid = secret.key }.").FixedKeys().Credentials(),
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
		checks.Refuse(strings.Contains(a.Basic.Constant("username"), ":"), &a.Basic,
			"The user name of basic must not contain a colon, because a colon ends it.")
	}
	if a.OAuth2 != nil {
		a.OAuth2.check(checks)
	}
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

// headerNames returns the names of the headers that authenticate requests.
func (a *auth) headerNames() []string {
	if a.Query != nil {
		return nil
	}
	return append(a.Header.Names(), "Authorization")
}

// authorize implements authorizer for credentials that the configuration contains.
func (a *auth) authorize(_ context.Context, f *hcl.Frame, r *compiledRequest) error {
	switch {
	case a.Basic != nil:
		return r.setBasicAuth(f, a.Basic)
	case a.Header != nil:
		return r.addHeaders(f, a.Header, nil)
	case a.Query != nil:
		return eachEntry(f, a.Query, "query parameter ", scalar, func(name, text string, _ bool) error {
			r.addSecret(text)
			r.setQuery(name, text, true)
			return nil
		})
	}
	token := a.Bearer.Reveal()
	r.setAuthorization("Bearer ", token, token)
	return nil
}

// msgColonInUser is the message for a user name that no service can tell from the password (RFC 7617, section 2).
const msgColonInUser = "the user name of basic must not contain a colon, because a colon ends it"

func (r *compiledRequest) setBasicAuth(f *hcl.Frame, entries *hcl.KeyValues) error {
	parts := map[string]string{}
	err := eachEntry(f, entries, "", scalar, func(name, text string, _ bool) error {
		parts[name] = text
		return nil
	})
	if err == nil && strings.Contains(parts["username"], ":") {
		err = &adapters.Fault{Message: msgColonInUser}
	}
	encoded := base64.StdEncoding.EncodeToString([]byte(parts["username"] + ":" + parts["password"]))
	r.setAuthorization("Basic ", encoded, encoded, parts["password"])
	return err
}

// setAuthorization sets the Authorization header and records its secrets.
func (r *compiledRequest) setAuthorization(scheme, credentials string, secrets ...string) {
	if r.dryRun {
		credentials = hcl.Hidden
	}
	r.secrets = append(r.secrets, secrets...)
	r.header["Authorization"] = []string{scheme + credentials}
}
