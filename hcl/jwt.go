package hcl

import (
	"slices"
	"strings"
	"time"

	"hatchel/hcl/decode"
	"hatchel/hcl/diag"
	"hatchel/internal/hostname"
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
	Range          Range
}

// signatureAlgorithms are the allowed algorithms. All of them are asymmetric, so that a verifier
// cannot sign tokens.
var signatureAlgorithms = []string{"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512",
	"EdDSA"}

// defaultAlgorithms are the algorithms of tokens where a block does not name any.
var defaultAlgorithms = []string{"RS256", "ES256", "EdDSA"}

const maxClockSkew = 10 * time.Minute

func (j *JWT) spec() decode.Spec {
	j.GroupsClaim, j.ClockSkew = "groups", time.Minute
	return decode.Spec{
		decode.Attr(&j.Issuer, "issuer",
			"The issuer's URL, exactly as in the claim iss of its tokens.").Require().Check(j.checkIssuer),
		decode.Attr(&j.Audience, "audience", "The value that the claim aud of a token must contain, "+
			"preferably the URL of this server.").Require().Check(checkTokenAudience(&j.Audience)),
		decode.Attr(&j.JWKS, "jwks", "The URL of the issuer's keys. By default it is discovered from the issuer's "+
			"OAuth metadata, then its OpenID configuration.").Check(j.checkJWKS),
		decode.Attr(&j.GroupsClaim, "groups_claim", "The claim for caller.groups, a string or a list of strings. A "+
			"dot selects a nested claim: realm_access.roles.").DefaultDoc(`"groups"`),
		scopesField(&j.RequiredScopes, "required_scopes", "The scopes that every token must have."),
		decode.Attr(&j.ClockSkew, "clock_skew", "The allowed difference between the clocks of the issuer and this "+
			"machine, at most 10m.").DefaultDoc(`"60s"`).Check(checkClockSkew(&j.ClockSkew)),
		decode.StringSet(&j.Algorithms, "algorithms", "list of algorithms",
			"The allowed signature algorithms, from "+diag.JoinOr(signatureAlgorithms)+".",
			checkAlgorithm).DefaultDoc(`["RS256", "ES256", "EdDSA"]`).Check(checkAlgorithms(&j.Algorithms)),
	}
}

func (j *JWT) checkIssuer(d *decode.Decoder, r Range) {
	if why := urlProblem(j.Issuer); why != "" {
		d.Diags.Errorf(r, "Invalid issuer", "The issuer is a URL such as \"https://id.example\": %s.", why)
	}
}

// checkTokenAudience returns the check of an audience.
func checkTokenAudience(audience *string) func(*decode.Decoder, Range) {
	return func(d *decode.Decoder, r Range) {
		if strings.TrimSpace(*audience) == "" {
			d.Diags.Errorf(r, "Missing audience",
				"Tokens for any audience would be accepted. Write the name of this server as registered at the issuer.")
		}
	}
}

func (j *JWT) checkJWKS(d *decode.Decoder, r Range) {
	if why := urlProblem(j.JWKS); why != "" && j.JWKS != "" {
		d.Diags.Errorf(r, "Invalid key address", "jwks is a URL such as \"https://id.example/keys\": %s.", why)
	}
}

// checkClockSkew returns the check of a clock_skew.
func checkClockSkew(skew *time.Duration) func(*decode.Decoder, Range) {
	return func(d *decode.Decoder, r Range) {
		if *skew > maxClockSkew {
			d.Diags.Errorf(r, "Clock skew too large", "Expired tokens would be accepted for that long. The maximum is "+
				"10m; clocks usually differ by seconds.")
		}
	}
}

// checkAlgorithms returns the check of a list of algorithms.
func checkAlgorithms(algorithms *[]string) func(*decode.Decoder, Range) {
	return func(d *decode.Decoder, r Range) {
		if len(*algorithms) == 0 {
			d.Diags.Errorf(r, "No algorithm", "Without an algorithm no token can be verified. Write some of %s.",
				diag.JoinOr(signatureAlgorithms))
		}
	}
}

func checkAlgorithm(d *decode.Decoder, r Range, name string) string {
	switch {
	case strings.EqualFold(name, "none"):
		d.Diags.Errorf(r, "Unsafe algorithm", "With \"none\" anyone could forge a token.")
	case strings.HasPrefix(name, "HS"):
		d.Diags.Errorf(r, "Unsafe algorithm", "%s uses the same secret for signing and verifying, so every verifier "+
			"could forge tokens. Write one of %s.", name, diag.JoinOr(signatureAlgorithms))
	case !slices.Contains(signatureAlgorithms, name):
		d.Diags.Errorf(r, "Unknown algorithm", "There is no algorithm %q.%s", name,
			diag.SuggestOr(name, signatureAlgorithms, diag.ListAre(signatureAlgorithms)))
	}
	return name
}

// urlProblem explains why a URL is not trustworthy, or returns "". Loopback URLs may use http.
func urlProblem(text string) string {
	u, problem := hostname.ParseURL(text, 0)
	if problem == "" && hostname.IsReadable(u) {
		problem = "with http the keys could be replaced in transit, so it must be https"
	}
	return problem
}
