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
	"hatchel/runtime/mcp"
)

// mostToken is how many bytes a token may have.
const mostToken = 16 << 10

// source is an issuer as one configuration takes its tokens.
type source struct {
	*hcl.JWT
	required []string // scopes
	issuer   *issuer
	parser   *jwt.Parser
	grant    string
}

func newSource(j *hcl.JWT, o Options) *source {
	issuer, release := o.Issuers.acquire(j, o)
	o.Defer(release)
	return &source{
		JWT: j, required: j.RequiredScopes, issuer: issuer,
		grant: grantOf("jwt", j.Issuer, j.Audience, j.JWKS, j.GroupsClaim, j.RequiredScopes, j.ClockSkew, j.Algorithms),
		parser: jwt.NewParser(
			jwt.WithValidMethods(j.Algorithms), jwt.WithIssuer(j.Issuer), jwt.WithAudience(j.Audience), jwt.WithExpirationRequired(),
			jwt.WithIssuedAt(), jwt.WithLeeway(j.ClockSkew), jwt.WithTimeFunc(o.Now), jwt.WithStrictDecoding(),
		),
	}
}

// token finds out whose token it is (RFC 9068, RFC 8725): of an issuer that is known, signed by a key of it with an algorithm that is declared, for this server,
// and good now.
func (c *Callers) token(ctx context.Context, text string) (*mcp.Identity, *Refusal) {
	refused := invalidToken("The key or token is not one that this server knows")
	if len(text) > mostToken || strings.Count(text, ".") != 2 {
		return nil, refused
	}
	said := jwt.MapClaims{}
	token, _, err := jwt.NewParser(jwt.WithStrictDecoding()).ParseUnverified(text, said)
	if err != nil {
		return nil, refused
	}
	name, _ := said["iss"].(string)
	s := c.sources[name]
	if s == nil {
		return nil, invalidToken("The issuer of the token is not one that this server takes tokens of")
	}
	claims, err := s.verified(ctx, token, text)
	switch {
	case errors.Is(err, errUnavailable):
		return nil, unavailable()
	case err != nil:
		return nil, invalidToken(reasonOf(err))
	}
	return s.identity(claims, text)
}

var (
	errUnavailable = errors.New("the keys of the issuer cannot be had")
	errCritical    = errors.New("the token asks for an extension")
)

// verified returns the claims of a token that is good. Of the unverified token nothing is believed but which key it says to be signed by.
func (s *source) verified(ctx context.Context, unverified *jwt.Token, text string) (jwt.MapClaims, error) {
	algorithm := unverified.Method.Alg()
	if !slices.Contains(s.Algorithms, algorithm) {
		return nil, jwt.ErrTokenSignatureInvalid
	}
	if _, critical := unverified.Header["crit"]; critical {
		return nil, errCritical
	}
	id, _ := unverified.Header["kid"].(string)
	keys, err := s.issuer.keysFor(ctx, id, algorithm)
	if err != nil {
		return nil, err
	}
	claims := jwt.MapClaims{}
	_, err = s.parser.ParseWithClaims(text, claims, func(*jwt.Token) (any, error) { return keys, nil })
	return claims, err
}

// reasonOf says why a token is not good, as far as its holder can read that in the token.
func reasonOf(err error) string {
	switch {
	case errors.Is(err, jwt.ErrTokenSignatureInvalid), errors.Is(err, jwt.ErrTokenUnverifiable), errors.Is(err, errUnknownKey):
		return "The signature of the token is not good"
	case errors.Is(err, jwt.ErrTokenInvalidAudience):
		return "The token is not for this server"
	case errors.Is(err, jwt.ErrTokenExpired):
		return "The token has expired"
	case errors.Is(err, jwt.ErrTokenNotValidYet), errors.Is(err, jwt.ErrTokenUsedBeforeIssued):
		return "The token is not good yet"
	}
	return "The token is not one that this server takes"
}

// identity is who a good token speaks of.
func (s *source) identity(claims jwt.MapClaims, text string) (*mcp.Identity, *Refusal) {
	subject, _ := claims["sub"].(string)
	_, payload, _ := strings.Cut(text, ".")
	payload, _, _ = strings.Cut(payload, ".")
	encoded, err := base64.RawURLEncoding.DecodeString(payload)
	if !nameable(subject) || err != nil {
		return nil, invalidToken("The token does not say whom it is about")
	}
	expires, err := claims.GetExpirationTime()
	if err != nil || expires == nil {
		return nil, invalidToken("The token does not say until when it is good")
	}
	i := &mcp.Identity{
		Subject: subject, Key: s.Issuer, Claims: encoded, Grant: s.grant, Expires: expires.Add(s.ClockSkew),
		Token:  func() (string, time.Time) { return text, expires.Time },
		Groups: textsOf(claimAt(claims, s.GroupsClaim)), Scopes: scopesOf(claims),
	}
	if len(i.Lacks(s.required)) > 0 {
		return nil, &Refusal{Status: http.StatusForbidden, Why: "The token was not granted what this server needs", code: "insufficient_scope", scopes: s.required}
	}
	return i, nil
}

// nameable reports whether somebody can be called that, in a log as in a database.
func nameable(subject string) bool {
	return subject != "" && utf8.ValidString(subject) && !strings.ContainsFunc(subject, misleads)
}

// misleads reports that a character does something else to what is around it than standing there: it breaks lines, turns the writing round, or is not seen.
func misleads(c rune) bool {
	return unicode.In(c, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
}

// claimAt is the claim of that name, or where there is none, what a dotted path leads to.
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

// textsOf are the texts of a claim that is one text or a list of them.
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

// scopesOf are the scopes of a token: a text with spaces (RFC 8693, section 4.2) or a list, under the names that issuers give them.
func scopesOf(claims jwt.MapClaims) (all []string) {
	for _, name := range []string{"scope", "scp"} {
		for _, text := range textsOf(claims[name]) {
			all = append(all, strings.Fields(text)...)
		}
	}
	return all
}
