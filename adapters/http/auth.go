package http

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/url"
	"slices"

	"hatchel/adapters"
	"hatchel/hcl"
)

// auth is an auth block: one way to sign in.
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
		hcl.Attr(&a.Basic, "basic", "A user name and a password, as in { username = \"reports\", password = secret.shop }.").AllowSecret().FixedKeys(),
		hcl.Attr(&a.Header, "header", "Headers that hold keys, as in { X-Api-Key = secret.key }.").AllowSecret().FixedKeys(),
		hcl.Attr(&a.Query, "query", "Query parameters that hold keys, as in { appid = secret.key }.").AllowSecret().FixedKeys(),
		hcl.Block(&a.OAuth2, "oauth2", "Client credentials: a token is fetched when it is needed and kept until shortly before it expires. With exchange there is one for each caller.", (*oauth2).spec),
	)
}

func (a *auth) check() []error {
	errs := headerNames(&a.Header, a.Header.Names())
	if !headerText(a.Bearer.Reveal()) {
		errs = append(errs, hcl.Blame(&a.Bearer, "The token holds a line break or another control character."))
	}
	if a.Basic != nil {
		if names := a.Basic.Names(); len(names) != 2 || !slices.Contains(names, "username") || !slices.Contains(names, "password") {
			errs = append(errs, hcl.Blame(&a.Basic, "basic holds a username and a password: { username = …, password = … }."))
		}
	}
	if a.OAuth2 != nil {
		errs = append(errs, a.OAuth2.check()...)
	}
	return errs
}

// behalf is the argument that has requests be signed in with a token for who calls; nil when there is none.
func (a *auth) behalf() any {
	if a == nil || a.OAuth2 == nil || !a.OAuth2.Exchange {
		return nil
	}
	return &a.OAuth2.Exchange
}

// A signer adds to a request what signs it in. A draft that is only shown gets no token from anywhere.
type signer interface {
	sign(ctx context.Context, f *hcl.Frame, d *draft) error
}

// A renewer is a signer that can do it in another way when the service has refused the one before.
type renewer interface {
	signer
	forget(d *draft)
}

func (a *auth) signer(s *service, env adapters.Env) signer {
	switch {
	case a.Basic != nil:
		return basic{a.Basic}
	case a.Header != nil:
		return headerKeys{a.Header}
	case a.Query != nil:
		return queryKeys{a.Query}
	case a.OAuth2 != nil:
		return a.OAuth2.signer(s, env)
	}
	return bearer(a.Bearer)
}

// bearer is a token that never changes.
type bearer hcl.SecretText

func (b bearer) sign(_ context.Context, _ *hcl.Frame, d *draft) error {
	token := hcl.SecretText(b).Reveal()
	d.authorize("Bearer ", token, token)
	return nil
}

// basic is a user name and a password.
type basic struct{ entries *hcl.KeyValues }

func (b basic) sign(_ context.Context, f *hcl.Frame, d *draft) error {
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
	d.authorize("Basic ", encoded, encoded, parts["password"])
	return nil
}

// authorize writes the Authorization header and remembers what must not be shown.
func (d *draft) authorize(scheme, credentials string, secrets ...string) {
	if d.shown {
		credentials = hcl.Hidden
	}
	d.secrets = append(d.secrets, secrets...)
	d.header["Authorization"] = []string{scheme + credentials}
}

// headerKeys are keys in headers.
type headerKeys struct{ entries *hcl.KeyValues }

func (k headerKeys) sign(_ context.Context, f *hcl.Frame, d *draft) error {
	return d.addHeaders(f, k.entries)
}

// queryKeys are keys in the query.
type queryKeys struct{ entries *hcl.KeyValues }

func (k queryKeys) sign(_ context.Context, f *hcl.Frame, d *draft) error {
	entries, err := k.entries.Eval(f)
	if err != nil {
		return &adapters.Fault{Message: err.Error()}
	}
	for _, e := range entries {
		text, err := scalar(e.Value)
		if err != nil {
			return &adapters.Fault{Message: fmt.Sprintf("the query parameter %s %v", e.Name, err)}
		}
		d.secrets = append(d.secrets, text, url.QueryEscape(text))
		d.setQuery(e.Name, text, true)
	}
	return nil
}
