package auth

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"hatchel/hcl"
	"hatchel/runtime/edge/auth/issuer"
	"hatchel/runtime/edge/mcp"
)

// issuerConfig is how one configuration accepts the tokens of an issuer.
type issuerConfig struct {
	*hcl.JWT
	issuer   *issuer.Issuer
	verifier *issuer.Verifier
	grant    string
}

func newIssuerConfig(ctx context.Context, j *hcl.JWT, o Options) *issuerConfig {
	declared := issuer.Declaration{URL: j.Issuer, Keys: j.JWKS}
	acquired, release := o.Issuers.Acquire(ctx, declared, issuer.Options{Log: o.Log, Now: o.Now})
	o.Defer(release)
	return &issuerConfig{
		JWT: j, issuer: acquired, verifier: acquired.NewVerifier(j.Audience, j.Algorithms, j.ClockSkew),
		grant: grantOf("jwt", j.Issuer, j.Audience, j.JWKS, j.GroupsClaim, j.RequiredScopes, j.ClockSkew, j.Algorithms),
	}
}

// identifyToken authenticates the caller of a JSON web token (RFC 9068, RFC 8725): of a declared
// issuer, signed with one of its keys by a declared algorithm, for this server, and valid now.
func (c *Authenticator) identifyToken(
	r *http.Request, text string, digest [sha256.Size]byte,
) (*mcp.Identity, *Refusal) {
	token, parts, err := issuer.Parse(text)
	if err != nil {
		return nil, unknownCredential
	}
	claims, _ := token.Claims.(jwt.MapClaims)
	name, _ := claims["iss"].(string)
	if c.own != nil && name == c.own.declared.URL {
		return c.own.identifyOwn(r, token, parts, digest)
	}
	config := c.issuers[name]
	if config == nil {
		return nil, invalidToken("The issuer of the token is not accepted")
	}
	if isOtherType(token.Header["typ"]) {
		return nil, invalidToken("The token is of another type than access tokens")
	}
	claims, err = config.verifier.Verify(r.Context(), token, text)
	switch {
	case errors.Is(err, issuer.ErrUnavailable):
		return nil, issuerUnavailable
	case err != nil:
		return nil, invalidToken(tokenFault(err))
	}
	return config.identify(claims, text, parts[1])
}

// isOtherType reports whether the header of a token says that it is for another purpose, such as an identity assertion
// or a logout (RFC 8725, section 3.11). Many issuers give access tokens the type JWT, or none.
func isOtherType(typ any) bool {
	text, _ := typ.(string)
	kind := strings.TrimPrefix(strings.ToLower(text), "application/")
	return strings.HasSuffix(kind, "+jwt") && kind != ownType
}

// tokenFault explains why a token is not valid, limited to facts that its holder can read in the
// token.
func tokenFault(err error) string {
	switch {
	case errors.Is(err, jwt.ErrTokenSignatureInvalid), errors.Is(err, jwt.ErrTokenUnverifiable),
		errors.Is(err, issuer.ErrUnknownKey):
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
	if !issuer.IsSubject(subject) || err != nil {
		return nil, invalidToken("The token has no valid subject")
	}
	expires, err := claims.GetExpirationTime()
	if err != nil || expires == nil {
		return nil, invalidToken("The token has no expiration time")
	}
	i := &mcp.Identity{
		Subject: subject, Key: c.Issuer, Claims: encoded, Grant: c.grant, Expires: expires.Add(c.ClockSkew),
		Token:  func(context.Context) (string, time.Time, error) { return text, expires.Time, nil },
		Groups: issuer.Texts(issuer.Claim(claims, c.GroupsClaim)), Scopes: issuer.Scopes(claims),
		BaseScopes: c.RequiredScopes,
	}
	if len(i.MissingScopes(c.RequiredScopes)) > 0 {
		return nil, missingScope(c.RequiredScopes)
	}
	return i, nil
}
