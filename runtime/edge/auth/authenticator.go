// Package auth authenticates HTTP requests with the credentials that a configuration declares: API
// keys, JSON web tokens of issuers, and client certificates.
//
// A [Authenticator] is made for each generation, and [Authenticator.Authenticate] is called for every request. It
// fails closed: a credential that is missing, unknown, expired or cannot be verified leads to a
// Refusal. As a protected resource in terms of OAuth 2.1 and of the authorization chapter of MCP,
// the server says in challenges and in its metadata (RFC 9728) where a client gets a token. No
// credential is logged.
package auth

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"hatchel/hcl"
	"hatchel/runtime/edge/auth/issuer"
	"hatchel/runtime/edge/mcp"
)

// Authenticator authenticates the callers that a configuration declares. Its methods may be called
// concurrently.
type Authenticator struct {
	keys          []apiKey
	own           *OwnTokens               // nil without sign_in
	issuers       map[string]*issuerConfig // by the URL of the issuer
	order         []*issuerConfig          // as they are declared
	introspectors []*introspector          // as they are declared
	headers       []string                 // canonical names of the headers that expressions may read
	certificates  *Certificates            // nil when client certificates are not accepted
	grants        map[string]bool          // of all keys and issuers
	names         mcp.Names
	now           func() time.Time
}

// Options are the inputs of New besides the configuration.
type Options struct {
	Issuers      *issuer.Issuers                         // shared by all generations
	Certificates *Certificates                           // nil when the server does not use TLS
	Names        mcp.Names                               // under which the server is served
	Log          *slog.Logger                            // for failures to load the keys of issuers
	Now          func() time.Time                        // clock by which credentials expire
	Client       func(*hcl.ClientAuth, hcl.Range) Client // opens the client of a block, and reports why that fails
	Defer        func(func() error)
	SignIn       SignIn // not needed without sign_in
}

// New returns nil when the configuration declares no credentials; then every caller is anonymous.
// It makes no requests to issuers; later ones have the values of ctx.
func New(ctx context.Context, a *hcl.Auth, o Options) *Authenticator {
	certificates := o.Certificates
	if certificates != nil && !certificates.acceptsClients() {
		certificates = nil
	}
	if a == nil && certificates == nil {
		return nil
	}
	a = cmp.Or(a, &hcl.Auth{})
	c := &Authenticator{
		certificates: certificates, issuers: map[string]*issuerConfig{}, grants: map[string]bool{}, now: o.Now,
		names: o.Names,
	}
	for _, k := range a.Keys {
		key := newAPIKey(k)
		c.keys = append(c.keys, key)
		c.grants[key.identity.Grant] = true
	}
	for _, j := range a.Issuers {
		config := newIssuerConfig(ctx, j, o)
		c.issuers[j.Issuer], c.order = config, append(c.order, config)
		c.grants[config.grant] = true
	}
	if a.SignIn != nil {
		c.own = newOwnTokens(a.SignIn, o)
	}
	for _, i := range a.Introspections {
		in := newIntrospector(ctx, i, o)
		c.introspectors = append(c.introspectors, in)
		c.grants[in.grant] = true
	}
	for _, name := range a.Headers {
		c.headers = append(c.headers, http.CanonicalHeaderKey(name))
	}
	return c
}

// grantOf returns a digest of the declaration of a credential.
func grantOf(declaration ...any) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", declaration))
	return hex.EncodeToString(sum[:])
}

// Probe loads the keys of all issuers, asks all servers that introspect tokens about one that none of them knows, and
// reports those for which that fails.
func (c *Authenticator) Probe(ctx context.Context) (diags hcl.Diagnostics) {
	if c == nil {
		return nil
	}
	for _, config := range c.order {
		if err := config.issuer.Probe(ctx); err != nil {
			diags = append(diags, &hcl.Diagnostic{
				Summary: "Issuer not available", Detail: "Its keys cannot be loaded: " + err.Error() + ".",
				Subject: config.Range,
			})
		}
	}
	for _, in := range c.introspectors {
		if err := in.probe(ctx); err != nil {
			diags = append(diags, &hcl.Diagnostic{
				Summary: "Introspection not available", Detail: "Tokens cannot be verified: " + err.Error() + ".",
				Subject: in.Range,
			})
		}
	}
	return diags
}

// StillValid reports whether a caller who was authenticated by this or an earlier configuration is
// still accepted: the declaration of the credential has not changed, and a sign-in was not revoked and is still
// allowed.
func (c *Authenticator) StillValid(i *mcp.Identity) bool {
	if c == nil {
		return i == nil // an authenticated caller does not become anonymous
	}
	if i != nil && strings.HasPrefix(i.Grant, ownGrant) {
		return c.own.stillValid(i)
	}
	return i != nil && (c.grants[i.Grant] || c.certificates != nil && i.Grant == c.certificates.grant())
}

// Authenticate authenticates a request. It accepts one credential: a key or a token, or if there is
// neither, the certificate of the connection.
func (c *Authenticator) Authenticate(r *http.Request) (*mcp.Identity, *Refusal) {
	tokens, keys := r.Header["Authorization"], r.Header["X-Api-Key"]
	var i *mcp.Identity
	var refused *Refusal
	switch {
	case len(tokens)+len(keys) > 1:
		return nil, invalidRequest("The request has more than one credential")
	case len(tokens) == 1:
		i, refused = c.identifyBearer(r, tokens[0])
	case len(keys) == 1:
		i, refused = c.identifyKey(sha256.Sum256([]byte(keys[0])))
	default:
		i, refused = c.certificates.identify(r.TLS, c.now())
	}
	if refused != nil {
		return nil, refused
	}
	if c.hasIssuers() {
		i.Metadata = c.metadataURL(r)
	}
	i.Headers = c.readableHeaders(r.Header)
	return i, nil
}

// identifyBearer authenticates the caller of a Bearer credential, which is a key or a token.
func (c *Authenticator) identifyBearer(r *http.Request, header string) (*mcp.Identity, *Refusal) {
	scheme, credential, _ := strings.Cut(header, " ")
	if !strings.EqualFold(scheme, "Bearer") || credential == "" {
		return nil, invalidToken("Only Bearer credentials are accepted")
	}
	digest := sha256.Sum256([]byte(credential))
	if i, refused := c.identifyKey(digest); i != nil || refused.isOurs || !c.hasIssuers() && c.introspectors == nil {
		return i, refused
	}
	if c.own != nil {
		if i, refused, ok := c.own.cached(r, digest); ok {
			return i, refused
		}
		if i, refused, ok := c.own.identifyKnown(r, credential, digest); ok {
			return i, refused
		}
	}
	switch {
	case c.introspectors == nil, c.hasIssuer(issuerOf(credential)):
		return c.identifyToken(r, credential, digest)
	case c.isNoAccessToken(credential):
		return nil, unknownCredential
	}
	return c.introspect(r.Context(), credential, digest)
}

// isNoAccessToken reports whether an unknown credential is one of this program that no authorization server may learn:
// an API key, which was removed or is of another server, or a code or refresh token of a sign-in.
func (c *Authenticator) isNoAccessToken(credential string) bool {
	if strings.HasPrefix(credential, hcl.KeyPrefix) {
		return true
	}
	if c.own == nil {
		return false
	}
	grants := c.own.Grants()
	return grants != nil && grants.Issued(credential)
}

// hasIssuer reports whether an issuer of JSON web tokens is declared, whose tokens nobody else is asked about.
func (c *Authenticator) hasIssuer(name string) bool {
	return c.issuers[name] != nil || c.own != nil && c.own.declared.URL == name
}

// hasIssuers reports whether tokens are accepted.
func (c *Authenticator) hasIssuers() bool { return len(c.order) > 0 || c.own != nil }

// readableHeaders returns the headers of a request that expressions may read.
func (c *Authenticator) readableHeaders(h http.Header) map[string]string {
	if len(c.headers) == 0 {
		return nil
	}
	out := make(map[string]string, len(c.headers))
	for _, name := range c.headers {
		if values := h[name]; len(values) > 0 {
			out[strings.ToLower(name)] = strings.Join(values, ", ")
		}
	}
	return out
}

// apiKey is a declared API key. Only its digest is known.
type apiKey struct {
	digest   [sha256.Size]byte
	identity mcp.Identity
}

func newAPIKey(k *hcl.APIKey) apiKey {
	return apiKey{digest: k.Digest, identity: mcp.Identity{
		Subject: k.Name, Key: k.Name, Groups: k.Groups, Scopes: k.Scopes, Expires: k.Expires,
		Grant: grantOf("key", k.Name, k.Digest, k.Groups, k.Scopes, k.Expires),
	}}
}

// identifyKey authenticates the caller of an API key by its digest. It compares digests with all keys in constant
// time, so that the duration tells nothing about the keys.
func (c *Authenticator) identifyKey(digest [sha256.Size]byte) (*mcp.Identity, *Refusal) {
	found := -1
	for n := range c.keys {
		found = subtle.ConstantTimeSelect(subtle.ConstantTimeCompare(digest[:], c.keys[n].digest[:]), n, found)
	}
	if found < 0 {
		return nil, unknownCredential
	}
	i := c.keys[found].identity
	if !i.Expires.IsZero() && !c.now().Before(i.Expires) {
		refused := invalidToken("The key has expired")
		refused.isOurs = true
		return nil, refused
	}
	return &i, nil
}
