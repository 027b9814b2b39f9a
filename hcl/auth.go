package hcl

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/decode"
	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
	"hatchel/internal/lazyregexp"
)

// Auth is the auth block: API keys, JWT issuers, sign-in and request headers.
type Auth struct {
	Keys           []*APIKey        // by name; one name may have several
	Issuers        []*JWT           // in written order; issuers are unique
	Introspections []*Introspection // in written order; URLs are unique
	SignIn         *SignIn          // nil for none
	Headers        []string         // request headers that expressions may read, in lower case
	Range          Range
}

// spec declares the block. Its rules are compiled in the scope of a call.
func (a *Auth) spec(call *eval.Scope) decode.Spec {
	return decode.Spec{
		decode.Blocks("api_key", "name",
			"An API key that a client sends as `Authorization: Bearer …` or `X-API-Key`. The label becomes "+
				"caller.subject.", func() decode.Spec { return new(apiKeyDecoder).spec() }, a.decodeKey),
		decode.Blocks("jwt", "", "An issuer of access tokens, which clients send as `Authorization: Bearer "+
			"…`. Tokens are verified with the issuer's public keys, which are fetched and cached.",
			func() decode.Spec { return new(JWT).spec() }, a.decodeIssuer),
		decode.Blocks("introspection", "", "An authorization server that is asked about tokens (RFC 7662) which are "+
			"neither API keys nor tokens of an issuer that is declared here.",
			func() decode.Spec { return new(Introspection).spec() }, a.decodeIntrospection),
		decode.Field{Name: "sign_in", Doc: "Sign-in for people's clients: this server is the authorization server of " +
			"its own tools, in front of one OpenID provider. Clients need no id of the provider, and get tokens of " +
			"this server, never those of the provider.",
			NestedSpec:  func() decode.Spec { return new(SignIn).spec(nil) },
			DecodeBlock: func(d *decode.Decoder, b *hclsyntax.Block) { a.decodeSignIn(d, b, call) }},
		decode.StringSet(&a.Headers, "headers", "list of names",
			"Request headers that expressions may read, as in caller.headers[\"x-tenant\"]. Clients can "+
				"send any value, so use only headers that a proxy in front of the server sets.", checkHeader),
	}
}

// headerNamePattern matches the name of a header (RFC 9110, section 5.6.2).
var headerNamePattern = lazyregexp.New("^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$")

// credentialHeaders hold credentials of callers, which are never passed on.
var credentialHeaders = []string{"authorization", "cookie", "proxy-authorization", "x-api-key"}

// checkHeader checks the name of a header that expressions may read, and returns it in lower case.
func checkHeader(d *decode.Decoder, r Range, name string) string {
	lower := strings.ToLower(name)
	switch {
	case !headerNamePattern.MatchString(name):
		d.Diags.Errorf(r, "Invalid header name", "%q is not the name of a header: use letters, digits and -.", name)
		return ""
	case slices.Contains(credentialHeaders, lower):
		d.Diags.Errorf(r, "Credential header", "%s holds the caller's credential, which is never passed on. The "+
			"identity of the caller is available as caller.subject, caller.groups and caller.claims.", name)
	}
	return lower
}

// decodeIssuer decodes a jwt block.
func (a *Auth) decodeIssuer(d *decode.Decoder, b *hclsyntax.Block) {
	j := &JWT{Range: headerRange(b)}
	before := len(d.Diags)
	d.Body(b, j.spec())
	if d.Diags[before:].HasErrors() || d.MissingValue {
		return
	}
	if j.Algorithms == nil {
		j.Algorithms = slices.Clone(defaultAlgorithms)
	}
	for _, other := range a.Issuers {
		if other.Issuer == j.Issuer {
			d.Errorf(b.DefRange(), "Duplicate issuer", "The issuer %q is already declared at %s:%d.", other.Issuer,
				other.Range.File, other.Range.Start.Line)
			d.Diags.Relate(other.Range)
			return
		}
	}
	a.Issuers = append(a.Issuers, j)
}

// decodeTLS decodes the tls block.
func (l *loader) decodeTLS() {
	l.onlyBlock("tls", func(d *decode.Decoder, b sourceBlock) {
		l.config.TLS = &TLS{Range: headerRange(b.Block)}
		d.Body(b.Block, l.config.TLS.spec())
		if digest, read := l.fileDigests.Load(path.Clean(l.config.TLS.ClientCA)); read {
			l.config.TLS.ClientCADigest, _ = digest.(string)
		}
	})
}

// decodeAuth decodes the auth block.
func (l *loader) decodeAuth() {
	l.onlyBlock("auth", func(d *decode.Decoder, b sourceBlock) {
		a := &Auth{Range: headerRange(b.Block)}
		d.Body(b.Block, a.spec(l.base.DuringCall().With("caller", callerRoot())))
		if len(a.Keys)+len(a.Issuers)+len(a.Introspections) == 0 && a.SignIn == nil && !d.Diags.HasErrors() &&
			!d.MissingValue && (l.config.TLS == nil || l.config.TLS.ClientCA == "") {
			d.Errorf(b.DefRange(), "Empty auth",
				"No credentials declared, so every request would be rejected. Add "+
					"api_key \"ci\" { … } or jwt { … }.")
		}
		a.checkIssuers(d)
		slices.SortFunc(a.Keys, func(x, y *APIKey) int { return strings.Compare(x.Name, y.Name) })
		l.config.Auth = a
		l.env.Authenticated, l.env.CallerHeaders = true, a.Headers
	})
}

// scopePattern matches a scope (RFC 6749, section 3.3).
var scopePattern = lazyregexp.New(`^[!#-\[\]-~]{1,200}$`)

// scopesField declares a list of scopes.
func scopesField(dst *[]string, name, doc string) decode.Field {
	return decode.StringSet(dst, name, "list of scopes", doc,
		func(d *decode.Decoder, r Range, scope string) string {
			if !scopePattern.MatchString(scope) {
				reportScope(d, r, scope)
			}
			return scope
		})
}

func reportScope(d *decode.Decoder, r Range, scope string) {
	d.Diags.Errorf(r, "Invalid scope",
		"A scope is a word without spaces, quotes or backslashes, as in \"orders:write\", not %q.", scope)
}

// requiredScopesField declares the scopes that the caller needs.
func (w *operationDecoder) requiredScopesField() decode.Field {
	return decode.StringSet(&w.op.Scopes, "scopes", "list of scopes",
		"The scopes that the caller's token must have, as in [\"orders:write\"]. A caller without them is "+
			"told which scopes to request.", w.keepRequiredScope).Check(func(d *decode.Decoder, r Range) {
		if len(w.op.Scopes) > 0 && len(w.loader.blocks["auth"]) == 0 && !w.loader.partial {
			d.Diags.Warnf(r, "Scopes without auth",
				"Scopes cannot be checked without authentication. Declare it, as in auth { jwt { … } }.")
		}
	})
}

// keepRequiredScope returns an element of scopes.
func (w *operationDecoder) keepRequiredScope(d *decode.Decoder, r Range, scope string) string {
	auth := w.loader.config.Auth
	switch {
	case !scopePattern.MatchString(scope):
		reportScope(d, r, scope)
	case auth == nil || auth.SignIn == nil || auth.SignIn.grants(scope):
	case !slices.ContainsFunc(auth.Keys, func(k *APIKey) bool { return slices.Contains(k.Scopes, scope) }):
		var declared []string
		for _, block := range auth.SignIn.ScopeBlocks {
			declared = append(declared, block.Name)
		}
		d.Diags.Warnf(r, "Scope that nobody grants", "Nobody who signs in can have the scope %q, because sign_in has "+
			"no block for it.%s", scope, diag.SuggestOr(scope, declared, " Add scope "+strconv.Quote(scope)+
			" { description = \"…\" } there."))
	}
	return scope
}

// TLS is the tls block: the server's certificate and the authorities of client certificates. Paths
// are relative to the configuration directory.
type TLS struct {
	Cert     string
	Key      string
	ClientCA string // empty for no client certificates
	Range    Range

	// ClientCADigest is the digest of the content of ClientCA when it was loaded; empty for a file outside of the
	// configuration directory.
	ClientCADigest string
}

func (t *TLS) spec() decode.Spec {
	return decode.Spec{
		decode.Attr(&t.Cert, "cert", "The PEM file with the server's certificate and the intermediate certificates. "+
			"It is reloaded when it changes.").Require(),
		decode.Attr(&t.Key, "key", "The PEM file with the private key.").Require(),
		decode.Attr(&t.ClientCA, "client_ca", "A PEM file of certificate authorities. A client certificate signed by "+
			"one of them authenticates the caller that it names.").Contents(),
	}
}
