package http

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	nethttp "net/http"
	"net/url"
	"strings"
	"time"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/hcl/value"
)

// oauth2 is an oauth2 block: client credentials (RFC 6749, section 4.4), or the exchange of the caller's
// token for one of the service (RFC 8693).
type oauth2 struct {
	TokenURL     string
	ClientID     hcl.SecretText
	ClientSecret hcl.SecretText
	Scopes       []string
	Params       *hcl.KeyValues
	ClientAuth   string

	Exchange      bool
	Audience      string
	Resource      string
	SubjectType   string
	RequestedType string
}

const (
	clientAuthBasic = "basic"
	clientAuthBody  = "body"
)

func (o *oauth2) spec() hcl.Spec {
	o.ClientAuth = clientAuthBasic
	return hcl.Spec{
		hcl.Attr(&o.TokenURL, "token_url", "The token endpoint.").Require(),
		hcl.Attr(&o.ClientID, "client_id", "The id of the client.").Require(),
		hcl.Attr(&o.ClientSecret, "client_secret", "The secret of the client.").Require(),
		hcl.Attr(&o.Scopes, "scopes", "The requested scopes."),
		hcl.Attr(&o.Params, "params", "Additional fields of the token request, such as "+
			`{ audience = "https://api.example" }.`).AllowSecret().FixedKeys(),
		hcl.Choice(&o.ClientAuth, "client_auth", `How the client authenticates: "basic" uses a header, "body" uses `+
			"fields of the request.", clientAuthBasic, clientAuthBody).DefaultDoc(`"basic"`),
		hcl.Attr(&o.Exchange, "exchange", "true makes requests on behalf of the caller: the caller's token is "+
			"exchanged for one of the service (RFC 8693) and is sent to token_url only. Requires auth { jwt }."),
		hcl.Attr(&o.Audience, "audience", "With exchange: the name of the service that the token is for."),
		hcl.Attr(&o.Resource, "resource", "With exchange: the URL of the service that the token is for."),
		hcl.Attr(&o.SubjectType, "subject_token_type",
			"With exchange: the type of the caller's token.").DefaultDoc(`"` + accessToken + `"`),
		hcl.Attr(&o.RequestedType, "requested_token_type", `With exchange: the requested type, "`+accessToken+
			`" or "`+jwtToken+`".`).DefaultDoc("the choice of the token server"),
	}
}

func (o *oauth2) check(checks *adapters.Checks) {
	u, err := url.Parse(o.TokenURL)
	checks.Refuse(err != nil || u.Host == "" || u.User != nil || !isHTTP(u), &o.TokenURL,
		`token_url must be a URL such as "https://login.example/oauth2/token".`)
	o.checkExchange(checks, u)
}

// newRequest returns the form and the header of a token request.
func (o *oauth2) newRequest(ctx context.Context, dir string, of subject) (url.Values, nethttp.Header, error) {
	form := o.newForm(of)
	if len(o.Scopes) > 0 {
		form.Set("scope", strings.Join(o.Scopes, " "))
	}
	params, err := o.Params.Eval(hcl.NewFrame(ctx, dir, time.Now))
	if err != nil {
		return nil, nil, signInFault(err.Error(), err)
	}
	for _, p := range params {
		texts, err := scalars(p.Value)
		if err != nil {
			return nil, nil, signInFault(fmt.Sprintf("%s %v", p.Name, err), err)
		}
		form[p.Name] = texts
	}
	header := nethttp.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "Accept": {"application/json"}}
	id, secret := o.ClientID.Reveal(), o.ClientSecret.Reveal()
	if o.ClientAuth == clientAuthBody {
		form.Set("client_id", id)
		form.Set("client_secret", secret)
	} else {
		credentials := url.QueryEscape(id) + ":" + url.QueryEscape(secret)
		header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(credentials)))
	}
	return form, header, nil
}

// parseResponse reads the response to a token request. requested is when the request was sent, and
// credentials is what its Authorization header contained.
func (o *oauth2) parseResponse(
	status int, raw []byte, requested time.Time, of subject, credentials string,
) (*token, error) {
	v, err := value.Decode(raw)
	m, _ := v.(map[string]any)
	if status != nethttp.StatusOK {
		secret := o.ClientSecret.Reveal()
		return nil, o.rejection(status, m, []string{secret, url.QueryEscape(secret), credentials, of.token})
	}
	text, _ := m["access_token"].(string)
	if err != nil || text == "" || !isHeaderValue(text) || !o.isBearer(m) || text == of.token {
		return nil, signInFault("the service returned no bearer token", err)
	}
	t := &token{text: text, expires: of.until}
	seconds, ok := value.Float(m["expires_in"])
	if s, isText := m["expires_in"].(string); isText {
		seconds, ok = value.Float(value.ParseNumber(s))
	}
	if ok && seconds > 0 {
		lifetime := time.Duration(min(seconds, 366*24*3600) * float64(time.Second))
		t.expires = requested.Add(lifetime - min(lifetime/10, 10*time.Second))
		t.renew = requested.Add(lifetime - min(lifetime/4, time.Minute))
	}
	return t, nil
}

// rejection returns the error for a token request that was rejected. It hides the secrets.
func (o *oauth2) rejection(status int, response map[string]any, secrets []string) error {
	message := statusText(status)
	code, _ := response["error"].(string)
	if code != "" {
		message += ", " + code
	}
	if text, ok := response["error_description"].(string); ok {
		message += ": " + text
	}
	message = excerpt([]byte(message), "", secrets)
	if code == "invalid_grant" && o.Exchange {
		return &adapters.Fault{Message: msgSignInAgain, Cause: errors.New(message), NotSent: true}
	}
	return signInFault("the service returned "+message, errors.New(message))
}

// signInFault returns the fault for a failed token request.
func signInFault(message string, cause error) error {
	message = strings.Replace(message, "the service", "the token server", 1)
	return &adapters.Fault{Message: "signing in failed: " + message, Cause: cause}
}
