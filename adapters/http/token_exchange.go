package http

import (
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"hatchel/adapters"
)

// Token types of RFC 8693, section 3.
const (
	exchangeGrant = "urn:ietf:params:oauth:grant-type:token-exchange"
	accessToken   = "urn:ietf:params:oauth:token-type:access_token"
	jwtToken      = "urn:ietf:params:oauth:token-type:jwt"
)

// Messages for callers whose token cannot be exchanged.
const (
	msgNoToken = "the service is called on behalf of the caller with a token that is exchanged for the caller's own, " +
		"and this caller has none; the caller must authenticate with a token"
	msgTokenExpired = "the caller's token has expired: the caller must authenticate again and repeat the call"
	msgSignInAgain  = "the caller's token is no longer accepted: the caller must authenticate again and repeat the call"
)

// subject is on whose behalf a token is requested. The zero subject is the client itself.
type subject struct {
	owner string
	token string
	until time.Time // the token is valid
}

// subjectOf returns on whose behalf a call needs a token. It fails if the caller's token has expired since.
func (o *oauth2) subjectOf(call *adapters.Call) (s subject, err error) {
	switch {
	case !o.Exchange:
		return s, nil
	case call.Token == nil:
		return s, &adapters.Fault{Message: msgNoToken, NotSent: true}
	}
	s.owner = call.Owner
	if s.token, s.until = call.Token(); !time.Now().Before(s.until) {
		return s, &adapters.Fault{Message: msgTokenExpired, NotSent: true}
	}
	return s, nil
}

func (o *oauth2) checkExchange(checks *adapters.Checks, tokenURL *url.URL) {
	if !o.Exchange {
		for _, field := range []*string{&o.Audience, &o.Resource, &o.SubjectType, &o.RequestedType} {
			checks.Refuse(*field != "", field, "This argument requires exchange = true. "+
				"Without exchange, write the fields that the token server expects in params.")
		}
		return
	}
	checks.Refuse(tokenURL != nil && tokenURL.Scheme == "http" && !isLoopback(tokenURL.Hostname()), &o.TokenURL,
		"Tokens of callers are sent to this address, which must use https.")
	r, err := url.Parse(o.Resource)
	isAbsolute := err == nil && r.IsAbs() && r.Fragment == "" && !strings.HasSuffix(o.Resource, "#")
	checks.Refuse(o.Resource != "" && !isAbsolute, &o.Resource,
		`resource must be a URL without a fragment, such as "https://shop.example/api".`)
	checks.Refuse(o.SubjectType != "" && !strings.HasPrefix(o.SubjectType, "urn:"), &o.SubjectType,
		"subject_token_type must be a token type such as %q or %q.", accessToken, jwtToken)
	checks.Refuse(!slices.Contains([]string{"", accessToken, jwtToken}, o.RequestedType), &o.RequestedType,
		"requested_token_type must be %q or %q.", accessToken, jwtToken)
	for _, name := range o.Params.Names() {
		hasValue := slices.Contains(exchangeFields, name) ||
			name == "audience" && o.Audience != "" || name == "resource" && o.Resource != ""
		checks.Refuse(hasValue, &o.Params, "The field %s of the exchange already has a value.", name)
	}
}

// exchangeFields are the fields of a token request that params cannot set.
var exchangeFields = []string{
	"grant_type", "subject_token", "subject_token_type", "requested_token_type", "client_id", "client_secret", "scope",
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// newForm returns the form of a token request with its grant.
func (o *oauth2) newForm(of subject) url.Values {
	if !o.Exchange {
		return url.Values{"grant_type": {"client_credentials"}}
	}
	form := url.Values{
		"grant_type": {exchangeGrant}, "subject_token": {of.token}, "subject_token_type": {accessToken},
	}
	for name, text := range map[string]string{
		"audience": o.Audience, "resource": o.Resource,
		"subject_token_type": o.SubjectType, "requested_token_type": o.RequestedType,
	} {
		if text != "" {
			form.Set(name, text)
		}
	}
	return form
}

// isBearer reports whether a token response has a token that can be used as a bearer token. The token
// server reports a requested JWT, which is not an access token to it, with the type N_A.
func (o *oauth2) isBearer(response map[string]any) bool {
	kind, ok := response["token_type"].(string)
	bearer := !ok || strings.EqualFold(kind, "bearer")
	issued, _ := response["issued_token_type"].(string)
	switch {
	case !o.Exchange, issued == accessToken, issued == "":
		return bearer
	case issued == jwtToken:
		return bearer || o.RequestedType == jwtToken && strings.EqualFold(kind, "N_A")
	}
	return false
}
