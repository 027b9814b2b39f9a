package served

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"hatchel/hcl"
	"hatchel/runtime/durable/audit"
	"hatchel/runtime/durable/grant"
	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/edge/signin/client"
	"hatchel/runtime/edge/signin/provider"
)

// SignIn is the sign_in block of a configuration: the clients and the provider of its authorization server.
type SignIn struct {
	Decl     *hcl.SignIn
	Clients  *client.Clients
	Provider *provider.Provider
}

// SetPerson sets who the person of a grant is.
func (s *SignIn) SetPerson(g *grant.Grant, person *provider.Person) error {
	text, err := json.Marshal(person.Claims)
	if err != nil {
		return err
	}
	g.Subject, g.Key, g.Groups, g.Claims = person.Subject, s.Decl.Provider, person.Groups, text
	g.Source, g.Digest = person.Source, s.Decl.Digest()
	return nil
}

// Renew asks the provider for new tokens of the person of a grant, and for who the person is now. The error is a
// *provider.Error, and grant.ErrEnded for a person whom the provider no longer signs in.
func (s *SignIn) Renew(ctx context.Context, g *grant.Grant) error {
	known := &provider.Person{Subject: g.Subject, Groups: g.Groups, Source: g.Source}
	if err := json.Unmarshal(g.Claims, &known.Claims); err != nil {
		return err
	}
	person, tokens, err := s.Provider.Refresh(ctx, g.Upstream.Refresh, known)
	if tokens != nil { // also after an error
		g.Upstream.Refresh = tokens.Refresh
	}
	if errors.Is(err, provider.ErrEnded) {
		return errors.Join(grant.ErrEnded, err)
	}
	if err != nil {
		return err
	}
	s.SetUpstream(g, tokens, g.Upstream.Renewed)
	return s.SetPerson(g, person)
}

// SetUpstream sets the tokens of the provider that a grant keeps, if the state block has a key: the refresh token, with
// which the person is renewed, and the access token where a connection uses it.
func (s *SignIn) SetUpstream(g *grant.Grant, tokens *provider.Tokens, renewed time.Time) {
	g.Upstream = &grant.Upstream{Refresh: tokens.Refresh, Renewed: renewed}
	if s.Decl.UpstreamTokens {
		g.Upstream.Access, g.Upstream.AccessEnds = tokens.Access, tokens.AccessEnds
	}
}

// MapAgain makes the person of a grant anew from the claims of the provider, after the declaration has changed. The
// error says that the person must sign in again.
func (s *SignIn) MapAgain(g *grant.Grant) error {
	if g.Key != s.Decl.Provider {
		return errors.New("the person has signed in at another provider")
	}
	person, err := s.Provider.Person(g.Source)
	switch {
	case err != nil:
		return err
	case person.Subject != g.Subject:
		return errors.New("the person has another subject now")
	}
	return s.SetPerson(g, person)
}

// ProviderRule is the rule of records about what the provider has decided.
const ProviderRule = "provider"

// RenewSignIn is Renew for calls of tools and sessions of the console. It logs failures, and records that the provider
// has ended a sign-in.
func (s *Served) RenewSignIn(ctx context.Context, g *grant.Grant) error {
	err := s.SignIn.Renew(ctx, g)
	if err == nil {
		return nil
	}
	s.Env.Log.WarnContext(ctx, "sign-in at the provider failed", slog.String("subject", g.Subject),
		slog.String("error", s.Env.Scrubber.Text(err.Error())))
	if errors.Is(err, grant.ErrEnded) {
		s.Metrics.SignIn(audit.Revoked)
		if s.Audit != nil {
			r := s.SignInRecord(new(mcp.Caller), g)
			r.Outcome, r.Rule, r.Message = audit.Revoked, ProviderRule, "The provider has ended it"
			s.Record(ctx, r)
		}
	}
	return err
}

// SignInRecord returns a record about a sign-in, whose person becomes the caller.
func (s *Served) SignInRecord(c *mcp.Caller, g *grant.Grant) *audit.Record {
	if g.Subject != "" {
		c.SetIdentity(&mcp.Identity{Subject: g.Subject, Key: g.Key, Groups: g.Groups})
	}
	r := s.Env.AuditRecord(audit.EventSignIn, c, nil)
	r.Kind, r.ID, r.Name, r.URI = "client", g.ID, s.Env.Scrubber.Text(ClientName(g)), g.Resource
	return r
}

// ClientName names the client of a grant in logs and records.
func ClientName(g *grant.Grant) string { return g.SignIn().Client.Recorded() }
