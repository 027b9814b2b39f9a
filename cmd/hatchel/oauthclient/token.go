package oauthclient

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// The ways in which a client authenticates with a secret (RFC 7591).
const (
	clientSecretBasic = "client_secret_basic"
	clientSecretPost  = "client_secret_post"
)

// registration is a client at an authorization server.
type registration struct {
	ClientID     string `json:"client_id"`
	ClientSecret string `json:"client_secret,omitempty"`
	AuthMethod   string `json:"token_endpoint_auth_method,omitempty"`
}

// findClient returns the client as which the program asks: the one that the user names, the one that servers of this
// program have for it, or one that is registered now (RFC 7591).
func (c *Client) findClient(ctx context.Context, at *issuer, redirect string) (registration, error) {
	switch {
	case c.options.ClientID != "":
		return registration{ClientID: c.options.ClientID}, nil
	case at.ProgramID != "":
		return registration{ClientID: at.ProgramID}, nil
	case at.RegistrationEndpoint == "":
		return registration{}, failf("%s requires a key: set HATCHEL_KEY to your API key or token. To sign in at %s, "+
			"which registers no programs by itself, give --client-id the id of a public client with the redirect "+
			"address http://127.0.0.1/callback", c.options.Endpoint, at.Issuer)
	}
	method := "none"
	if supported := at.AuthMethods; len(supported) > 0 && !slices.Contains(supported, method) {
		// The program is as public with a secret that it gets now. Some servers know no public clients.
		if method = clientSecretBasic; !slices.Contains(supported, method) {
			method = clientSecretPost
		}
	}
	text, err := json.Marshal(map[string]any{
		"client_name": "Hatchel", "redirect_uris": []string{redirect}, "application_type": "native",
		"grant_types":    []string{"authorization_code", "refresh_token"},
		"response_types": []string{"code"}, "token_endpoint_auth_method": method,
	})
	if err != nil {
		return registration{}, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, at.RegistrationEndpoint, strings.NewReader(string(text)))
	if err != nil {
		return registration{}, failf("%s is no address", at.RegistrationEndpoint)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json")
	text, status, err := c.request(r)
	if err != nil {
		return registration{}, err
	}
	registered := registration{}
	if method != "none" {
		registered.AuthMethod = method
	}
	switch _, reason := refusalOf(status, text); {
	case status != http.StatusCreated && status != http.StatusOK:
		return registered, failf("%s does not register this program: %s. --client-id is the id of a client that is "+
			"registered by hand", at.Issuer, reason)
	case json.Unmarshal(text, &registered) != nil || registered.ClientID == "":
		return registered, failf("%s does not register this program: its answer has no client_id", at.Issuer)
	}
	return registered, nil
}

// issued is the response to a request for a token.
type issued struct {
	Access    string      `json:"access_token"`
	Type      string      `json:"token_type"`
	ExpiresIn json.Number `json:"expires_in"` // which some servers send as a string
	Refresh   string      `json:"refresh_token"`
	Scope     *string     `json:"scope"`
}

// askForToken makes a request for the resource of a record at the token endpoint.
func (c *Client) askForToken(ctx context.Context, r *record, form url.Values) (*issued, error) {
	if r.Resource != "" {
		form.Set("resource", r.Resource)
	}
	res, err := c.post(ctx, r.TokenEndpoint, r, form)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	status := res.StatusCode
	text, err := io.ReadAll(io.LimitReader(res.Body, maxDocument))
	if err != nil {
		return nil, unreachable(res.Request, err)
	}
	answered := new(issued)
	switch code, reason := refusalOf(status, text); {
	case status >= http.StatusInternalServerError || status == http.StatusTooManyRequests:
		return nil, unavailablef("%s issues no token now: %s. Try again in a moment", r.Issuer, reason)
	case status < http.StatusOK || status >= http.StatusMultipleChoices:
		// What has no code is not from the authorization server, but from a proxy on the way to it.
		return nil, &Error{text: sentence("%s issues no token: %s", []any{r.Issuer, reason}), refused: code != ""}
	case json.Unmarshal(text, answered) != nil || !isToken(answered.Access):
		return nil, failf("%s issues no token: its answer has none", r.Issuer)
	case !strings.EqualFold(answered.Type, "Bearer"):
		const text = "%s issues a token of the type %q, and this program sends bearer tokens"
		return nil, failf(text, r.Issuer, answered.Type)
	}
	return answered, nil
}

// isToken reports whether a text can be sent in a header (RFC 6750).
func isToken(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(c rune) bool { return c <= ' ' || c > '~' })
}

// post sends a form as the client of a record.
func (c *Client) post(ctx context.Context, address string, as *record, form url.Values) (*http.Response, error) {
	secret := as.Client.ClientSecret
	basic := secret != "" && as.Client.AuthMethod != clientSecretPost && as.Client.AuthMethod != "none"
	if !basic {
		form.Set("client_id", as.Client.ClientID)
	}
	if as.Client.AuthMethod == clientSecretPost {
		form.Set("client_secret", secret)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, failf("%s is no address", address)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Accept", "application/json")
	r.Header.Set("User-Agent", c.options.Agent)
	if basic {
		r.SetBasicAuth(url.QueryEscape(as.Client.ClientID), url.QueryEscape(secret))
	}
	res, err := c.http.Do(r)
	if err != nil {
		return nil, unreachable(r, err)
	}
	return res, nil
}

// refusalOf returns the code of a refusal, empty for none, and why the request was refused, without what was sent.
func refusalOf(status int, text []byte) (code, reason string) {
	var said struct {
		Code        string `json:"error"`
		Description string `json:"error_description"`
	}
	_ = json.Unmarshal(text, &said) // a response in another form has no reason
	return said.Code, refusalText(status, said.Code, said.Description)
}

func refusalText(status int, code, description string) string {
	switch {
	case code == "":
		return fmt.Sprintf("it answers with status %d", status)
	case description == "":
		return code
	}
	return code + " (" + description + ")"
}

// maxLife is the longest time for which a token is used without a refresh.
const maxLife = 365 * 24 * time.Hour

// record is what is kept of a sign-in.
type record struct {
	Endpoint           string       `json:"endpoint"`
	Resource           string       `json:"resource"`
	Issuer             string       `json:"issuer"`
	TokenEndpoint      string       `json:"token_endpoint"`
	RevocationEndpoint string       `json:"revocation_endpoint,omitempty"`
	Client             registration `json:"client"`
	Scopes             []string     `json:"scopes,omitempty"`
	Access             string       `json:"access_token"`
	Ends               time.Time    `json:"ends,omitzero"`
	Refresh            string       `json:"refresh_token,omitempty"`
}

func (r *record) isValid() bool {
	return r != nil && (r.Ends.IsZero() || time.Until(r.Ends) > expiryMargin)
}

func (r *record) access() string {
	if r.isValid() {
		return r.Access
	}
	return ""
}

// keep adds what was issued. A response without a refresh token leaves the one before valid, and one without scopes
// has the requested ones.
func (r *record) keep(i *issued) {
	r.Access, r.Ends = i.Access, time.Time{}
	if seconds, err := i.ExpiresIn.Float64(); err == nil && seconds > 0 {
		life := time.Duration(min(seconds, maxLife.Seconds()) * float64(time.Second))
		r.Ends = time.Now().Add(life).UTC().Truncate(time.Second)
	}
	if i.Refresh != "" {
		r.Refresh = i.Refresh
	}
	if i.Scope != nil {
		r.Scopes = strings.Fields(*i.Scope)
	}
}
