package mcp

import (
	"context"
	"slices"
	"strings"
	"time"

	"hatchel/hcl/jsonscan"
)

// Identity is who asks, as what authenticates requests has found out. It is read-only.
type Identity struct {
	Subject string            `json:"subject"`           // as the key, the token or the certificate names it
	Key     string            `json:"key"`               // what vouches for it: the name of a key, the URL of an issuer, or tls:client_ca
	Groups  []string          `json:"groups,omitempty"`  // it is in
	Scopes  []string          `json:"scopes,omitempty"`  // it was granted
	Claims  []byte            `json:"claims,omitempty"`  // of a token or a certificate, as an encoded JSON object, or nil
	Headers map[string]string `json:"headers,omitempty"` // of the request, those that may be read, by their names in lower case

	// Grant stands for all that the configuration says of the credential: one that says something else has another.
	Grant string `json:"-"`
	// Expires is when the credential does; zero for never. Streams end then.
	Expires time.Time `json:"-"`
	// Token is the token that was shown, and until when it is good; nil when that was another credential. It is for who exchanges it for another one: nothing else may come to see it, and it is not
	// remembered.
	Token func() (text string, until time.Time) `json:"-"`
	// Metadata is the URL of the protected resource metadata that a client is referred to, or empty.
	Metadata string `json:"-"`
}

// Owner is what sessions, tasks and states are bound to: the same subject vouched for by somebody else is somebody else. Of nobody it is empty.
func (i *Identity) Owner() string {
	if i == nil {
		return ""
	}
	return i.Key + "\n" + i.Subject // no Key has a line break
}

// Kept is the identity as it is remembered beyond the request: without the token. Of nobody it is nil.
func (i *Identity) Kept() *Identity {
	if i == nil || i.Token == nil {
		return i
	}
	kept := *i
	kept.Token = nil
	return &kept
}

// Lacks are those of the scopes that were not granted.
func (i *Identity) Lacks(scopes []string) (missing []string) {
	for _, s := range scopes {
		if !slices.Contains(i.Scopes, s) {
			missing = append(missing, s)
		}
	}
	return missing
}

// same reports whether nothing that a call can read tells the two apart.
func (i *Identity) same(j *Identity) bool {
	if i == nil || j == nil {
		return i == j
	}
	return i.Owner() == j.Owner() && i.Grant == j.Grant && string(i.Claims) == string(j.Claims) &&
		slices.Equal(i.Groups, j.Groups) && slices.Equal(i.Scopes, j.Scopes) && sameHeaders(i.Headers, j.Headers)
}

func sameHeaders(a, b map[string]string) bool {
	for name, text := range a {
		if other, ok := b[name]; !ok || other != text {
			return false
		}
	}
	return len(a) == len(b)
}

type identityKey struct{}

// WithIdentity says who makes a request over HTTP. What authenticates requests calls it; where nothing does, there is no identity.
func WithIdentity(ctx context.Context, i *Identity) context.Context {
	return context.WithValue(ctx, identityKey{}, i)
}

// IdentityOf is what WithIdentity was told, or nil.
func IdentityOf(ctx context.Context) *Identity {
	i, _ := ctx.Value(identityKey{}).(*Identity)
	return i
}

// InsufficientScope is what a Handler returns to a caller who needs these scopes, all of them, for what it asks (RFC 6750, section 3.1). Over HTTP the status
// is 403, and the client is told where to get them.
func InsufficientScope(scopes []string) *Error {
	e := errorf(CodeForbidden, "Insufficient scope: this takes %s", strings.Join(scopes, " "))
	e.scopes = scopes
	e.Data = []byte(`{"requiredScopes":[`)
	for n, s := range scopes {
		if n > 0 {
			e.Data = append(e.Data, ',')
		}
		e.Data = jsonscan.AppendString(e.Data, s)
	}
	e.Data = append(e.Data, "]}"...)
	return e
}

// Unauthorized is what a Handler returns to a caller whose credentials are good no more, or never were.
func Unauthorized() *Error {
	return errorf(CodeUnauthorized, "The credentials of this request are not good any more. Sign in again")
}

// challenge is the header WWW-Authenticate that goes with e, or empty (RFC 6750, RFC 9728).
func (e *Error) challenge(i *Identity) string {
	var said string
	switch e.Code {
	case CodeForbidden:
		said = `Bearer error="insufficient_scope", scope="` + strings.Join(e.scopes, " ") + `"`
	case CodeUnauthorized:
		said = `Bearer error="invalid_token"`
	default:
		return ""
	}
	if i != nil && i.Metadata != "" {
		said += `, resource_metadata="` + i.Metadata + `"`
	}
	return said
}
