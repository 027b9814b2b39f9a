package hcl

import (
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// Auth is the auth block: whom the server knows.
type Auth struct {
	Keys    []*APIKey // by name
	Issuers []*JWT    // in written order; each has another issuer
	Headers []string  // of a request that may be read as caller.headers, in lower case
	Range   Range
}

// An authDecl is an auth block being decoded.
type authDecl struct{ auth *Auth }

func (a *authDecl) spec() Spec {
	return Spec{
		labelled("api_key", "name", "A key that a program sends, as `Authorization: Bearer …` or as `X-API-Key`. The label is its caller.subject.", func() Spec { return new(apiKeyDecl).spec() }, a.key),
		labelled("jwt", "", "An issuer whose access tokens are taken, as `Authorization: Bearer …`. They are checked by its public keys, which are fetched and kept.", func() Spec { return new(jwtDecl).spec() }, a.issuer),
		special("headers", "list of names", "Headers of the request that may be read, as in caller.headers[\"x-tenant\"]. A client can send whatever it likes, so this is for a proxy that sets them.", a.headers),
	}
}

// headerName is the name of a header (RFC 9110, section 5.6.2).
var headerName = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$")

// credentialHeaders hold what a caller proves itself with. It stays with the server.
var credentialHeaders = []string{"authorization", "cookie", "proxy-authorization", "x-api-key"}

func (a *authDecl) headers(d *decoder, e hclsyntax.Expression) {
	for i, name := range items[string](d, e, Field{Name: "headers"}, "strings") {
		lower := strings.ToLower(name)
		switch {
		case !headerName.MatchString(name):
			d.errorf(elementRange(e, i), "Invalid header name", "%q is not the name of a header: it is made of letters, digits and -.", name)
		case slices.Contains(credentialHeaders, lower):
			d.errorf(elementRange(e, i), "Credentials would be visible", "%s holds what the caller proves itself with, and that is passed on to nobody. Who it is can be read as caller.subject, caller.groups and caller.claims.", name)
		case !slices.Contains(a.auth.Headers, lower):
			a.auth.Headers = append(a.auth.Headers, lower)
		}
	}
}

// callers decodes the blocks that say who may come in: auth and tls.
func (l *loader) callers() {
	t := &TLS{}
	if d, b, ok := l.single("tls", t.spec()); ok {
		t.Range = at(b.DefRange())
		l.diags = append(l.diags, d.diags...)
		l.config.TLS = t
	}
	a := &authDecl{auth: &Auth{}}
	if d, b, ok := l.single("auth", a.spec()); ok {
		a.auth.Range = at(b.DefRange())
		if len(a.auth.Keys)+len(a.auth.Issuers) == 0 && !d.diags.HasErrors() && !d.blind && t.ClientCA == "" {
			d.errorf(b.DefRange(), "Empty auth", "Nobody could come in. Write whom the server knows: api_key \"ci\" { … } or jwt { … }.")
		}
		slices.SortFunc(a.auth.Keys, func(x, y *APIKey) int { return strings.Compare(x.Name, y.Name) })
		l.diags = append(l.diags, d.diags...)
		l.config.Auth = a.auth
	}
}

// scopeToken is a scope (RFC 6749, section 3.3).
var scopeToken = regexp.MustCompile(`^[!#-\[\]-~]{1,200}$`)

// scopesField declares a list of scopes.
func scopesField(dst *[]string, name, doc string) Field {
	return special(name, "list of scopes", doc, func(d *decoder, e hclsyntax.Expression) {
		for i, scope := range items[string](d, e, Field{Name: name}, "strings") {
			switch {
			case !scopeToken.MatchString(scope):
				d.errorf(elementRange(e, i), "Invalid scope", "A scope is a word without spaces, quotes and backslashes, as in \"orders:write\", and %q is none.", scope)
			case !slices.Contains(*dst, scope):
				*dst = append(*dst, scope)
			}
		}
	})
}

// scopesField declares what the caller must have been granted.
func (w *workDecl) scopesField() Field {
	f := scopesField(&w.work.Scopes, "scopes", "What the caller must have been granted, as in [\"orders:write\"]. Who was not is told what to ask for.")
	read := f.attr
	f.attr = func(d *decoder, e hclsyntax.Expression, _ Field) {
		read(d, e, f)
		if len(w.work.Scopes) > 0 && len(d.shared.blocks["auth"]) == 0 && !d.shared.partial {
			d.diags.warnf(at(e.Range()), "Scopes without auth", "Nobody is asked who they are, so nobody is asked for scopes. Declare whom the server knows, as in auth { jwt { … } }.")
		}
	}
	return f
}
