package mcp

import (
	"bytes"
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"hatchel/hcl/jsonscan"
)

// Caller describes the client of a request. It is read-only.
type Caller struct {
	Revision     Revision    // of the request or of its session
	Toolset      string      // that the request addresses; "" for the whole server
	Identity     *Identity   // of the authenticated caller, or nil
	Subject      string      // of Identity, or ""
	ClientInfo   []byte      // as the client sent it, encoded JSON, or nil
	Capabilities []byte      // as the client sent them, encoded JSON, or nil
	Remote       string      // the network address of the client; "" on a pair of streams
	Header       http.Header // of the HTTP request; nil on a pair of streams
	Operates     bool        // whoever calls has started the server, and reads what the author of a tool can change

	logLevel int // the index in LogLevels of the least severe level that a modern caller is sent; 0 for none
}

// Owner returns what sessions, tasks and states are bound to: [Identity.Owner], or Subject if there
// is no Identity.
func (c *Caller) Owner() string {
	if c.Identity == nil {
		return c.Subject
	}
	return c.Identity.Owner()
}

// ClientName returns the name and the version that a client gives in its ClientInfo; "" for one that gives none.
func ClientName(info []byte) string {
	if len(info) == 0 {
		return ""
	}
	name, _ := jsonscan.LookupText(info, "name")
	version, _ := jsonscan.LookupText(info, "version")
	return strings.TrimSpace(name + " " + version)
}

// Snapshot returns a copy of c that may be kept after the request: without the slices of the
// request, its header and its token. If last, the snapshot of an earlier request, is the same as c,
// Snapshot returns last.
func (c *Caller) Snapshot(last *Caller) *Caller {
	if last != nil && last.same(c) {
		return last
	}
	return &Caller{
		Revision: c.Revision, Toolset: c.Toolset, Identity: c.Identity.WithoutToken(), Subject: c.Subject,
		ClientInfo: bytes.Clone(c.ClientInfo), Capabilities: bytes.Clone(c.Capabilities), Operates: c.Operates,
	}
}

// same reports whether c and d differ only in what each request brings along: address and header.
func (c *Caller) same(d *Caller) bool {
	return c.Revision == d.Revision && c.Toolset == d.Toolset && c.Subject == d.Subject &&
		c.Identity.same(d.Identity) &&
		bytes.Equal(c.ClientInfo, d.ClientInfo) && bytes.Equal(c.Capabilities, d.Capabilities)
}

// SetIdentity sets Identity, which may be nil, and Subject.
func (c *Caller) SetIdentity(i *Identity) {
	if c.Identity = i; i != nil {
		c.Subject = i.Subject
	}
}

// Can reports whether the client declares a capability. The arguments are the names of nested
// members, as in Can("elicitation", "url").
func (c *Caller) Can(capability ...string) bool {
	if c.Capabilities == nil {
		return false
	}
	v, ok := jsonscan.Lookup(c.Capabilities, capability...)
	return ok && string(v) != "null" && string(v) != "false"
}

// Identity describes an authenticated caller. It is read-only.
type Identity struct {
	// Subject is the name in the key, the token or the certificate.
	Subject string `json:"subject"`
	// Key is what authenticates the subject: the name of a key, the URL of an issuer, or
	// tls:client_ca.
	Key string `json:"key"`
	// Groups are those that the caller belongs to.
	Groups []string `json:"groups,omitempty"`
	// Scopes are those that were granted.
	Scopes []string `json:"scopes,omitempty"`
	// BaseScopes are those that a client asks for together with one that it lacks: what the issuer demands of every
	// token, and for a sign-in at this server those that it has.
	BaseScopes []string `json:"-"`
	// Claims are those of a token or a certificate: an encoded JSON object, or nil.
	Claims []byte `json:"claims,omitempty"`
	// Headers are those headers of the request that may be read, by lower-case name.
	Headers map[string]string `json:"headers,omitempty"`

	// Grant identifies what the configuration declares about the credential. It changes with the
	// declaration.
	Grant string `json:"-"`
	// Expires is when the credential expires; zero for never. Streams end at that time.
	Expires time.Time `json:"-"`
	// Token returns the token of the request, or that of the provider where the caller has signed in, and its
	// expiry. It is nil for other credentials. It is used for token exchange only and is never stored. It may
	// ask the provider; its error is a sentence for the caller.
	Token func(ctx context.Context) (text string, until time.Time, err error) `json:"-"`
	// Metadata is the URL of the protected resource metadata for clients, or "".
	Metadata string `json:"-"`
}

// Owner returns what sessions, tasks and states are bound to: the subject together with what
// authenticates it. The owner of nil is "".
func (i *Identity) Owner() string {
	if i == nil {
		return ""
	}
	return i.Key + "\n" + i.Subject // no Key has a line break
}

// SameOwner reports whether Owner is the same for i and j, either of which may be nil.
func (i *Identity) SameOwner(j *Identity) bool {
	if i == nil || j == nil {
		return i == j
	}
	return i.Key == j.Key && i.Subject == j.Subject
}

// WithoutToken returns the identity without the token, to be stored. It is nil for nil.
func (i *Identity) WithoutToken() *Identity {
	if i == nil || i.Token == nil {
		return i
	}
	kept := *i
	kept.Token = nil
	return &kept
}

// MissingScopes returns those of the scopes that were not granted.
func (i *Identity) MissingScopes(scopes []string) (missing []string) {
	for _, s := range scopes {
		if !slices.Contains(i.Scopes, s) {
			missing = append(missing, s)
		}
	}
	return missing
}

// same reports whether a call cannot tell i and j apart.
func (i *Identity) same(j *Identity) bool {
	if i == nil || j == nil {
		return i == j
	}
	return i.SameOwner(j) && i.Grant == j.Grant && string(i.Claims) == string(j.Claims) &&
		slices.Equal(i.Groups, j.Groups) && slices.Equal(i.Scopes, j.Scopes) && maps.Equal(i.Headers, j.Headers)
}

type identityKey struct{}

// WithIdentity returns a context for an HTTP request of an authenticated caller.
func WithIdentity(ctx context.Context, i *Identity) context.Context {
	return context.WithValue(ctx, identityKey{}, i)
}

// IdentityOf returns the identity that WithIdentity has set, or nil.
func IdentityOf(ctx context.Context) *Identity {
	i, _ := ctx.Value(identityKey{}).(*Identity)
	return i
}
