package google

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/golang-jwt/jwt/v5"

	"hatchel/adapters/credential"
)

// idToken implements provider. The metadata server answers the token itself.
func (metadata) idToken(ctx context.Context, c *credential.Cloud, audience string) (token, error) {
	query := url.Values{"audience": {audience}, "format": {"full"}}
	return askMetadata(ctx, c, "identity?"+query.Encode(), func(a credential.Answer) (t token, err error) {
		if a.Status != http.StatusOK {
			return t, a.Failure()
		}
		return parseIDToken(a, strings.TrimSpace(string(a.Body)), audience)
	})
}

// idToken implements provider by the JWT bearer grant (RFC 7523), with the audience in the assertion.
func (s serviceAccount) idToken(ctx context.Context, c *credential.Cloud, audience string) (t token, err error) {
	form, err := s.grant(jwt.MapClaims{"target_audience": audience})
	if err != nil {
		return t, err
	}
	a, err := c.Services.Ask(ctx, credential.NewForm("the token service of Google", tokenURL, form))
	if err != nil {
		return t, err
	}
	var r tokenResponse
	err = json.Unmarshal(a.Body, &r)
	switch {
	case a.Status != http.StatusOK:
		return t, a.Failure(errorCode(r.Error))
	case err != nil || r.IDToken == "":
		return t, fmt.Errorf("%s answered without an id_token", a.Of)
	}
	return parseIDToken(a, r.IDToken, audience)
}

// idToken implements provider. Only a service account has ID tokens.
func (f federation) idToken(ctx context.Context, c *credential.Cloud, audience string) (t token, err error) {
	if f.ImpersonationURL == "" {
		return t, errors.New("the file of " + credentialsVariable + " names no service account, and only a service " +
			"account has ID tokens: create it with --service-account, or write scopes in place of audience")
	}
	own, err := f.exchange(ctx, c, []string{cloudPlatform})
	if err != nil {
		return t, err
	}
	address := strings.TrimSuffix(f.ImpersonationURL, ":generateAccessToken") + ":generateIdToken"
	question := map[string]any{"audience": audience, "includeEmail": true}
	a, err := askCredentials(ctx, c, address, own.text, question)
	if err != nil {
		return t, err
	}
	var r struct {
		Token string `json:"token"`
	}
	if json.Unmarshal(a.Body, &r) != nil || r.Token == "" {
		return t, fmt.Errorf("%s answered without a token", a.Of)
	}
	return parseIDToken(a, r.Token, audience)
}

// parseIDToken returns an ID token of an answer. It has its end itself; what it is sent to verifies it.
func parseIDToken(a credential.Answer, text, audience string) (t token, err error) {
	var claims struct {
		Audience string      `json:"aud"`
		Expires  json.Number `json:"exp"`
	}
	parts := strings.Split(text, ".")
	if len(parts) != 3 || !credential.IsToken(text) {
		return t, fmt.Errorf("%s answered something else than an ID token", a.Of)
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil || json.Unmarshal(payload, &claims) != nil {
		return t, fmt.Errorf("%s answered something else than an ID token", a.Of)
	}
	expires, err := claims.Expires.Float64()
	left := expires - float64(a.Served().Unix())
	switch {
	case claims.Audience != audience:
		return t, fmt.Errorf("%s answered an ID token for another audience", a.Of)
	case err != nil || left <= 0:
		return t, fmt.Errorf("%s answered an ID token without its end, or one that has expired", a.Of)
	}
	return token{text, credential.Seconds(left)}, nil
}
