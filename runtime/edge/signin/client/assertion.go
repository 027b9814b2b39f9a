package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"hatchel/internal/digest"
	"hatchel/runtime/edge/auth/issuer"
)

// Bounds of assertions of clients (RFC 7523, section 3).
const (
	maxAssertionLife = 10 * time.Minute
	maxAssertionID   = 512 // bytes
)

// keyFinder finds the keys that may have signed an assertion.
type keyFinder interface {
	FindKeys(ctx context.Context, id, algorithm string) (jwt.VerificationKeySet, error)
}

// fixedKeys returns the keys of a set that a document or a declaration has. One without keys verifies nothing.
func fixedKeys[T string | json.RawMessage](set T) issuer.Keys {
	keys, _ := issuer.ParseKeys([]byte(set))
	return keys
}

// maxKeys is the largest key set that a grant keeps, in bytes. It travels to the provider and back.
const maxKeys = 4 << 10

// keepKeys returns what a grant keeps of the key set of a document.
func keepKeys(set json.RawMessage) (json.RawMessage, error) {
	keys, err := issuer.ParseKeys(set)
	if err != nil {
		return nil, err
	}
	kept := keys.Encode()
	if len(kept) > maxKeys {
		return nil, fmt.Errorf("its keys have more than %d bytes", maxKeys)
	}
	return kept, nil
}

// verifyAssertion verifies the assertion of a client: that a key of it has signed it, for this server, and that it was
// not used before.
func (c *Clients) verifyAssertion(ctx context.Context, client *Client, given *credential, use Use) *Error {
	claims, err := c.parseAssertion(ctx, client, given.assertion)
	switch {
	case ctx.Err() != nil, errors.Is(err, issuer.ErrUnavailable):
		return &Error{Status: http.StatusServiceUnavailable, Code: "temporarily_unavailable",
			Text: "the keys of the client are not available; try again shortly"}
	case err != nil:
		return given.fail("client_assertion is not accepted: " + err.Error())
	}
	expires, _ := claims.GetExpirationTime()
	id, _ := claims["jti"].(string)
	until := expires.Add(c.decl.ClockSkew)
	switch first, err := use(ctx, digest.Of("client_assertion", client.ID, id).String(), until); {
	case err != nil:
		return &Error{Status: http.StatusServiceUnavailable, Code: "temporarily_unavailable",
			Text: "the server cannot verify client_assertion at the moment; try again shortly"}
	case !first:
		return given.fail("client_assertion was used before")
	}
	return nil
}

// parseAssertion returns the claims of a valid assertion. Its errors are for the client.
func (c *Clients) parseAssertion(ctx context.Context, client *Client, text string) (jwt.MapClaims, error) {
	unverified, _, err := issuer.Parse(text)
	if err != nil {
		return nil, err
	}
	algorithm := unverified.Method.Alg()
	if !slices.Contains(AuthAlgorithms, algorithm) {
		return nil, errors.New("its algorithm is not one of token_endpoint_auth_signing_alg_values_supported")
	}
	if _, critical := unverified.Header["crit"]; critical {
		return nil, issuer.ErrCritical
	}
	id, _ := unverified.Header["kid"].(string)
	keys, err := client.keys.FindKeys(ctx, id, algorithm)
	switch {
	case errors.Is(err, issuer.ErrUnknownKey) && client.Kind == Document:
		return nil, errors.New("its key is not one that the document of the client had when the person signed in")
	case err != nil:
		return nil, err
	}
	claims := jwt.MapClaims{}
	parser := jwt.NewParser(
		jwt.WithValidMethods([]string{algorithm}), jwt.WithIssuer(client.ID), jwt.WithSubject(client.ID),
		jwt.WithExpirationRequired(), jwt.WithIssuedAt(), jwt.WithLeeway(c.decl.ClockSkew), jwt.WithTimeFunc(c.o.Now),
		jwt.WithStrictDecoding(),
	)
	if _, err = parser.ParseWithClaims(text, claims, func(*jwt.Token) (any, error) { return keys, nil }); err != nil {
		return nil, assertionFault(err)
	}
	audience, err := claims.GetAudience()
	expires, _ := claims.GetExpirationTime()
	tokenID, _ := claims["jti"].(string)
	switch {
	case err != nil || len(audience) == 0 || slices.ContainsFunc(audience, func(a string) bool {
		return !slices.Contains(c.audience, a)
	}):
		return nil, errors.New("its aud must be " + c.audience[0] + " alone")
	case expires.Sub(c.o.Now()) > maxAssertionLife+c.decl.ClockSkew:
		return nil, errors.New("its exp is more than 10 minutes away")
	case tokenID == "" || len(tokenID) > maxAssertionID:
		return nil, errors.New("it needs a jti of at most 512 bytes")
	}
	return claims, nil
}

// assertionFault explains why an assertion is not valid, without the texts of the library.
func assertionFault(err error) error {
	switch {
	case errors.Is(err, jwt.ErrTokenExpired):
		return errors.New("it has expired")
	case errors.Is(err, jwt.ErrTokenNotValidYet), errors.Is(err, jwt.ErrTokenUsedBeforeIssued):
		return errors.New("it is not valid yet")
	case errors.Is(err, jwt.ErrTokenInvalidIssuer), errors.Is(err, jwt.ErrTokenInvalidSubject):
		return errors.New("its iss and sub must be the client_id")
	case errors.Is(err, jwt.ErrTokenRequiredClaimMissing):
		return errors.New("a required claim is missing: iss, sub, aud, exp and jti are needed")
	}
	return errors.New("its signature is not valid")
}
