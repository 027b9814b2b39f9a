// Package google fetches access tokens and ID tokens of Google from the sources that Google documents for workloads: a
// service account key, workload identity federation, and the metadata server. It reads no state of gcloud and runs no
// program.
package google

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"hatchel/adapters/credential"
)

// ScopeSQLLogin is the scope of a token that is a password of Cloud SQL. It permits nothing else.
const ScopeSQLLogin = "https://www.googleapis.com/auth/sqlservice.login"

// credentialsVariable names the file of Application Default Credentials.
const credentialsVariable = "GOOGLE_APPLICATION_CREDENTIALS"

// Source has the token of one declaration. It may be used concurrently.
type Source struct {
	*credential.TokenSource
	cloud *credential.Cloud
	fetch func(context.Context, provider) (token, error)
}

// NewSource returns a source of access tokens with scopes. It reads and asks nothing before a token is needed.
func NewSource(fetches *credential.Fetches, cloud *credential.Cloud, scopes ...string) *Source {
	return newSource(fetches, cloud, func(ctx context.Context, p provider) (token, error) {
		return p.accessToken(ctx, cloud, scopes)
	})
}

// NewIDTokenSource returns a source of ID tokens for an audience. It reads and asks nothing before a token is needed.
func NewIDTokenSource(fetches *credential.Fetches, cloud *credential.Cloud, audience string) *Source {
	return newSource(fetches, cloud, func(ctx context.Context, p provider) (token, error) {
		return p.idToken(ctx, cloud, audience)
	})
}

func newSource(
	fetches *credential.Fetches, cloud *credential.Cloud, fetch func(context.Context, provider) (token, error),
) *Source {
	s := &Source{cloud: cloud, fetch: fetch}
	s.TokenSource = credential.NewTokenSource(fetches, s.ask)
	return s
}

func (s *Source) ask(ctx context.Context) (token credential.Token, lifetime time.Duration, err error) {
	p, err := s.provider()
	if err != nil {
		return token, 0, err
	}
	issued, err := s.fetch(ctx, p)
	return credential.Token{Text: issued.text, Identity: p.identity()}, issued.lifetime, err
}

// provider is a place that tokens come from.
type provider interface {
	accessToken(ctx context.Context, c *credential.Cloud, scopes []string) (token, error)
	idToken(ctx context.Context, c *credential.Cloud, audience string) (token, error)
	identity() string
}

// token is a token and how long it is valid.
type token struct {
	text     string
	lifetime time.Duration
}

// provider returns the place that is configured. The file is read at each fetch, because keys are rotated. A file that
// cannot be used is an error, and not a reason to ask the metadata server, whose identity may be another one.
func (s *Source) provider() (provider, error) {
	name := s.cloud.Getenv(credentialsVariable)
	if name == "" {
		return metadata{}, nil
	}
	raw, err := credential.ReadFile("the file of "+credentialsVariable, name)
	if err != nil {
		return nil, err
	}
	p, err := parseFile(raw)
	if err != nil {
		return nil, fmt.Errorf("the file of %s %s: %w", credentialsVariable, name, err)
	}
	return p, nil
}

// tokenResponse is a response to a token request (RFC 6749, section 5), and of the metadata server.
type tokenResponse struct {
	AccessToken string          `json:"access_token"`
	IDToken     string          `json:"id_token"`
	TokenType   string          `json:"token_type"`
	ExpiresIn   json.Number     `json:"expires_in"`
	Error       json.RawMessage `json:"error"`
}

// parseToken returns the token of an answer.
func parseToken(a credential.Answer) (t token, err error) {
	var r tokenResponse
	err = json.Unmarshal(a.Body, &r)
	if a.Status != http.StatusOK {
		return t, a.Failure(errorCode(r.Error))
	}
	seconds, notNumber := r.ExpiresIn.Float64()
	switch {
	case err != nil:
		return t, fmt.Errorf("%s answered something else than a JSON object with a token", a.Of)
	case !credential.IsToken(r.AccessToken):
		return t, fmt.Errorf("%s answered without an access_token", a.Of)
	case !strings.EqualFold(r.TokenType, "Bearer"):
		return t, fmt.Errorf("%s answered a token of another type than Bearer", a.Of)
	case notNumber != nil || seconds <= 0:
		return t, fmt.Errorf("%s answered a token without expires_in, or one that has expired", a.Of)
	}
	return token{r.AccessToken, credential.Seconds(seconds)}, nil
}

// errorCodes are those of RFC 6749, RFC 8693 and google.rpc.Code that an error may show. Other texts of an answer are
// not shown.
var errorCodes = strings.Fields(`invalid_request invalid_client invalid_grant unauthorized_client invalid_scope
	unsupported_grant_type invalid_target access_denied server_error temporarily_unavailable
	INVALID_ARGUMENT UNAUTHENTICATED PERMISSION_DENIED NOT_FOUND FAILED_PRECONDITION RESOURCE_EXHAUSTED INTERNAL
	UNAVAILABLE`)

// errorCode returns the code of an error: a text, as token services have it, or the status of an object of
// googleapis.com.
func errorCode(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		var object struct{ Status string }
		_ = json.Unmarshal(raw, &object)
		text = object.Status
	}
	if !slices.Contains(errorCodes, text) {
		return ""
	}
	return text
}

// metadata is the metadata server of Compute Engine, GKE, Cloud Run, Cloud Functions and App Engine.
type metadata struct{}

const (
	metadataName = "the metadata server"
	// metadataURL has the address of metadata.google.internal, so that no DNS decides who is asked.
	metadataURL = "http://169.254.169.254/computeMetadata/v1/instance/service-accounts/default/"
	// metadataFlavor is the header of a question and of an answer, which other services at that address do not have.
	metadataFlavor = "Metadata-Flavor"
)

func (metadata) identity() string { return "service account of the machine (metadata server)" }

// accessToken implements provider.
func (metadata) accessToken(ctx context.Context, c *credential.Cloud, scopes []string) (token, error) {
	query := url.Values{"scopes": {strings.Join(scopes, ",")}}
	return askMetadata(ctx, c, "token?"+query.Encode(), parseToken)
}

// askMetadata asks the metadata server for a token of the service account, and reads it from the answer.
func askMetadata(
	ctx context.Context, c *credential.Cloud, question string, parse func(credential.Answer) (token, error),
) (t token, err error) {
	q := credential.Question{
		Of: metadataName, URL: metadataURL + question, Header: http.Header{metadataFlavor: {"Google"}},
	}
	a, err := c.Metadata.Ask(ctx, q)
	switch {
	case err != nil:
	case a.Header.Get(metadataFlavor) != "Google":
		err = fmt.Errorf("%s answered without the header %s: Google, so it is not that of Google", metadataName,
			metadataFlavor)
	case a.Status == http.StatusNotFound:
		err = a.Failure("this machine has no service account")
	default:
		t, err = parse(a)
	}
	if err != nil {
		return t, fmt.Errorf("no Google credential: %s is not set, %w", credentialsVariable, err)
	}
	return t, nil
}
