package auth

import (
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/golang-jwt/jwt/v5"

	"hatchel/hcl"
	"hatchel/internal/printable"
	"hatchel/runtime/edge/mcp"
)

// maxTokenBytes is the largest accepted token.
const maxTokenBytes = 16 << 10

// issuerConfig is how one configuration accepts the tokens of an issuer.
type issuerConfig struct {
	*hcl.JWT
	issuer *issuer
	parser *jwt.Parser
	grant  string
}

func newIssuerConfig(ctx context.Context, j *hcl.JWT, o Options) *issuerConfig {
	issuer, release := o.Issuers.acquire(ctx, j, o)
	o.Defer(release)
	return &issuerConfig{
		JWT: j, issuer: issuer,
		grant: grantOf("jwt", j.Issuer, j.Audience, j.JWKS, j.GroupsClaim, j.RequiredScopes, j.ClockSkew, j.Algorithms),
		parser: jwt.NewParser(
			jwt.WithValidMethods(j.Algorithms), jwt.WithIssuer(j.Issuer), jwt.WithAudience(j.Audience),
			jwt.WithExpirationRequired(), jwt.WithIssuedAt(), jwt.WithLeeway(j.ClockSkew), jwt.WithTimeFunc(o.Now),
			jwt.WithStrictDecoding(),
		),
	}
}

// identifyToken authenticates the caller of a JSON web token (RFC 9068, RFC 8725): of a declared
// issuer, signed with one of its keys by a declared algorithm, for this server, and valid now.
func (c *Authenticator) identifyToken(ctx context.Context, text string) (*mcp.Identity, *Refusal) {
	if len(text) > maxTokenBytes || strings.Count(text, ".") != 2 {
		return nil, unknownCredential
	}
	claims := jwt.MapClaims{}
	token, parts, err := jwt.NewParser(jwt.WithStrictDecoding()).ParseUnverified(text, claims)
	if err != nil {
		return nil, unknownCredential
	}
	name, _ := claims["iss"].(string)
	config := c.issuers[name]
	if config == nil {
		return nil, invalidToken("The issuer of the token is not accepted")
	}
	claims, err = config.verify(ctx, token, text)
	switch {
	case errors.Is(err, errUnavailable):
		return nil, issuerUnavailable
	case err != nil:
		return nil, invalidToken(tokenFault(err))
	}
	return config.identify(claims, text, parts[1])
}

var (
	errUnavailable = errors.New("the keys of the issuer are not available")
	errCritical    = errors.New("the token requires an extension")
)

// verify returns the claims of a valid token. From the unverified token it uses only the algorithm
// and the key ID.
func (c *issuerConfig) verify(ctx context.Context, unverified *jwt.Token, text string) (jwt.MapClaims, error) {
	algorithm := unverified.Method.Alg()
	if !slices.Contains(c.Algorithms, algorithm) {
		return nil, jwt.ErrTokenSignatureInvalid
	}
	if _, critical := unverified.Header["crit"]; critical {
		return nil, errCritical
	}
	id, _ := unverified.Header["kid"].(string)
	keys, err := c.issuer.find(ctx, id, algorithm)
	if err != nil {
		return nil, err
	}
	claims := jwt.MapClaims{}
	_, err = c.parser.ParseWithClaims(text, claims, func(*jwt.Token) (any, error) { return keys, nil })
	return claims, err
}

// tokenFault explains why a token is not valid, limited to facts that its holder can read in the
// token.
func tokenFault(err error) string {
	switch {
	case errors.Is(err, jwt.ErrTokenSignatureInvalid), errors.Is(err, jwt.ErrTokenUnverifiable),
		errors.Is(err, errUnknownKey):
		return "The signature of the token is invalid"
	case errors.Is(err, jwt.ErrTokenInvalidAudience):
		return "The token is not for this server"
	case errors.Is(err, jwt.ErrTokenExpired):
		return "The token has expired"
	case errors.Is(err, jwt.ErrTokenNotValidYet), errors.Is(err, jwt.ErrTokenUsedBeforeIssued):
		return "The token is not valid yet"
	}
	return "The token is not accepted by this server"
}

// identify returns the identity that a verified token is about.
func (c *issuerConfig) identify(claims jwt.MapClaims, text, payload string) (*mcp.Identity, *Refusal) {
	subject, _ := claims["sub"].(string)
	encoded, err := base64.RawURLEncoding.DecodeString(payload)
	if !isValidSubject(subject) || err != nil {
		return nil, invalidToken("The token has no valid subject")
	}
	expires, err := claims.GetExpirationTime()
	if err != nil || expires == nil {
		return nil, invalidToken("The token has no expiration time")
	}
	i := &mcp.Identity{
		Subject: subject, Key: c.Issuer, Claims: encoded, Grant: c.grant, Expires: expires.Add(c.ClockSkew),
		Token:  func() (string, time.Time) { return text, expires.Time },
		Groups: textsOf(claimAt(claims, c.GroupsClaim)), Scopes: scopesOf(claims),
		RequiredScopes: c.RequiredScopes,
	}
	if len(i.MissingScopes(c.RequiredScopes)) > 0 {
		return nil, &Refusal{
			Status: http.StatusForbidden, Reason: "The token lacks a scope that this server requires",
			code: "insufficient_scope", scopes: c.RequiredScopes,
		}
	}
	return i, nil
}

// isValidSubject reports whether a subject can be used in logs and databases.
func isValidSubject(subject string) bool {
	return subject != "" && utf8.ValidString(subject) && !strings.ContainsFunc(subject, isDeceptive)
}

// isDeceptive reports whether a character breaks lines, changes the writing direction or is
// invisible.
func isDeceptive(c rune) bool { return unicode.IsControl(c) || printable.IsHidden(c) }

// claimAt returns the claim with a name, or else the one at a dotted path.
func claimAt(claims map[string]any, path string) any {
	if v, ok := claims[path]; ok {
		return v
	}
	first, rest, nested := strings.Cut(path, ".")
	inner, ok := claims[first].(map[string]any)
	if !nested || !ok {
		return nil
	}
	return claimAt(inner, rest)
}

// textsOf returns the strings of a claim that is a string or a list.
func textsOf(claim any) (all []string) {
	switch v := claim.(type) {
	case string:
		return []string{v}
	case []any:
		for _, e := range v {
			if text, ok := e.(string); ok {
				all = append(all, text)
			}
		}
	}
	return all
}

// scopesOf returns the scopes of a token: strings separated by spaces (RFC 8693, section 4.2), or a
// list, in either of the claims that issuers use.
func scopesOf(claims jwt.MapClaims) (all []string) {
	for _, name := range []string{"scope", "scp"} {
		for _, text := range textsOf(claims[name]) {
			all = append(all, strings.Fields(text)...)
		}
	}
	return all
}
