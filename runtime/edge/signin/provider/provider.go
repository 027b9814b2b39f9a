// Package provider signs people in at an OpenID provider, as its client: it makes authorization requests, redeems codes
// and refresh tokens, verifies ID tokens (OpenID Connect Core 1.0), and maps their claims to who a person is here. It
// verifies identity assertions (ID-JAG), too.
package provider

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"hatchel/hcl"
	"hatchel/internal/logonce"
	"hatchel/runtime/edge/auth/issuer"
)

// CallbackPath is the path of the address to which the provider sends browsers back.
const CallbackPath = "/oauth/callback"

// Client authenticates this server at the token endpoint of the provider.
type Client interface {
	// Authenticate adds the credential to the form and the header of a request, and returns the secrets that they
	// then have.
	Authenticate(form url.Values, header http.Header, tokenURL string) (secrets []string, err error)
}

// Options are the inputs of New besides the declaration.
type Options struct {
	Issuers *issuer.Issuers  // shared by all generations
	Client  Client           // as which this server signs in at the provider
	Log     *slog.Logger     // for what the operator mends
	Now     func() time.Time // clock by which tokens expire
	Defer   func(func() error)
}

// Provider is the OpenID provider of a sign_in block. It may be used concurrently.
type Provider struct {
	declared   *hcl.SignIn
	issuer     *issuer.Issuer
	idTokens   *issuer.Verifier
	assertions *issuer.Verifier // nil if none are accepted
	asserting  *issuer.Issuer   // of assertions; nil if none are accepted
	client     Client
	log        *slog.Logger
	logged     logonce.Changes
	now        func() time.Time
}

// New returns the provider. It makes no requests; later ones have the values of ctx.
func New(ctx context.Context, s *hcl.SignIn, o Options) *Provider {
	acquire := func(address string) *issuer.Issuer {
		declared := issuer.Declaration{URL: address, OpenID: address == s.Provider}
		i, release := o.Issuers.Acquire(ctx, declared, issuer.Options{Log: o.Log, Now: o.Now})
		o.Defer(release)
		return i
	}
	p := &Provider{declared: s, issuer: acquire(s.Provider), client: o.Client, log: o.Log, now: o.Now}
	p.idTokens = p.issuer.NewVerifier(s.Client.ID.Reveal(), s.Algorithms, s.ClockSkew)
	if s.Assertions != nil {
		p.asserting = acquire(s.Assertions.Issuer)
		p.assertions = p.asserting.NewVerifier(s.URL, s.Algorithms, s.ClockSkew)
	}
	return p
}

// Probe loads the metadata and the keys of the provider and of the issuer of assertions, and returns why that fails.
func (p *Provider) Probe(ctx context.Context) error {
	if err := p.issuer.Probe(ctx); err != nil {
		return fmt.Errorf("the metadata and keys of the provider cannot be loaded: %w", err)
	}
	if err := p.probeMetadata(ctx); err != nil {
		return err
	}
	if p.asserting == nil || p.asserting == p.issuer {
		return nil
	}
	if err := p.asserting.Probe(ctx); err != nil {
		return fmt.Errorf("the keys of the issuer of assertions cannot be loaded: %w", err)
	}
	return nil
}

// probeMetadata returns why nobody can sign in at a provider with these metadata.
func (p *Provider) probeMetadata(ctx context.Context) error {
	m, err := p.issuer.Metadata(ctx)
	if err != nil {
		return err
	}
	accepted := p.declared.Algorithms
	isOther := func(algorithm string) bool { return !slices.Contains(accepted, algorithm) }
	if len(m.Algorithms) > 0 && len(slices.DeleteFunc(slices.Clone(m.Algorithms), isOther)) == 0 {
		return fmt.Errorf("the provider signs ID tokens with %s, and algorithms has %s", quoted(m.Algorithms[0]),
			strings.Join(accepted, ", "))
	}
	if m.IsPushedAlone {
		return errors.New("the provider requires pushed authorization requests (RFC 9126), which this server does " +
			"not send")
	}
	return nil
}

// Health returns why people cannot be sent to the provider: its metadata, which are kept, cannot be loaded.
func (p *Provider) Health(ctx context.Context) error {
	if _, err := p.issuer.Metadata(ctx); err != nil {
		return errors.New(requestFault(err))
	}
	return nil
}

// Ask is an authorization request.
type Ask struct {
	State     string
	Nonce     string
	Verifier  string // of PKCE
	Prompt    string // empty for the choice of the provider
	LoginHint string // empty for none
}

const (
	offlineAccess = "offline_access"
	// google gives refresh tokens for a parameter, and refuses the scope of OpenID Connect.
	google = "https://accounts.google.com"
)

// AuthorizationURL returns the address of the provider that a browser goes to. It has no parameter resource, because
// the token of the provider is for this server as its client; Entra refuses it. The error is an *Error.
func (p *Provider) AuthorizationURL(ctx context.Context, ask Ask) (string, error) {
	metadata, err := p.metadata(ctx)
	if err != nil {
		return "", err
	}
	u, err := url.Parse(metadata.Authorization)
	if err != nil {
		return "", unavailable("its metadata has an invalid authorization_endpoint")
	}
	q, scopes := u.Query(), slices.Clone(p.declared.Scopes)
	set := func(name, text string) {
		if text != "" {
			q.Set(name, text)
		}
	}
	prompts := slices.DeleteFunc(strings.Fields(ask.Prompt), func(value string) bool {
		return !takesPrompt(p.declared.Provider, metadata, value)
	})
	if slices.Contains(scopes, offlineAccess) {
		offline := offlineParameters(p.declared.Provider, metadata)
		if offline.withoutScope {
			scopes = slices.DeleteFunc(scopes, func(s string) bool { return s == offlineAccess })
		}
		set("access_type", offline.accessType)
		if offline.prompt != "" {
			prompts = append(prompts, offline.prompt)
		}
	}
	set("prompt", strings.Join(prompts, " "))
	set("login_hint", ask.LoginHint)
	q.Set("response_type", "code")
	q.Set("client_id", p.declared.Client.ID.Reveal())
	q.Set("redirect_uri", p.redirect())
	q.Set("scope", strings.Join(scopes, " "))
	q.Set("state", ask.State)
	q.Set("nonce", ask.Nonce)
	if takesChallenge(metadata) {
		sum := sha256.Sum256([]byte(ask.Verifier))
		q.Set("code_challenge", base64.RawURLEncoding.EncodeToString(sum[:]))
		q.Set("code_challenge_method", "S256")
	}
	u.RawQuery, u.Fragment = q.Encode(), ""
	return u.String(), nil
}

// takesChallenge reports whether a provider has PKCE with S256. Many have it and do not say so.
func takesChallenge(m *issuer.Metadata) bool {
	return m.Challenges == nil || slices.Contains(m.Challenges, "S256")
}

// takesPrompt reports whether a provider has a value of the parameter prompt. Some refuse a request with another one,
// and few list those that they have.
func takesPrompt(address string, m *issuer.Metadata, value string) bool {
	switch {
	case m.Prompts != nil:
		return slices.Contains(m.Prompts, value)
	case value == "select_account": // which Okta and others do not have
		return address == google || isEntra(address)
	}
	return address != google || value != "login"
}

// isEntra reports whether an issuer is a tenant of Entra.
func isEntra(address string) bool {
	u, err := url.Parse(address)
	return err == nil && slices.ContainsFunc(entraHosts, func(host string) bool {
		return u.Host == host || strings.HasSuffix(u.Host, "."+host)
	})
}

// offline is how a provider is asked for a refresh token.
type offline struct {
	prompt       string
	accessType   string
	withoutScope bool // offline_access is left out
}

// offlineParameters returns how a provider is asked for a refresh token. The specification requires prompt=consent with
// offline_access (OpenID Connect Core 1.0, section 11), and some providers ignore the scope otherwise. Entra gives
// refresh tokens without it, and its prompt asks people for what only administrators can consent to.
func offlineParameters(address string, m *issuer.Metadata) offline {
	switch {
	case address == google:
		return offline{prompt: "consent", accessType: "offline", withoutScope: true}
	case isEntra(address), !takesPrompt(address, m, "consent"):
		return offline{}
	}
	return offline{prompt: "consent"}
}

// entraHosts are the hosts of Entra, its national clouds and its tenants for customers.
var entraHosts = []string{
	"login.microsoftonline.com", "login.microsoftonline.us", "login.partner.microsoftonline.cn", "sts.windows.net",
	"ciamlogin.com", "b2clogin.com",
}

// redirect returns the address to which the provider sends browsers back.
func (p *Provider) redirect() string { return p.declared.URL + CallbackPath }

// metadata returns the metadata of the provider. The error is an *Error.
func (p *Provider) metadata(ctx context.Context) (*issuer.Metadata, error) {
	metadata, err := p.issuer.Metadata(ctx)
	if err != nil {
		return nil, unavailable("its metadata cannot be loaded: " + requestFault(err))
	}
	return metadata, nil
}

// Code returns the authorization code of a response, which are the parameters of a request for CallbackPath whose state
// the caller has verified. It refuses the response of another provider (RFC 9207). The error is an *Error.
func (p *Provider) Code(ctx context.Context, response url.Values) (string, error) {
	metadata, err := p.metadata(ctx)
	if err != nil {
		return "", err
	}
	from, named := response["iss"]
	switch {
	case named && (len(from) != 1 || from[0] != p.declared.Provider):
		return "", refused("the response of a provider names another issuer, " + quoted(response.Get("iss")))
	case !named && metadata.NamesIssuer:
		return "", refused("the response of the provider does not name its issuer, which its metadata promises")
	case response.Has("error"):
		return "", authorizationError(response.Get("error"), response.Get("error_description"))
	case len(response["code"]) != 1 || response.Get("code") == "":
		return "", refused("the response of the provider has no code")
	}
	return response.Get("code"), nil
}
