package hcl

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/decode"
	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
	"hatchel/internal/hostname"
	"hatchel/internal/printable"
)

const (
	minSignInSession    = 10 * time.Minute // the life of an access token
	maxSignInSession    = 365 * 24 * time.Hour
	maxScopeDescription = 200
	offlineAccess       = "offline_access"
)

// blockRefuser reports mistakes at the arguments of a block.
type blockRefuser struct {
	d       *decode.Decoder
	block   *hclsyntax.Block
	summary string
}

// Refuse implements Refuser.
func (r *blockRefuser) Refuse(wrong bool, field any, format string, args ...any) {
	if wrong {
		r.d.Diags.Errorf(r.d.FieldRange(field, r.block), r.summary, format, args...)
	}
}

// checkURL checks the public origin. One that is wrong is not compared with others.
func (s *SignIn) checkURL(d *decode.Decoder, r Range) {
	before := len(d.Diags)
	if s.reportURL(d, r); len(d.Diags) > before {
		s.URL = ""
	}
}

func (s *SignIn) reportURL(d *decode.Decoder, r Range) {
	const form = "url is the origin of this server, as in \"https://tools.example\""
	u, problem := hostname.ParseURL(s.URL, 0)
	if problem != "" {
		d.Diags.Errorf(r, "Invalid url", "%s: %s.", form, problem)
		return
	}
	host, port, ok := hostname.Split(u.Host)
	switch origin := hostname.Origin(u.Scheme, host, port); {
	case !ok || host == "0.0.0.0" || host == "::":
		d.Diags.Errorf(r, "Invalid url", "%s: %q is no name or address that clients can connect to.", form, u.Host)
	case hostname.IsReadable(u):
		d.Diags.Errorf(r, "Invalid url", "%s: with http, codes and tokens could be read in transit, so it must be "+
			"https. Behind a proxy it is the address of the proxy.", form)
	case strings.Trim(u.Path, "/") != "":
		d.Diags.Errorf(r, "Invalid url", "%s: it has a path. The addresses of sign-in are at the root of a host: "+
			"write %q, and serve it there.", form, origin)
	case origin != s.URL:
		d.Diags.Errorf(r, "Invalid url", "%s. Clients compare it as a text: write %q.", form, origin)
	}
}

func (s *SignIn) checkProvider(d *decode.Decoder, r Range) {
	if problem := issuerProblem(s.Provider); problem != "" {
		d.Diags.Errorf(r, "Invalid provider", "%s", problem)
	}
}

func (s *SignIn) checkScopes(d *decode.Decoder, r Range) {
	if !slices.Contains(s.Scopes, "openid") {
		d.Diags.Errorf(r, "Scopes without openid", "Without openid the provider issues no ID token, and nobody can "+
			"sign in. Write scopes = %s.", listLiteral(append([]string{"openid"}, s.Scopes...)))
	}
}

func (s *SignIn) checkSession(d *decode.Decoder, r Range) {
	switch {
	case s.Session < minSignInSession:
		d.Diags.Errorf(r, "Session too short", "An access token is valid for 10 minutes, and a session has at least "+
			"one: write session = \"10m\" or more.")
	case s.Session > maxSignInSession:
		d.Diags.Errorf(r, "Session too long", "A session has at most a year: write session = \"8760h\" or less.")
	}
}

// checkClaimName returns the check of the name of a claim.
func checkClaimName(name *string) func(*decode.Decoder, Range) {
	return func(d *decode.Decoder, r Range) {
		if strings.TrimSpace(*name) == "" {
			d.Diags.Errorf(r, "Empty text", "The name of a claim is empty. Write it as tokens have it, or remove the "+
				"argument for its default.")
		} else if strings.TrimSpace(*name) != *name {
			reportBlanks(d, r, *name)
		}
	}
}

// reportBlanks reports the name of a claim with blanks around it.
func reportBlanks(d *decode.Decoder, r Range, name string) {
	d.Diags.Errorf(r, "Blanks around a name", "No claim has the name %q: write %q.", name, strings.TrimSpace(name))
}

// ownClaims are claims that caller.claims has by itself, or that are about a token and not about a person.
var ownClaims = []string{"client_id", "iss", "aud", "exp", "nbf", "iat", "nonce", "at_hash", "c_hash", "s_hash", "jti",
	"gid"}

// keepClaim returns an element of claims.
func keepClaim(d *decode.Decoder, r Range, name string) string {
	switch {
	case strings.TrimSpace(name) == "":
		d.Diags.Errorf(r, "Empty text", "The name of a claim is empty. Write it as ID tokens have it.")
	case strings.TrimSpace(name) != name:
		reportBlanks(d, r, name)
	case name == "client_id":
		d.Diags.Errorf(r, "Claim of its own", "caller.claims.client_id is the client that calls, which it has without "+
			"being named. Remove it.")
	case slices.Contains(ownClaims, name):
		d.Diags.Errorf(r, "Claim of a token", "%q is about one token, and not about the person. Remove it.", name)
	}
	return name
}

// keepResource returns an element of resources (RFC 8707).
func (s *SignIn) keepResource(d *decode.Decoder, r Range, text string) string {
	const form = "A resource is the URL of another server, as in \"https://other.example/mcp\""
	u, problem := hostname.ParseURL(text, hostname.Query)
	origin, rest := "", text
	if problem == "" {
		host, port, _ := hostname.Split(u.Host)
		origin = hostname.Origin(u.Scheme, host, port)
		rest = text[min(len(u.Scheme)+len("://")+len(u.Host), len(text)):]
	}
	switch {
	case problem != "":
		d.Diags.Errorf(r, "Invalid resource", "%s: %s.", form, problem)
	case strings.HasSuffix(text, "#"):
		d.Diags.Errorf(r, "Invalid resource", "%s: it has a fragment.", form)
	case hostname.IsReadable(u):
		d.Diags.Errorf(r, "Invalid resource", "%s: with http, tokens could be read in transit, so it must be https.",
			form)
	case s.URL != "" && origin == s.URL:
		d.Diags.Errorf(r, "Own resource", "Clients may request tokens for %s and its toolsets without an entry. "+
			"Remove %q.", s.Resource(""), text)
	case text != origin+rest:
		d.Diags.Errorf(r, "Invalid resource", "%s. Clients compare it as a text: write %q.", form, origin+rest)
	default:
		return text
	}
	return ""
}

// checkNotEmpty returns the check of a list that has an element.
func checkNotEmpty(list *[]string, summary, detail string) func(*decode.Decoder, Range) {
	return func(d *decode.Decoder, r Range) {
		if len(*list) == 0 {
			d.Diags.Errorf(r, summary, "%s", detail)
		}
	}
}

func (s *Scope) checkDescription(d *decode.Decoder, r Range) {
	text := strings.TrimSpace(s.Description)
	switch {
	case text == "":
		d.Diags.Errorf(r, "Empty text", "People read the description before they grant the scope. Write what it "+
			"permits, as in \"Pay invoices in your name\".")
	case utf8.RuneCountInString(text) > maxScopeDescription:
		d.Diags.Errorf(r, "Description too long", "People read the description before they grant the scope: at most "+
			"%d characters.", maxScopeDescription)
	case printable.HasHidden(text) || strings.ContainsFunc(text, unicode.IsControl):
		d.Diags.Errorf(r, "Hidden characters", "People read the description before they grant the scope. Remove its "+
			"line breaks and the characters that nobody sees.")
	}
}

// check checks what several arguments say together.
func (s *SignIn) check(d *decode.Decoder, b *hclsyntax.Block) {
	s.checkAdmission(d, b)
	s.checkSubject(d, b)
	s.checkRenewal(d, b)
	s.checkOwn(d, b)
	s.checkDocuments(d, b)
	for _, rule := range s.rules() {
		s.checkRule(d, rule)
	}
}

// rules returns the conditions on people who sign in.
func (s *SignIn) rules() (rules []*Condition) {
	for _, scope := range s.ScopeBlocks {
		rules = append(rules, scope.Allow)
	}
	return slices.DeleteFunc(append(rules, s.Allow), func(c *Condition) bool { return c == nil || c.Type() == nil })
}

// checkAdmission refuses a provider that signs in everybody, unless allow says who may.
func (s *SignIn) checkAdmission(d *decode.Decoder, b *hclsyntax.Block) {
	u, err := url.Parse(s.Provider)
	if err != nil || b.Body.Attributes["allow"] != nil {
		return
	}
	p := findPublicProvider(u)
	switch {
	case p == nil:
	case p.claim == "":
		d.Diags.Errorf(d.FieldRange(&s.Provider, b), "Everybody could sign in", "%s signs in everybody who has an "+
			"account there. Write who may sign in, as in allow = \"caller.subject in ['…']\".", p.name)
	default:
		d.Diags.Errorf(d.FieldRange(&s.Provider, b), "Everybody could sign in", "%s signs in everybody who has an "+
			"account there. Write who may sign in, as in claims = [%q] and allow = \"%s\".", p.name, p.claim, p.allow)
	}
}

// addressClaims are claims with an email address, which a provider may let people choose or give to another person.
var addressClaims = []string{"email", "mail", "emails", "email_address"}

// changeableClaims are claims with a name, which people can change, or which may be given to another person.
var changeableClaims = []string{"preferred_username", "upn", "unique_name", "username", "nickname", "name", "login"}

// sharedClaims are claims that many people have alike, and those that each ID token has anew.
var sharedClaims = []string{"iss", "aud", "azp", "tid", "hd", "groups", "roles", "wids", "acr", "amr", "locale",
	"zoneinfo", "exp", "iat", "nbf", "auth_time", "nonce", "jti", "sid", "at_hash", "c_hash", "s_hash",
	"email_verified", "scope", "scp", "client_id", "cid", "appid", "idp", "ver", "typ"}

// checkSubject refuses email addresses as subjects, unless one company assigns them and they are verified.
func (s *SignIn) checkSubject(d *decode.Decoder, b *hclsyntax.Block) {
	at := d.FieldRange(&s.SubjectClaim, b)
	stable := "sub"
	u, err := url.Parse(s.Provider)
	if err == nil && entraProblem(u) == "" && slices.Contains(entraHosts, u.Host) {
		stable = "oid"
	}
	name := lastOfClaim(s.SubjectClaim)
	switch {
	case slices.Contains(sharedClaims, name):
		reportShared(d, at, s.SubjectClaim, stable)
	case slices.Contains(changeableClaims, name):
		warnChangeable(d, at, s.SubjectClaim, stable)
	case !slices.Contains(addressClaims, name):
	case err == nil && findPublicProvider(u) != nil:
		d.Diags.Errorf(at, "Email as subject", "The next owner of an address would be the person who had it "+
			"before. Write subject_claim = %q.", stable)
	case !s.requiresVerifiedEmail():
		d.Diags.Errorf(at, "Email as subject", "A person who can choose their address at the provider could be "+
			"anybody. Write subject_claim = %q. If the provider is of your company alone, require a verified address: "+
			"add \"email_verified\" to claims, and write allow = \"caller.claims.email_verified == true\".", stable)
	}
}

// lastOfClaim returns the last part of the name of a nested claim, and of one that begins with the address of its
// owner, such as https://acme.example/email, in lower case.
func lastOfClaim(name string) string {
	return strings.ToLower(name[strings.LastIndexAny(name, "./")+1:])
}

func reportShared(d *decode.Decoder, at Range, claim, stable string) {
	d.Diags.Errorf(at, "Not the claim of one person", "%q is the same for several people, or another one with each "+
		"token. caller.subject is who owns tasks and approvals: write subject_claim = %q.", claim, stable)
}

func warnChangeable(d *decode.Decoder, at Range, claim, stable string) {
	d.Diags.Warnf(at, "Changeable subject", "The value of %s may change, and be given to another person, who would "+
		"have what the earlier one had. Write subject_claim = %q.", claim, stable)
}

// requiresVerifiedEmail reports whether allow holds only for people whose address the provider has verified.
func (s *SignIn) requiresVerifiedEmail() bool {
	if s.Allow == nil || s.Allow.Type() == nil {
		return false
	}
	const verified = "caller.claims.email_verified"
	form := s.Allow.Form(func([]string) string { return "" })
	return slices.ContainsFunc(form.Conjuncts(), func(f *eval.Formula) bool {
		return slices.Contains([]string{verified, verified + " == true", "true == " + verified}, f.Text)
	})
}

// checkRenewal warns of long sessions whose groups are not renewed.
func (s *SignIn) checkRenewal(d *decode.Decoder, b *hclsyntax.Block) {
	if s.Session <= MaxSessionWithoutKey || slices.Contains(s.Scopes, offlineAccess) {
		return
	}
	d.Diags.Warnf(diag.RangeOf(b.Body.Attributes["session"].Expr.Range()), "Session without renewal", "Without %q in "+
		"scopes the provider is not asked again before the session ends: a person who leaves keeps access until then, "+
		"and groups stay as they are. Write scopes = %s.", offlineAccess,
		listLiteral(append(slices.Clone(s.Scopes), offlineAccess)))
}

// checkOwn refuses the server as its own provider.
func (s *SignIn) checkOwn(d *decode.Decoder, b *hclsyntax.Block) {
	if strings.TrimSuffix(s.Provider, "/") == s.URL && s.URL != "" {
		d.Diags.Errorf(d.FieldRange(&s.Provider, b), "Invalid provider", "This is the url of this server. The "+
			"provider is the one at which people of your company sign in.")
	}
}

// checkRule checks what a condition on people who sign in reads.
func (s *SignIn) checkRule(d *decode.Decoder, rule *Condition) {
	if s.GroupNames != nil {
		var groups []string
		for _, name := range s.GroupNames {
			groups = append(groups, name)
		}
		for _, group := range rule.Compared()["caller.groups"] {
			if groups = sortedSet(groups); !slices.Contains(groups, group) {
				d.Diags.Errorf(rangeOfText(d.Src, rule.Range, group), "Unknown group", "group_names gives nobody the "+
					"group %q.%s", group, diag.SuggestOr(group, groups, diag.ListAre(groups)))
			}
		}
	}
	var readsEmail, readsVerified bool
	for _, path := range rule.Traversals() {
		names := eval.SplitPath(path)
		switch {
		case len(names) < 2 || names[0] != "caller":
		case slices.Contains([]string{"scopes", "headers", "client", "capabilities"}, names[1]):
			d.Diags.Errorf(rangeOfText(d.Src, rule.Range, names[1]), "Not known at sign-in", "This rule is about a "+
				"person, and caller.%s is of one request. It can read caller.subject, caller.groups and "+
				"caller.claims. Write the rest in a policy block.", names[1])
		case names[1] != "claims" || len(names) < 3:
		case !s.hasClaim(names[2]):
			d.Diags.Errorf(rangeOfText(d.Src, rule.Range, names[2]), "Claim not copied", "caller.claims has the "+
				"claims that claims names. Write claims = %s.", listLiteral(append(slices.Clone(s.Claims), names[2])))
		default:
			readsEmail = readsEmail || slices.Contains(addressClaims, names[2])
			readsVerified = readsVerified || names[2] == "email_verified"
		}
	}
	if readsEmail && !readsVerified {
		d.Diags.Warnf(rangeOfText(d.Src, rule.Range, "email"), "Unverified address", "An address proves something "+
			"only if the provider has verified it. Add \"email_verified\" to claims, and caller.claims.email_verified "+
			"== true to the rule, or compare groups.")
	}
}

// hasClaim reports whether a person who signs in may have a claim in caller.claims.
func (s *SignIn) hasClaim(name string) bool {
	return name == "client_id" || slices.Contains(s.Claims, name)
}

// checkIssuers refuses tokens of this server as those of another one, also where it would ask itself about them.
func (a *Auth) checkIssuers(d *decode.Decoder) {
	for _, j := range a.Issuers {
		if a.SignIn != nil && j.Issuer == a.SignIn.URL {
			d.Diags.Errorf(j.Range, "Issuer is this server", "With sign_in the server accepts its own tokens. Remove "+
				"this jwt block.")
		}
	}
	for _, i := range a.Introspections {
		if a.SignIn != nil && i.Origin() == a.SignIn.URL {
			d.Diags.Errorf(i.Range, "Introspection at this server", "With sign_in the server accepts its own tokens, "+
				"and tells nobody about others. Remove this block, or write the url of the server that issues the "+
				"tokens.")
		}
	}
}

// checkUpstreamTokens checks what needs tokens of callers, and of the provider of sign_in.
func (l *loader) checkUpstreamTokens() {
	const line = "set key in the state block, as in state { key = secret.state_key }"
	hasTokens, session := false, (*hclsyntax.Attribute)(nil)
	for _, b := range l.blocks["auth"] {
		hasTokens = hasTokens || decode.FindBlock(b.Body, "jwt", "sign_in", "introspection") != nil
		if signIn := decode.FindBlock(b.Body, "sign_in"); signIn != nil {
			session = signIn.Body.Attributes["session"]
		}
	}
	var signIn *SignIn
	if l.config.Auth != nil {
		signIn = l.config.Auth.SignIn
	}
	hasKey := slices.ContainsFunc(l.blocks["state"], func(b sourceBlock) bool {
		return b.Body.Attributes["key"] != nil
	})
	if signIn != nil && session != nil && signIn.Session > MaxSessionWithoutKey && !hasKey && !l.partial {
		l.errorf(session.Expr.Range(), "Session without key", "sign_in keeps tokens of the provider for longer than "+
			"12h: %s.", line)
	}
	for _, c := range l.globals.connections {
		g := c.delegation
		switch {
		case g == nil || l.partial:
		case g.Accepts == nil && !hasTokens:
			l.diags.Errorf(c.onBehalfOf, "No token to exchange", "The connection %s exchanges the caller's token, but "+
				"the server accepts no tokens. Declare auth { jwt { … } } or auth { sign_in { … } }, or remove "+
				"exchange.", c.Name)
		case g.Accepts != nil && !l.checkDelegation(c, g):
		case signIn == nil || g.Accepts != nil && !g.Accepts(signIn.Provider):
		case !hasKey:
			signIn.UpstreamTokens = true
			l.diags.Errorf(c.onBehalfOf, "Exchange without key", "The connection %s exchanges the caller's token. Of "+
				"a person who signs in that is a token of the provider, which is kept only with a key: %s.",
				c.Name, line)
		default:
			signIn.UpstreamTokens = true
		}
	}
}

// listLiteral returns a list of texts as it is written.
func listLiteral(texts []string) string {
	out, _ := json.Marshal(texts)
	return strings.ReplaceAll(string(out), `","`, `", "`)
}
