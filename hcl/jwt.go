package hcl

import (
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/decode"
	"hatchel/hcl/diag"
)

// JWT is one jwt block: an issuer of access tokens.
type JWT struct {
	Issuer         string
	Audience       string
	JWKS           string // the URL of its keys; empty for discovery
	GroupsClaim    string
	RequiredScopes []string
	ClockSkew      time.Duration
	Algorithms     []string
	Range          diag.Range
}

// signatureAlgorithms are the allowed algorithms. All of them are asymmetric, so that a verifier
// cannot sign tokens.
var signatureAlgorithms = []string{"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512",
	"EdDSA"}

const (
	defaultClockSkew = time.Minute
	maxClockSkew     = 10 * time.Minute
)

// jwtDecoder decodes a jwt block.
type jwtDecoder struct{ jwt JWT }

func (j *jwtDecoder) spec() decode.Spec {
	return decode.Spec{
		decode.Attr(&j.jwt.Issuer, "issuer", "The issuer's URL, exactly as in the claim iss of its tokens.").Require(),
		decode.Attr(&j.jwt.Audience, "audience",
			"The value that the claim aud of a token must contain, preferably the URL of this server.").Require(),
		decode.Attr(&j.jwt.JWKS, "jwks",
			"The URL of the issuer's keys. By default it is discovered from the issuer's OAuth metadata, "+
				"then its OpenID configuration."),
		decode.Attr(&j.jwt.GroupsClaim, "groups_claim",
			"The claim for caller.groups, a string or a list of strings. A dot selects a nested claim: "+
				"realm_access.roles.").DefaultDoc(`"groups"`),
		scopesField(&j.jwt.RequiredScopes, "required_scopes", "The scopes that every token must have."),
		decode.Attr(&j.jwt.ClockSkew, "clock_skew",
			"The allowed difference between the clocks of the issuer and this machine, at most "+
				"10m.").DefaultDoc(`"60s"`),
		decode.Custom("algorithms", "list of algorithms",
			"The allowed signature algorithms, from "+diag.JoinOr(signatureAlgorithms)+".",
			j.decodeAlgorithms).DefaultDoc(`["RS256", "ES256", "EdDSA"]`),
	}
}

func (j *jwtDecoder) decodeAlgorithms(d *decode.Decoder, e hclsyntax.Expression) {
	before := len(d.Diags)
	list := decode.Items[string](d, e, decode.Field{Name: "algorithms"}, "strings")
	for i, name := range list {
		switch {
		case strings.EqualFold(name, "none"):
			d.Errorf(decode.ElementRange(e, i), "Unsafe algorithm", "With \"none\" anyone could forge a token.")
		case strings.HasPrefix(name, "HS"):
			d.Errorf(decode.ElementRange(e, i), "Unsafe algorithm",
				"%s uses the same secret for signing and verifying, so every verifier could forge tokens. "+
					"Write one of %s.", name, diag.JoinOr(signatureAlgorithms))
		case !slices.Contains(signatureAlgorithms, name):
			d.Errorf(decode.ElementRange(e, i), "Unknown algorithm", "There is no algorithm %q.%s", name,
				diag.SuggestOr(name, signatureAlgorithms, diag.ListAre(signatureAlgorithms)))
		}
	}
	if len(list) == 0 && len(d.Diags) == before && !d.MissingValue {
		d.Errorf(e.Range(), "No algorithm", "Without an algorithm no token can be verified. Write some of %s.",
			diag.JoinOr(signatureAlgorithms))
	}
	j.jwt.Algorithms = list
}

// decodeIssuer decodes a jwt block.
func (a *authDecoder) decodeIssuer(d *decode.Decoder, b *hclsyntax.Block) {
	j := &jwtDecoder{JWT{GroupsClaim: "groups", ClockSkew: defaultClockSkew, Range: diag.RangeOf(b.DefRange())}}
	before := len(d.Diags)
	d.Body(b.Body, j.spec(), b.DefRange())
	if d.Diags[before:].HasErrors() || d.MissingValue {
		return
	}
	jwt := &j.jwt
	if jwt.Algorithms == nil {
		jwt.Algorithms = []string{"RS256", "ES256", "EdDSA"}
	}
	if why := urlProblem(jwt.Issuer); why != "" {
		d.Errorf(d.FieldRange(&jwt.Issuer, b), "Invalid issuer",
			"The issuer is a URL such as \"https://id.example\": %s.", why)
	}
	if why := urlProblem(jwt.JWKS); why != "" && jwt.JWKS != "" {
		d.Errorf(d.FieldRange(&jwt.JWKS, b), "Invalid key address",
			"jwks is a URL such as \"https://id.example/keys\": %s.", why)
	}
	if jwt.Audience == "" {
		d.Errorf(d.FieldRange(&jwt.Audience, b), "Missing audience",
			"Tokens for any audience would be accepted. Write the name of this server as registered at the issuer.")
	}
	if jwt.ClockSkew > maxClockSkew {
		d.Errorf(d.FieldRange(&jwt.ClockSkew, b), "Clock skew too large",
			"Expired tokens would be accepted for that long. The maximum is 10m; clocks usually differ by seconds.")
	}
	for _, other := range a.auth.Issuers {
		if other.Issuer == jwt.Issuer {
			d.Errorf(b.DefRange(), "Duplicate issuer", "The issuer %q is already declared at %s:%d.", other.Issuer,
				other.Range.File, other.Range.Start.Line)
			return
		}
	}
	a.auth.Issuers = append(a.auth.Issuers, jwt)
}

// urlProblem explains why a URL is not trustworthy, or returns "". Loopback URLs may use http.
func urlProblem(text string) string {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		return "it must have https and a host"
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return "it must not have a user name, query or fragment"
	case u.Scheme == "http" && !isLoopback(u.Hostname()):
		return "with http the keys could be replaced in transit, so it must be https"
	}
	return ""
}

func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}
