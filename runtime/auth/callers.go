// Package auth finds out who makes a request over HTTP, by what a configuration says: keys, the tokens of issuers, and certificates of clients.
//
// Callers is made once a generation, and its Identify is asked of every request. It fails closed: what is missing, unknown, expired or cannot be checked is a
// Refusal. As the protected resource that OAuth 2.1 and the authorization chapter of the protocol speak of, it says in challenges and in its metadata (RFC 9728)
// where a client gets a token. No credential is kept, passed on or logged.
package auth

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"hatchel/hcl"
	"hatchel/runtime/mcp"
)

// Callers are those whom a configuration knows. It is immutable but for the keys of issuers and the certificates that it reads again.
type Callers struct {
	keys         []key
	sources      map[string]*source // by the URL of the issuer
	order        []*source          // as they are written
	headers      []string           // canonical names
	certificates *Certificates      // nil when clients show none
	grants       map[string]bool    // of all keys and issuers
	now          func() time.Time
}

// Options are what Callers are made with.
type Options struct {
	Issuers      *Issuers         // whose keys are known already
	Certificates *Certificates    // nil when the server speaks without TLS
	Log          *slog.Logger     // for what happens to the keys of issuers
	Now          func() time.Time // the clock that credentials expire by
	Defer        func(func() error)
}

// New returns nil when the configuration knows nobody: then nobody is asked. It does not wait for anybody.
func New(a *hcl.Auth, o Options) *Callers {
	certificates := o.Certificates
	if certificates != nil && !certificates.ofClients() {
		certificates = nil
	}
	if a == nil && certificates == nil {
		return nil
	}
	if a == nil {
		a = &hcl.Auth{}
	}
	c := &Callers{certificates: certificates, sources: map[string]*source{}, grants: map[string]bool{}, now: o.Now}
	for _, k := range a.Keys {
		made := newKey(k)
		c.keys = append(c.keys, made)
		c.grants[made.grant] = true
	}
	for _, j := range a.Issuers {
		made := newSource(j, o)
		c.sources[j.Issuer], c.order = made, append(c.order, made)
		c.grants[made.grant] = true
	}
	for _, name := range a.Headers {
		c.headers = append(c.headers, http.CanonicalHeaderKey(name))
	}
	return c
}

// grantOf is a digest of what a configuration says of a credential.
func grantOf(said ...any) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", said))
	return hex.EncodeToString(sum[:])
}

// Probe asks the issuers for their keys, and reports those that do not answer as they should.
func (c *Callers) Probe(ctx context.Context) (diags hcl.Diagnostics) {
	if c == nil {
		return nil
	}
	for _, s := range c.order {
		if err := s.issuer.probe(ctx); err != nil {
			diags = append(diags, &hcl.Diagnostic{Summary: "Issuer does not answer", Detail: "Its keys cannot be had: " + err.Error() + ".", Subject: s.Range})
		}
	}
	return diags
}

// Stands reports whether a caller who was identified by this or by an earlier configuration is one of this one, too.
func (c *Callers) Stands(i *mcp.Identity) bool {
	if c == nil {
		return i == nil // who was somebody is not nobody now
	}
	return i != nil && (c.grants[i.Grant] || c.certificates != nil && i.Grant == c.certificates.grant())
}

// Identify finds out who makes a request. One credential is taken: a key or a token, or where there is neither, the certificate of the connection.
func (c *Callers) Identify(r *http.Request) (*mcp.Identity, *Refusal) {
	tokens, keys := r.Header["Authorization"], r.Header["X-Api-Key"]
	var i *mcp.Identity
	var refused *Refusal
	switch {
	case len(tokens)+len(keys) > 1:
		return nil, invalidRequest("There is more than one credential")
	case len(tokens) == 1:
		i, refused = c.bearer(r, tokens[0])
	case len(keys) == 1:
		i, refused = c.key(keys[0])
	default:
		i, refused = c.certificates.identify(r.TLS, c.now())
	}
	if refused != nil {
		return nil, refused
	}
	if len(c.order) > 0 {
		i.Metadata = c.metadataURL(r)
	}
	i.Headers = c.readable(r.Header)
	return i, nil
}

// bearer finds out whose key or token it is.
func (c *Callers) bearer(r *http.Request, said string) (*mcp.Identity, *Refusal) {
	scheme, text, _ := strings.Cut(said, " ")
	if !strings.EqualFold(scheme, "Bearer") || text == "" {
		return nil, invalidToken("Only Bearer credentials are taken")
	}
	if i, refused := c.key(text); i != nil || refused.known || len(c.order) == 0 {
		return i, refused
	}
	return c.token(r.Context(), text)
}

// readable are the headers of a request that may be read.
func (c *Callers) readable(h http.Header) map[string]string {
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
