package google

import (
	"context"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"hatchel/adapters/credential"
)

// credentialFile is the form of a credential file of Google. Members that no source needs are left out.
type credentialFile struct {
	Type           string `json:"type"`
	UniverseDomain string `json:"universe_domain"`

	serviceAccount
	federation
}

// parseFile returns the provider that a credential file describes. The error has nothing of its values but names that
// are no credential.
func parseFile(raw []byte) (provider, error) {
	var f credentialFile
	if err := json.Unmarshal(raw, &f); err != nil {
		return nil, errors.New("it is no credential file of Google: a JSON object whose type is service_account or " +
			"external_account")
	}
	if f.UniverseDomain != "" && f.UniverseDomain != "googleapis.com" {
		return nil, errors.New("its universe_domain is not googleapis.com; other universes are not supported")
	}
	switch f.Type {
	case "service_account":
		return f.serviceAccount.parse()
	case "external_account":
		return f.federation.parse()
	case "authorized_user", "external_account_authorized_user", "impersonated_service_account":
		return nil, fmt.Errorf("its type %s is of a person's gcloud, which is not used; create a service account key "+
			"or a file of workload identity federation", f.Type)
	}
	return nil, errors.New("its type is neither service_account nor external_account")
}

// serviceAccount is the key of a service account.
type serviceAccount struct {
	ClientEmail  string `json:"client_email"`
	PrivateKeyID string `json:"private_key_id"`
	PrivateKey   string `json:"private_key"`
	TokenURI     string `json:"token_uri"`

	key *rsa.PrivateKey
}

// tokenURL is the token service of service accounts.
const tokenURL = "https://oauth2.googleapis.com/token"

// tokenURLs are those of the files of all times; Google serves them all.
var tokenURLs = []string{
	"", tokenURL, "https://accounts.google.com/o/oauth2/token", "https://www.googleapis.com/oauth2/v4/token",
	"https://www.googleapis.com/oauth2/v3/token",
}

func (s serviceAccount) parse() (provider, error) {
	if !slices.Contains(tokenURLs, s.TokenURI) {
		return nil, fmt.Errorf("its token_uri is not %s, and its assertions are sent nowhere else", tokenURL)
	}
	if s.ClientEmail == "" {
		return nil, errors.New("it has no client_email")
	}
	key, err := jwt.ParseRSAPrivateKeyFromPEM([]byte(s.PrivateKey))
	if err != nil {
		return nil, errors.New("its private_key is no RSA key in PEM")
	}
	s.key = key
	return s, nil
}

func (s serviceAccount) identity() string { return s.ClientEmail + " (service account key)" }

const (
	assertionLife = time.Hour        // the longest that Google accepts
	clockLeeway   = 10 * time.Second // for a clock that is ahead of that of Google
)

// accessToken implements provider by the JWT bearer grant (RFC 7523), with the scopes in the assertion.
func (s serviceAccount) accessToken(ctx context.Context, c *credential.Cloud, scopes []string) (t token, err error) {
	form, err := s.grant(jwt.MapClaims{"scope": strings.Join(scopes, " ")})
	if err != nil {
		return t, err
	}
	a, err := c.Services.Ask(ctx, credential.NewForm("the token service of Google", tokenURL, form))
	if err != nil {
		return t, err
	}
	return parseToken(a)
}

// grant returns the form of a request with an assertion that has the claims.
func (s serviceAccount) grant(claims jwt.MapClaims) (url.Values, error) {
	now := time.Now().Add(-clockLeeway)
	claims["iss"], claims["aud"] = s.ClientEmail, tokenURL
	claims["iat"], claims["exp"] = now.Unix(), now.Add(assertionLife).Unix()
	assertion := jwt.NewWithClaims(jwt.SigningMethodRS256, claims)
	if s.PrivateKeyID != "" {
		assertion.Header["kid"] = s.PrivateKeyID
	}
	text, err := assertion.SignedString(s.key)
	if err != nil {
		return nil, errors.New("the private_key of the service account cannot sign with RS256")
	}
	return url.Values{"grant_type": {"urn:ietf:params:oauth:grant-type:jwt-bearer"}, "assertion": {text}}, nil
}
