package hcl

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/decode"
	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
	"hatchel/internal/hostname"
)

// SignIn is the sign_in block: an authorization server for this server alone, in front of one OpenID provider.
type SignIn struct {
	URL          string            // the issuer and public origin, such as "https://tools.example"
	Provider     string            // the issuer of the OpenID provider
	Client       ClientAuth        // as which this server signs in at the provider
	Scopes       []string          // that the provider is asked for
	SubjectClaim string            // the claim of the ID token for caller.subject
	GroupsClaim  string            // the claim of the ID token for caller.groups
	GroupNames   map[string]string // values of that claim and the groups for them; nil if groups keep their names
	Claims       []string          // that are copied to caller.claims
	Algorithms   []string          // of ID tokens
	ClockSkew    time.Duration
	Allow        *Condition // over caller; nil for everyone whom the provider signs in
	Session      time.Duration
	Resources    []string // further audiences of tokens
	Documents    []string // the hosts of client ID documents, or "*" alone
	Register     *Registration
	Clients      []*SignInClient // in written order; names are unique
	ScopeBlocks  []*Scope        // in written order; names are unique
	Assertions   *Assertions     // nil for none
	Range        Range

	// UpstreamTokens reports whether a connection uses the tokens of the provider.
	UpstreamTokens bool
}

// Registration is the register block: dynamic registration of clients (RFC 7591).
type Registration struct {
	Redirects []string // "loopback", origins with https, and private schemes with a host
}

// SignInClient is one client block: a client with a fixed id.
type SignInClient struct {
	Name         string // its client_id
	Redirects    []string
	Secret       SecretText // empty for none, and where secrets are not read
	Keys         string     // a JSON Web Key Set; empty for none
	KeysURL      string     // where the set is fetched from; empty for none
	Confidential bool       // it has a secret or keys
	Range        Range
}

// Scope is one scope block: a scope that people can grant to clients.
type Scope struct {
	Name        string
	Description string     // for people
	Allow       *Condition // over caller; nil for everyone
	Range       Range
}

// Assertions is the assertions block: identity assertions of a provider (ID-JAG), which clients exchange for tokens.
type Assertions struct {
	Issuer  string   // of the assertions
	Clients []string // the ids of the clients that may use them
	Public  bool     // clients without authentication may use them
}

const (
	defaultSignInSession = 12 * time.Hour
	// MaxSessionWithoutKey is the longest session that needs no key of the state block.
	MaxSessionWithoutKey = 12 * time.Hour
)

// Digest returns the digest of what makes a person a caller: tokens and sessions of another digest have ended.
func (s *SignIn) Digest() string {
	parts := []string{s.Provider, s.SubjectClaim, s.GroupsClaim, fmt.Sprint(s.GroupNames != nil)}
	for _, name := range diag.SortedNames(s.GroupNames) {
		parts = append(parts, name, s.GroupNames[name])
	}
	return eval.HashParts(append(parts, slices.Sorted(slices.Values(s.Claims))...)...)
}

// Resource returns the audience of tokens for a toolset; for the empty name that of tokens for every toolset.
func (s *SignIn) Resource(toolset string) string {
	if toolset == "" {
		return s.URL + "/mcp"
	}
	return s.URL + "/mcp/" + toolset
}

// Host returns the host of the URL, in the form of hostname.Parse.
func (s *SignIn) Host() string {
	u, err := url.Parse(s.URL)
	if err != nil {
		return ""
	}
	host, _, _ := hostname.Split(u.Host)
	return host
}

// NeedsUpstreamTokens reports whether tokens of the provider are kept, which requires a key in the state block.
func (s *SignIn) NeedsUpstreamTokens() bool {
	return s.UpstreamTokens || s.Session > MaxSessionWithoutKey
}

// grants reports whether people can grant a scope to clients.
func (s *SignIn) grants(scope string) bool {
	return slices.ContainsFunc(s.ScopeBlocks, func(b *Scope) bool { return b.Name == scope })
}

// spec declares the block. Its rules are compiled in the scope of a call.
func (s *SignIn) spec(call *eval.Scope) decode.Spec {
	s.SubjectClaim, s.GroupsClaim, s.ClockSkew, s.Session = "sub", "groups", time.Minute, defaultSignInSession
	return decode.Join(
		decode.Spec{
			decode.Attr(&s.URL, "url", "The address of this server for clients and browsers, without a path, as in "+
				"\"https://tools.example\". It is the issuer of the tokens. Its host is one of those that the server "+
				"accepts.").Require().Check(s.checkURL).Hint(" The address to register at the provider is url and "+
				"/oauth/callback; it needs no argument.", "redirect_uri", "redirect_url", "callback_url"),
			decode.Attr(&s.Provider, "provider", "The issuer of the OpenID provider, exactly as in its OpenID "+
				"configuration. The address to register there is url and /oauth/callback.").
				Require().Check(s.checkProvider).Hint(" The issuer of the provider is the argument provider: provider "+
				"= \"https://id.example\".", "issuer", "issuer_url", "discovery_url", "authority", "tenant",
				"tenant_id"),
		},
		s.Client.Spec("the token endpoint of the provider"),
		decode.Spec{
			scopesField(&s.Scopes, "scopes", "The scopes that the provider is asked for. With \"offline_access\" it "+
				"gives a refresh token, with which groups and claims are renewed at most hourly.").
				DefaultDoc(`["openid", "profile"]`).Check(s.checkScopes),
			decode.Attr(&s.SubjectClaim, "subject_claim", "The claim of the ID token for caller.subject: one that is "+
				"never given to another person, such as \"oid\" of Entra.").DefaultDoc(`"sub"`).
				Check(checkClaimName(&s.SubjectClaim)),
			decode.Attr(&s.GroupsClaim, "groups_claim", "The claim of the ID token for caller.groups, a string or a "+
				"list of strings. A dot selects a nested claim: realm_access.roles.").DefaultDoc(`"groups"`).
				Check(checkClaimName(&s.GroupsClaim)),
			s.groupNamesField(),
			decode.StringSet(&s.Claims, "claims", "list of names", "The claims of the ID token that caller.claims "+
				"has, as in [\"email\", \"tenant\"]. Besides these it has client_id.", keepClaim),
			inScope(call, decode.Attr(&s.Allow, "allow", "Who may sign in: an expression over caller, as in "+
				"\"'finance' in caller.groups\". By default everyone whom the provider signs in. It is evaluated for "+
				"each request, also after a reload.")),
			decode.PositiveDuration(&s.Session, "session", "The time after which a person must sign in again, from "+
				"10m to 8760h. More than 12h requires a key in the state block.").DefaultDoc("12h").
				Check(s.checkSession),
			decode.StringSet(&s.Documents, "documents", "list of host names", "The hosts whose client ID documents "+
				"are accepted, as in [\"claude.ai\", \"vscode.dev\"]. Their subdomains are not. [\"*\"] accepts every "+
				"host, which causes a warning.", keepDocumentHost),
			decode.Block(&s.Register, "register", "Dynamic registration of clients (RFC 7591). Nothing is stored: the "+
				"id of a client is its sealed registration. Without this block there is none.", (*Registration).spec),
			decode.Blocks("client", "client_id", "A client with a fixed id: a word, or the URL of a client ID "+
				"document that is not fetched then.",
				func() decode.Spec { return new(SignInClient).spec() }, s.decodeClient),
			decode.Blocks("scope", "name", "A scope that people can grant to clients. A scope without such a block is "+
				"not granted.", func() decode.Spec { return new(Scope).spec(nil) },
				func(d *decode.Decoder, b *hclsyntax.Block) { s.decodeScope(d, b, call) }),
			decode.Block(&s.Assertions, "assertions", "Identity assertions of the provider (ID-JAG), which clients "+
				"exchange for tokens without a browser.",
				func(a *Assertions) decode.Spec { return a.spec(s) }),
			decode.StringSet(&s.Resources, "resources", "list of URLs", "Further audiences for which clients may "+
				"request tokens, such as the address of another Hatchel that has jwt { issuer = url }.",
				s.keepResource),
			decode.Attr(&s.ClockSkew, "clock_skew", "The allowed difference between the clocks of the provider and "+
				"this machine, at most 10m.").DefaultDoc(`"60s"`).Check(checkClockSkew(&s.ClockSkew)),
			decode.StringSet(&s.Algorithms, "algorithms", "list of algorithms", "The allowed signature algorithms of "+
				"ID tokens, from "+diag.JoinOr(signatureAlgorithms)+".", checkAlgorithm).
				DefaultDoc(`["RS256", "ES256", "EdDSA"]`).Check(checkAlgorithms(&s.Algorithms)),
		})
}

// inScope makes an argument compile its expression in a scope.
func inScope(s *eval.Scope, f decode.Field) decode.Field {
	return f.Wrap(func(d *decode.Decoder, _ hclsyntax.Expression, read func()) { d.In(s, read) })
}

// groupNamesField declares a map of texts.
func (s *SignIn) groupNamesField() decode.Field {
	return decode.Custom("group_names", "map of strings", "The values of the groups claim that become groups, and "+
		"their names, as in { \"1c9e…\" = \"finance\" }. Other values are dropped. By default every value is a group.",
		func(d *decode.Decoder, e hclsyntax.Expression) {
			d.Ranges[&s.GroupNames] = diag.RangeOf(e.Range())
			n := d.CompileKnown(e, decode.Field{Name: "group_names"})
			members, ok := n.Value.(map[string]any)
			if n.Known && !ok {
				d.Errorf(e.Range(), "Wrong type", "group_names takes a map of strings, not %s.",
					eval.ValuePhrase(n.Value))
				return
			}
			s.GroupNames = map[string]string{}
			for _, key := range diag.SortedNames(members) {
				name, ok := members[key].(string)
				if !ok {
					d.Errorf(e.Range(), "Wrong type", "group_names takes a map of strings, and %q is %s.", key,
						eval.ValuePhrase(members[key]))
				}
				if ok && strings.TrimSpace(name) == "" {
					d.Errorf(e.Range(), "Empty text", "group_names gives %q an empty name. Write the name of the "+
						"group, or remove the entry, which drops it.", key)
				}
				if strings.TrimSpace(key) == "" {
					d.Errorf(e.Range(), "Empty text", "group_names names an empty value of the groups claim. Write "+
						"the value that the provider sends, or remove the entry.")
				}
				for _, text := range []string{key, name} {
					if strings.TrimSpace(text) != text && strings.TrimSpace(text) != "" {
						d.Errorf(e.Range(), "Blanks around a name", "group_names has %q. No group is equal to it: "+
							"write %q.", text, strings.TrimSpace(text))
					}
				}
				s.GroupNames[key] = name
			}
		})
}

func (r *Registration) spec() decode.Spec {
	return decode.Spec{
		decode.StringSet(&r.Redirects, "redirects", "list of redirects", "Where clients may ask to come back to: "+
			"\"loopback\" for programs on the computer of the person, an origin such as \"https://claude.ai\", or a "+
			"private scheme with its host, such as \"cursor://anysphere.cursor-mcp\". Other addresses of a "+
			"registration are dropped.", keepAllowedRedirect).Require().
			Check(checkNotEmpty(&r.Redirects, "No redirect", "No client could register. Write where clients may come "+
				"back to, as in [\"loopback\"], or remove the block.")),
	}
}

func (c *SignInClient) spec() decode.Spec {
	return decode.Join(
		decode.Spec{
			decode.StringSet(&c.Redirects, "redirects", "list of URLs", "The addresses to which the client may ask to "+
				"come back. They are compared as texts, but for the port on the computer of the person.",
				keepRedirect).Require().Hint(" The addresses are the argument redirects: redirects = "+
				"[\"https://app.example/callback\"].", "redirect_uris", "redirect_uri").
				Check(checkNotEmpty(&c.Redirects, "No redirect", "A client without an address cannot come back. Write "+
					"one, as in [\"http://localhost:6274/oauth/callback\"].")),
		},
		decode.AtMostOneOf("the credential of the client",
			decode.Attr(&c.Secret, "secret", "The secret of the client, which makes it confidential. At least 16 "+
				"characters.").Check(c.checkSecret).Then(func(*decode.Decoder, Range) { c.Confidential = true }),
			c.keysField(),
		))
}

func (c *SignInClient) keysField() decode.Field {
	return decode.Attr(&c.Keys, "keys", "The public keys of the client, which makes it confidential: a JSON Web Key "+
		"Set, as in file(\"inspector.jwks\"), or the URL of one.").Check(c.checkKeys).
		Then(func(*decode.Decoder, Range) { c.Confidential = true })
}

// decodeClient decodes a client block.
func (s *SignIn) decodeClient(d *decode.Decoder, b *hclsyntax.Block) {
	c := &SignInClient{Range: headerRange(b)}
	d.Body(b, c.spec())
	if len(b.Labels) != 1 {
		d.Errorf(b.DefRange(), "Wrong number of labels", "A client block is written `client \"client_id\" {`.")
		return
	}
	c.Name = b.Labels[0]
	checkClientName(d, b)
	for _, other := range s.Clients {
		if other.Name == c.Name {
			d.Errorf(b.DefRange(), "Duplicate client", "The client %q is already declared at %s:%d.", c.Name,
				other.Range.File, other.Range.Start.Line)
			d.Diags.Relate(other.Range)
			return
		}
	}
	s.Clients = append(s.Clients, c)
}

func (s *Scope) spec(call *eval.Scope) decode.Spec {
	return decode.Spec{
		decode.Attr(&s.Description, "description", "What the scope permits, for people, as in \"Pay invoices in your "+
			"name\". At most 200 characters.").Require().Check(s.checkDescription),
		inScope(call, decode.Attr(&s.Allow, "allow", "Who may grant it: an expression over caller. By default "+
			"everyone who may sign in.")),
	}
}

// decodeScope decodes a scope block.
func (s *SignIn) decodeScope(d *decode.Decoder, b *hclsyntax.Block, call *eval.Scope) {
	scope := &Scope{Range: headerRange(b)}
	d.Body(b, scope.spec(call))
	if len(b.Labels) != 1 {
		d.Errorf(b.DefRange(), "Wrong number of labels", "A scope block is written `scope \"name\" {`.")
		return
	}
	scope.Name = b.Labels[0]
	if !scopePattern.MatchString(scope.Name) {
		reportScope(d, labelRange(b), scope.Name)
	}
	for _, other := range s.ScopeBlocks {
		if other.Name == scope.Name {
			d.Errorf(b.DefRange(), "Duplicate scope", "The scope %q is already declared at %s:%d.", scope.Name,
				other.Range.File, other.Range.Start.Line)
			d.Diags.Relate(other.Range)
			return
		}
	}
	s.ScopeBlocks = append(s.ScopeBlocks, scope)
}

// spec declares the block. Its clients are those of s.
func (a *Assertions) spec(s *SignIn) decode.Spec {
	return decode.Spec{
		decode.Attr(&a.Issuer, "issuer", "The issuer of the assertions. Its subjects must be the same people as those "+
			"of the provider.").DefaultDoc("provider").Check(a.checkIssuer(s)),
		decode.Attr(&a.Public, "public", "Whether clients without authentication may use assertions.").
			DefaultDoc("false"),
		decode.StringSet(&a.Clients, "clients", "list of client ids", "The clients that may use assertions: the URLs "+
			"of client ID documents, or names of client blocks.",
			func(d *decode.Decoder, r Range, id string) string { return s.keepAssertionClient(d, r, id, a.Public) }).
			Require().Check(checkNotEmpty(&a.Clients, "No client",
			"No client may use assertions then. Name one, or remove the block.")),
	}
}

// decodeSignIn decodes a sign_in block.
func (a *Auth) decodeSignIn(d *decode.Decoder, b *hclsyntax.Block, call *eval.Scope) {
	s := &SignIn{Range: headerRange(b)}
	before := len(d.Diags)
	d.Body(b, s.spec(call))
	s.Client.Check(&blockRefuser{d, b, "Invalid client"})
	if s.Scopes == nil {
		s.Scopes = []string{"openid", "profile"}
	}
	if s.Algorithms == nil {
		s.Algorithms = slices.Clone(defaultAlgorithms)
	}
	if s.Assertions != nil && s.Assertions.Issuer == "" {
		s.Assertions.Issuer = s.Provider
	}
	if !d.Diags[before:].HasErrors() {
		s.check(d, b)
	}
	if !d.Diags[before:].HasErrors() {
		a.SignIn = s
	}
}
