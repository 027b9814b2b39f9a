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

// JWT is one jwt block: an issuer whose access tokens are taken.
type JWT struct {
	Issuer         string
	Audience       string
	JWKS           string // where its keys are; empty to ask the issuer
	GroupsClaim    string
	RequiredScopes []string
	ClockSkew      time.Duration
	Algorithms     []string
	Range          diag.Range
}

// signatureAlgorithms are the algorithms by which a token may be signed. Each takes a private key, so that who can check a token cannot make one.
var signatureAlgorithms = []string{"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"}

const (
	defaultClockSkew = time.Minute
	maxClockSkew     = 10 * time.Minute
)

// jwtDecoder is a jwt block being decoded.
type jwtDecoder struct{ jwt JWT }

func (j *jwtDecoder) spec() decode.Spec {
	return decode.Spec{
		decode.Attr(&j.jwt.Issuer, "issuer", "The URL by which the issuer calls itself: the claim iss of its tokens is this text.").Require(),
		decode.Attr(&j.jwt.Audience, "audience", "The name of this server, as the claim aud of a token must hold it: best the URL that clients use.").Require(),
		decode.Attr(&j.jwt.JWKS, "jwks", "Where the keys of the issuer are. Without it the issuer is asked: its OAuth metadata, then its OpenID configuration."),
		decode.Attr(&j.jwt.GroupsClaim, "groups_claim", "The claim that is read as caller.groups, a text or a list of texts. A dot leads into a claim: realm_access.roles.").DefaultDoc(`"groups"`),
		scopesField(&j.jwt.RequiredScopes, "required_scopes", "What every token must have been granted, whatever it is used for."),
		decode.Attr(&j.jwt.ClockSkew, "clock_skew", "By how much the clocks of the issuer and of this machine may differ, at most 10m.").DefaultDoc(`"60s"`),
		decode.Custom("algorithms", "list of algorithms", "How tokens may be signed: of "+diag.JoinOr(signatureAlgorithms)+".", j.decodeAlgorithms).DefaultDoc(`["RS256", "ES256", "EdDSA"]`),
	}
}

func (j *jwtDecoder) decodeAlgorithms(d *decode.Decoder, e hclsyntax.Expression) {
	before := len(d.Diags)
	list := decode.Items[string](d, e, decode.Field{Name: "algorithms"}, "strings")
	for i, name := range list {
		switch {
		case strings.EqualFold(name, "none"):
			d.Errorf(decode.ElementRange(e, i), "Unsafe algorithm", "With \"none\" anybody could write a token.")
		case strings.HasPrefix(name, "HS"):
			d.Errorf(decode.ElementRange(e, i), "Unsafe algorithm", "%s takes one secret for signing and for checking, so who can check a token can write one. Write one of %s.", name, diag.JoinOr(signatureAlgorithms))
		case !slices.Contains(signatureAlgorithms, name):
			d.Errorf(decode.ElementRange(e, i), "Unknown algorithm", "There is no algorithm %q.%s", name, diag.SuggestOr(name, signatureAlgorithms, diag.ListAre(signatureAlgorithms)))
		}
	}
	if len(list) == 0 && len(d.Diags) == before && !d.MissingValue {
		d.Errorf(e.Range(), "No algorithm", "Without an algorithm no token can be checked. Write some of %s.", diag.JoinOr(signatureAlgorithms))
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
		d.Errorf(d.FieldRange(&jwt.Issuer, b), "Invalid issuer", "The issuer is a URL such as \"https://id.example\": %s.", why)
	}
	if why := urlProblem(jwt.JWKS); why != "" && jwt.JWKS != "" {
		d.Errorf(d.FieldRange(&jwt.JWKS, b), "Invalid key address", "jwks is a URL such as \"https://id.example/keys\": %s.", why)
	}
	if jwt.Audience == "" {
		d.Errorf(d.FieldRange(&jwt.Audience, b), "Missing audience", "A token for anybody would be taken. Write the name of this server, as the issuer knows it.")
	}
	if jwt.ClockSkew > maxClockSkew {
		d.Errorf(d.FieldRange(&jwt.ClockSkew, b), "Clock skew too large", "An expired token would be good for that long. Clocks differ by seconds; 10m is the most that may be written.")
	}
	for _, other := range a.auth.Issuers {
		if other.Issuer == jwt.Issuer {
			d.Errorf(b.DefRange(), "Duplicate issuer", "The issuer %q is already declared at %s:%d.", other.Issuer, other.Range.File, other.Range.Start.Line)
			return
		}
	}
	a.auth.Issuers = append(a.auth.Issuers, jwt)
}

// urlProblem says why what a URL leads to could be anybody's, or nothing. Within one machine there is nobody between.
func urlProblem(text string) string {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		return "it has https and a host"
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return "it has no user name, query or fragment"
	case u.Scheme == "http" && !isLoopback(u.Hostname()):
		return "with http anybody on the way could replace the keys, so it is https"
	}
	return ""
}

func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}
