package issuer

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// MaxTokenBytes is the size of the largest accepted token.
const MaxTokenBytes = 16 << 10

// Errors of tokens that are not read.
var (
	ErrNoToken  = errors.New("the text is no token")
	ErrCritical = errors.New("the token requires an extension")
)

// Verifier verifies tokens of an issuer (RFC 8725). It may be used concurrently.
type Verifier struct {
	issuer     *Issuer
	algorithms []string
	parser     *jwt.Parser
}

// NewVerifier returns a verifier of tokens that are signed by one of the algorithms and are for an audience.
func (i *Issuer) NewVerifier(audience string, algorithms []string, skew time.Duration) *Verifier {
	return &Verifier{issuer: i, algorithms: algorithms, parser: jwt.NewParser(
		jwt.WithValidMethods(algorithms), jwt.WithIssuer(i.URL), jwt.WithAudience(audience),
		jwt.WithExpirationRequired(), jwt.WithIssuedAt(), jwt.WithLeeway(skew), jwt.WithTimeFunc(i.now),
		jwt.WithStrictDecoding(),
	)}
}

// Parse reads a token, and verifies nothing. It returns the encoded header, claims and signature, too. Its error is
// ErrNoToken.
func Parse(text string) (token *jwt.Token, parts []string, err error) {
	if len(text) > MaxTokenBytes || strings.Count(text, ".") != 2 {
		return nil, nil, ErrNoToken
	}
	token, parts, err = jwt.NewParser(jwt.WithStrictDecoding()).ParseUnverified(text, jwt.MapClaims{})
	if err != nil {
		return nil, nil, ErrNoToken
	}
	return token, parts, nil
}

// Verify returns the claims of a valid token, of which unverified is what Parse has returned. From that it uses only
// the algorithm and the key ID. Its error is ErrUnavailable, ErrUnknownKey, ErrCritical, one of package jwt, or that
// of ctx.
func (v *Verifier) Verify(ctx context.Context, unverified *jwt.Token, text string) (jwt.MapClaims, error) {
	algorithm := unverified.Method.Alg()
	if !slices.Contains(v.algorithms, algorithm) {
		return nil, jwt.ErrTokenSignatureInvalid
	}
	if _, critical := unverified.Header["crit"]; critical {
		return nil, ErrCritical
	}
	id, _ := unverified.Header["kid"].(string)
	keys, err := v.issuer.FindKeys(ctx, id, algorithm)
	if err != nil {
		return nil, err
	}
	claims := jwt.MapClaims{}
	_, err = v.parser.ParseWithClaims(text, claims, func(*jwt.Token) (any, error) { return keys, nil })
	return claims, err
}
