// Package auth has the auth block of connections, which says how requests are authenticated. The connection adds what
// it says to requests, and sends the requests for tokens.
package auth

import (
	"context"
	"encoding/base64"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"hatchel/adapters"
	"hatchel/adapters/credential"
	"hatchel/adapters/credential/aws"
	"hatchel/adapters/credential/entra"
	"hatchel/adapters/credential/google"
	"hatchel/adapters/scrub"
	"hatchel/hcl"
	"hatchel/internal/hostname"
)

// Block is an auth block.
type Block struct {
	bearer hcl.SecretText
	basic  *hcl.KeyValues
	header *hcl.KeyValues
	query  *hcl.KeyValues
	oauth2 *oauth2
	sigv4  *aws.SigV4
	google *google.Bearer
	entra  *entra.Bearer
}

// Spec returns the arguments of the block.
func (b *Block) Spec() hcl.Spec {
	return hcl.ExactlyOneOf("how to sign in",
		hcl.Attr(&b.bearer, "bearer", "A token, sent as `Authorization: Bearer …`."),
		hcl.Attr(&b.basic, "basic", "A user name and a password, such as "+
			`{ username = "reports", password = secret.shop }.`).AllowSecret().FixedKeys(),
		hcl.Headers(&b.header, "header", "Headers that contain keys, such as { X-Api-Key = secret.key }.").
			FixedKeys().Credentials(),
		hcl.Headers(&b.query, "query",
			"Query parameters that contain keys, such as { appid = secret.key }.").FixedKeys().Credentials(),
		hcl.Block(&b.oauth2, "oauth2", "OAuth 2.0 client credentials. A token is fetched on first use and renewed "+
			"shortly before it expires. With exchange, each caller has a token of their own.", (*oauth2).spec),
		hcl.Block(&b.sigv4, "aws_sigv4", "Signatures of AWS (Signature Version 4), with credentials of the machine. "+
			"Each page and each attempt is signed anew, and no redirect is followed.", (*aws.SigV4).Spec),
		hcl.Block(&b.google, "google", "Tokens of Google, of the service account that the machine has. One is fetched "+
			"on first use and renewed shortly before it expires.", (*google.Bearer).Spec),
		hcl.Block(&b.entra, "entra", "Access tokens of Microsoft Entra, of an application or of the managed identity "+
			"that the machine has. With on_behalf_of, each caller has a token of their own.", (*entra.Bearer).Spec),
	)
}

// Check reports mistakes in the arguments.
func (b *Block) Check(checks *adapters.Checks) {
	adapters.CheckHeaderNames(checks, &b.header, b.header.Names())
	checks.Refuse(!adapters.IsHeaderValue(b.bearer.Reveal()), &b.bearer,
		"The token contains a line break or another control character.")
	if b.basic != nil {
		names := slices.Sorted(slices.Values(b.basic.Names()))
		checks.Refuse(!slices.Equal(names, []string{"password", "username"}), &b.basic,
			"basic must have a username and a password: { username = …, password = … }.")
		checks.Refuse(strings.Contains(b.basic.Constant("username"), ":"), &b.basic,
			"The user name of basic must not contain a colon, because a colon ends it.")
	}
	if b.oauth2 != nil {
		b.oauth2.check(checks)
	}
	if b.sigv4 != nil {
		b.sigv4.Check(checks)
	}
	if b.google != nil {
		b.google.Check(checks)
	}
	if b.entra != nil {
		b.entra.Check(checks)
	}
}

// CheckAddress reports an address to which the tokens of a cloud would be sent in clear. The receiver may be nil.
func (b *Block) CheckAddress(checks *adapters.Checks, field any, u *url.URL) {
	fetches := b != nil && (b.google != nil || b.entra != nil)
	checks.Refuse(fetches && hostname.IsReadable(u), field, "Tokens of a cloud are sent to this address, which must "+
		"use https. Only an address of this machine may have http, such as that of a sidecar.")
}

// CheckSigned reports headers of an author, by their names, that a signature replaces. The receiver may be nil.
func (b *Block) CheckSigned(checks *adapters.Checks, field any, names []string) {
	for _, name := range names {
		checks.Refuse(b != nil && b.sigv4 != nil && aws.Replaces(name), field,
			"The header %s cannot be set: aws_sigv4 sets it for each request. Remove it.", name)
	}
}

// Effects returns what the block makes a connection do besides its own requests.
func (b *Block) Effects() (effects []hcl.Effect) {
	if b.oauth2 != nil {
		effects = append(effects, hcl.Effect{Verb: "HOST", What: "of tokens", Source: []any{&b.oauth2.TokenURL}})
	}
	if b.OnBehalf() != nil {
		effects = append(effects, hcl.Effect{Verb: "EXCHANGE", What: "the caller's token"})
	}
	return effects
}

// OnBehalf returns how requests are made on behalf of the caller; nil if they are not.
func (b *Block) OnBehalf() *hcl.Delegation {
	switch {
	case b.oauth2 != nil && b.oauth2.Exchange:
		return &hcl.Delegation{Argument: &b.oauth2.Exchange}
	case b.entra != nil && b.entra.OnBehalfOf:
		return &hcl.Delegation{
			Argument: &b.entra.OnBehalfOf,
			Accepts:  b.entra.AcceptsIssuer, Issuer: b.entra.Issuer(),
			AcceptsScopes: b.entra.AcceptsScopes, Scope: b.entra.OwnScope(),
		}
	}
	return nil
}

// SetsHeaders reports whether requests are authenticated by headers that do not depend on the rest of the request.
func (b *Block) SetsHeaders() bool { return b.query == nil && b.sigv4 == nil }

// HeaderNames returns the names of the headers that authenticate requests.
func (b *Block) HeaderNames() []string {
	switch {
	case b.query != nil:
		return nil
	case b.sigv4 != nil:
		return aws.Headers
	}
	return append(b.header.Names(), "Authorization")
}

// Request is a request of a connection, to which credentials are added.
type Request interface {
	// Call returns the call that the request is part of; nil if the request is only shown. Then secrets are hidden and
	// nothing is fetched.
	Call() *adapters.Call
	// AddHeaders sets headers to the values of a map argument.
	AddHeaders(f *hcl.Frame, entries *hcl.KeyValues) error
	// SetParameters sets query parameters to the values of a map argument, which are secrets.
	SetParameters(f *hcl.Frame, entries *hcl.KeyValues) error
	// SetHeader sets a header to one value.
	SetHeader(name, text string)
	// Header returns the first value of a header.
	Header(name string) string
	// Hide removes secrets from messages about the request.
	Hide(secrets ...string)
	// HideFetched removes a token that is not part of the configuration from the response, too. s knows the token.
	HideFetched(s *scrub.Scrubber)
}

// Service sends the requests for tokens.
type Service interface {
	// RequestToken sends one request and returns the response, whatever its status is. It follows no redirect. The
	// message of a fault calls the token server the service.
	RequestToken(ctx context.Context, r *TokenRequest) (*TokenResponse, *adapters.Fault)
}

// TokenRequest is a request to a token endpoint.
type TokenRequest struct {
	URL     string
	Header  http.Header // of which the Service adds its own
	Body    []byte
	Secrets []string // that the request has
}

// TokenResponse is the response to a TokenRequest.
type TokenResponse struct {
	Status   int
	Header   http.Header
	Body     []byte
	Redirect string // follows the status in a message about a redirect; empty for another response
}

// Authorizer adds the credentials of a block to requests. It may be used concurrently.
type Authorizer struct {
	block  *Block
	bearer bearer        // nil without oauth2, google and entra
	keys   *aws.Provider // nil without aws_sigv4
	hidden *hidden
	mocked bool // nothing is fetched
}

// bearer adds fetched bearer tokens to requests. It may be used concurrently.
type bearer interface {
	// authorize adds a token to a request.
	authorize(ctx context.Context, r Request) error
	// invalidate drops the token of a request, which the service has rejected, unless it was replaced already.
	invalidate(ctx context.Context, r Request)
	// credential returns what is known of the token of the server; nil if nothing can be said, or if each caller has
	// one.
	credential() *adapters.CredentialState
	// check returns an error if a request would have no credential of the machine.
	check(ctx context.Context) error
}

// Open returns the Authorizer of a connection, which asks the service for tokens, or the cloud that the machine is in.
// It contacts nobody. Its error is for the author.
func (b *Block) Open(
	ctx context.Context, s Service, cloud *credential.Cloud, env adapters.Env,
) (a *Authorizer, err error) {
	a = &Authorizer{block: b, hidden: newHidden(), mocked: env.Mocks != nil && !env.Mocks.Live(false)}
	fetches := credential.NewFetches(ctx, env)
	switch {
	case b.oauth2 != nil:
		a.bearer, err = newTokens(b.oauth2, s, a.hidden, fetches, env)
	case b.google != nil:
		a.bearer = &cloudTokens{source: b.google.Source(fetches, cloud), of: b.google, authorizer: a}
	case b.entra != nil:
		a.bearer, err = a.openEntra(fetches, cloud, env)
	case b.sigv4 != nil:
		a.keys = aws.NewProvider(&b.sigv4.Identity, cloud, fetches)
	}
	return a, err
}

// Transport returns what sends the requests of the connection: a transport, with signatures if the block requires
// them.
func (a *Authorizer) Transport(next http.RoundTripper) http.RoundTripper {
	if a.keys == nil {
		return next
	}
	return aws.NewTransport(a.block.sigv4, a.keys, next)
}

// Credential returns what the connection holds; nil if it fetches no credential, one for each caller, or one of a
// token server for a client_secret.
func (a *Authorizer) Credential() *adapters.CredentialState {
	switch {
	case a.bearer != nil:
		return a.bearer.credential()
	case a.keys == nil:
		return nil
	}
	return a.keys.Status().State(a.keys.Identity())
}

// Check returns an error if a request of the connection would have no credential. It asks for none of a token server.
func (a *Authorizer) Check(ctx context.Context) error {
	switch {
	case a.bearer != nil:
		return a.bearer.check(ctx)
	case a.keys == nil:
		return nil
	}
	_, err := a.keys.Get(ctx)
	return err
}

// FollowsRedirects reports whether the credentials of a request are valid at the address of a redirect.
func (b *Block) FollowsRedirects() bool { return b.sigv4 == nil }

// ExplainRefusal returns what a message says of a response after its status, of which head is the beginning of the
// body; empty if there is nothing to say.
func (a *Authorizer) ExplainRefusal(resp *http.Response, head []byte) string {
	if a.keys == nil {
		return ""
	}
	return aws.ExplainRefusal(resp, head)
}

// Authorize adds credentials to a request.
func (a *Authorizer) Authorize(ctx context.Context, f *hcl.Frame, r Request) error {
	switch b := a.block; {
	case a.bearer != nil:
		return a.bearer.authorize(ctx, r)
	case a.keys != nil:
		return a.announceSignature(ctx, r)
	case b.basic != nil:
		return b.setBasic(f, r)
	case b.header != nil:
		return r.AddHeaders(f, b.header)
	case b.query != nil:
		return r.SetParameters(f, b.query)
	}
	token := a.block.bearer.Reveal()
	setAuthorization(r, "Bearer ", token)
	r.Hide(token)
	return nil
}

// announceSignature has a request say what its transport will sign it with. It hides the token of the credential, as
// HideSigned does with the one that was sent.
func (a *Authorizer) announceSignature(ctx context.Context, r Request) error {
	r.SetHeader("Authorization", a.block.sigv4.String())
	if r.Call() == nil || a.mocked {
		return nil
	}
	c, err := a.keys.Get(ctx)
	if err != nil {
		return err
	}
	a.hideToken(r, c.Token)
	return nil
}

// HideSigned hides the token of the credential that the request of a response was signed with. It may be a later one
// than that of Authorize: an attempt has that of its time, and one that has ended is replaced.
func (a *Authorizer) HideSigned(resp *http.Response, r Request) {
	if a.keys != nil {
		a.hideToken(r, aws.TokenOf(resp.Request))
	}
}

func (a *Authorizer) hideToken(r Request, token string) {
	if token != "" {
		r.Hide(token)
		r.HideFetched(a.hidden.scrubberOf(token))
	}
}

// Renew replaces a fetched credential that the service has refused. It reports whether the request has another one.
func (a *Authorizer) Renew(ctx context.Context, r Request) bool {
	if a.bearer == nil {
		return false
	}
	a.bearer.invalidate(ctx, r)
	return a.bearer.authorize(ctx, r) == nil
}

// msgColonInUser is the message for a user name that no service can tell from the password (RFC 7617, section 2).
const msgColonInUser = "the user name of basic must not contain a colon, because a colon ends it"

func (b *Block) setBasic(f *hcl.Frame, r Request) error {
	parts := map[string]string{}
	err := adapters.EachEntry(f, b.basic, "", adapters.TextOf, func(name, text string, _ bool) error {
		parts[name] = text
		return nil
	})
	if err == nil && strings.Contains(parts["username"], ":") {
		err = &adapters.Fault{Message: msgColonInUser}
	}
	encoded := base64.StdEncoding.EncodeToString([]byte(parts["username"] + ":" + parts["password"]))
	setAuthorization(r, "Basic ", encoded)
	r.Hide(encoded, parts["password"])
	return err
}

// setAuthorization sets the Authorization header.
func setAuthorization(r Request, scheme, credentials string) {
	if r.Call() == nil {
		credentials = hcl.Hidden
	}
	r.SetHeader("Authorization", scheme+credentials)
}
