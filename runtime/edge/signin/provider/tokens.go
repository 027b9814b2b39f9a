package provider

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"hatchel/adapters/credential"
	"hatchel/runtime/edge/auth/issuer"
)

// Tokens are those of the provider for a person. They leave the process only to endpoints of the provider, and to the
// token endpoints of connections that act on behalf of the person.
type Tokens struct {
	Access     string
	AccessEnds time.Time
	Refresh    string // empty if the provider gives none
}

// unsaidLife is how long an access token is used of which the provider does not say how long it lives, such as
// Salesforce (RFC 6749, section 5.1).
const unsaidLife = time.Hour

// tokenResponse is a token response (RFC 6749, sections 5.1 and 5.2; OpenID Connect Core 1.0, section 3.1.3.3).
type tokenResponse struct {
	Access      string      `json:"access_token"`
	Refresh     string      `json:"refresh_token"`
	ID          string      `json:"id_token"`
	ExpiresIn   json.Number `json:"expires_in"`
	Error       string      `json:"error"`
	Description string      `json:"error_description"`
}

// Redeem redeems a code that Code has returned, with the verifier and the nonce of its authorization request. The error
// is an *Error.
func (p *Provider) Redeem(ctx context.Context, code, verifier, nonce string) (*Person, *Tokens, error) {
	metadata, err := p.metadata(ctx)
	if err != nil {
		return nil, nil, err
	}
	form := url.Values{"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {p.redirect()}}
	if takesChallenge(metadata) { // a verifier without a challenge is refused (RFC 9700, section 4.8.2)
		form.Set("code_verifier", verifier)
	}
	response, tokens, err := p.request(ctx, form)
	if err != nil {
		return nil, nil, err
	}
	if response.ID == "" {
		return nil, nil, refused("the provider returned no ID token; the scopes of sign_in must have openid")
	}
	claims, err := p.verifyIDToken(ctx, response, &nonce)
	if err != nil {
		return nil, nil, err
	}
	person, err := p.identify(ctx, claims, tokens)
	if err != nil {
		return nil, nil, err
	}
	return person, tokens, nil
}

// Refresh asks for new tokens of a person, and for who the person is now. The returned tokens have a refresh token,
// which replaces the used one; they are returned with an error, too, if the provider has issued them before. Without an
// ID token in the response, the userinfo endpoint says who the person is; a provider that has none says nothing new,
// and known is returned. The error is an *Error: of the kind ErrEnded if the provider no longer signs the person in, or
// says of the person what this server does not accept, and of the kind ErrUnavailable if it does not say who it is.
func (p *Provider) Refresh(ctx context.Context, refresh string, known *Person) (*Person, *Tokens, error) {
	response, tokens, err := p.request(ctx, url.Values{"grant_type": {"refresh_token"}, "refresh_token": {refresh}})
	if err != nil {
		return nil, nil, err
	}
	if tokens.Refresh == "" {
		tokens.Refresh = refresh
	}
	person, err := p.identifyRefreshed(ctx, response, tokens, known)
	if err == nil && person.Subject != known.Subject {
		err = refused("the provider returned another person for a refresh token")
	}
	if e, ok := errors.AsType[*Error](err); ok && e.kind == nil {
		e.Code, e.kind = codeInvalidGrant, ErrEnded
	}
	if err != nil {
		return nil, tokens, err
	}
	return person, tokens, nil
}

// identifyRefreshed returns the person of a response to a refresh token. The error is an *Error.
func (p *Provider) identifyRefreshed(
	ctx context.Context, r *tokenResponse, tokens *Tokens, known *Person,
) (*Person, error) {
	if r.ID == "" {
		return p.identifyAgain(ctx, tokens, known)
	}
	claims, err := p.verifyIDToken(ctx, r, nil)
	if err != nil {
		return nil, err
	}
	return p.identify(ctx, claims, tokens)
}

// request sends a token request. The error is an *Error.
func (p *Provider) request(ctx context.Context, form url.Values) (*tokenResponse, *Tokens, error) {
	metadata, err := p.metadata(ctx)
	if err != nil {
		return nil, nil, err
	}
	const what = "the token endpoint of the provider "
	header := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "Accept": {"application/json"}}
	if _, err := p.client.Authenticate(form, header, metadata.Token); err != nil {
		return nil, nil, &Error{
			Page: pageOperator, Log: "this server cannot authenticate to the provider: " + err.Error(),
			Code: codeServer, kind: ErrUnavailable,
		}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, metadata.Token, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, nil, unavailable(what + "has an invalid address")
	}
	req.Header = header
	requested := p.now()
	resp, err := p.issuer.Client.Do(req)
	if err != nil {
		return nil, nil, unavailable(what + "did not answer: " + requestFault(err))
	}
	response := parseTokenResponse(resp.Body)
	isRefresh := form.Get("grant_type") == "refresh_token"
	switch {
	case resp.Status/100 != 2 || response != nil && response.Error != "":
		return nil, nil, tokenError(resp, response, isRefresh)
	case response == nil:
		return nil, nil, unavailable(what + "did not answer with JSON")
	case !credential.IsToken(response.Access):
		return nil, nil, unavailable(what + "returned no access token")
	case response.Refresh != "" && !credential.IsToken(response.Refresh):
		return nil, nil, unavailable(what + "returned a refresh token with other characters than printable ASCII")
	}
	tokens := &Tokens{
		Access: response.Access, AccessEnds: requested.Add(unsaidLife), Refresh: response.Refresh,
	}
	if seconds, err := strconv.ParseFloat(response.ExpiresIn.String(), 64); err == nil && seconds > 0 {
		tokens.AccessEnds = requested.Add(credential.Seconds(seconds))
	}
	return response, tokens, nil
}

// parseTokenResponse returns nil for a body that is no JSON object. Some providers write expires_in as a text.
func parseTokenResponse(body []byte) *tokenResponse {
	r := new(tokenResponse)
	if !bytes.HasPrefix(bytes.TrimSpace(body), []byte("{")) || json.Unmarshal(body, r) != nil {
		return nil
	}
	return r
}

// userInfo asks the provider for the claims of the person that an access token is of (OpenID Connect Core 1.0, section
// 5.3). It returns nil if the provider has no such endpoint, or the token is not for it. The error is an *Error.
func (p *Provider) userInfo(ctx context.Context, tokens *Tokens) (map[string]any, error) {
	metadata, err := p.metadata(ctx)
	if err != nil || metadata.UserInfo == "" {
		return nil, err
	}
	const what = "the userinfo endpoint of the provider "
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, metadata.UserInfo, nil)
	if err != nil {
		return nil, unavailable(what + "has an invalid address")
	}
	req.Header.Set("Authorization", "Bearer "+tokens.Access)
	req.Header.Set("Accept", "application/json")
	resp, err := p.issuer.Client.Do(req)
	switch {
	case err != nil:
		return nil, unavailable(what + "did not answer: " + requestFault(err))
	case resp.Status >= http.StatusInternalServerError || resp.Status == http.StatusTooManyRequests:
		return nil, unavailable(what + "answered with status " + strconv.Itoa(resp.Status))
	case resp.Status != http.StatusOK:
		return nil, nil
	}
	claims, err := decodeClaims(resp.Body)
	if err != nil {
		return nil, nil // such as a signed response, which has to be asked for
	}
	return claims, nil
}

// decodeClaims returns the members of a JSON object, with their numbers as they are written.
func decodeClaims(text []byte) (claims map[string]any, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&claims); err != nil {
		return nil, err
	}
	if claims == nil {
		return nil, errors.New("no JSON object")
	}
	return claims, nil
}

// verificationError returns the error for a token of the provider that does not verify.
func verificationError(what string, err error) *Error {
	if errors.Is(err, issuer.ErrUnavailable) || errors.Is(err, context.Canceled) ||
		errors.Is(err, context.DeadlineExceeded) {
		return unavailable("the keys of the provider are not available")
	}
	return refused(what + " " + tokenFault(err))
}
