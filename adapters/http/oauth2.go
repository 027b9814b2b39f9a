package http

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"mime"
	nethttp "net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/hcl/value"
	"hatchel/internal/charset"
	"hatchel/internal/contentcoding"
	"hatchel/internal/cut"
	"hatchel/internal/hostname"
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
	u, problem := hostname.ParseURL(o.TokenURL, hostname.Query|hostname.Fragment)
	checks.Refuse(u == nil, &o.TokenURL, `token_url must be a URL such as "https://login.example/oauth2/token": %s.`,
		problem)
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
// credentials is what its Authorization header contained. Every status of success is one, because some token servers
// answer 201; an error is one with every status, because some answer it with 200.
func (o *oauth2) parseResponse(
	resp *nethttp.Response, raw []byte, requested time.Time, of subject, credentials string,
) (*token, error) {
	secret := o.ClientSecret.Reveal()
	secrets := []string{secret, url.QueryEscape(secret), credentials, of.token}
	m := parseTokenResponse(raw, resp.Header.Get("Content-Type"))
	code, _ := tokenError(m)
	if code != "" || resp.StatusCode/100 != 2 {
		return nil, o.rejection(resp, raw, m, secrets)
	}
	text, _ := m["access_token"].(string)
	if text == "" || !isHeaderValue(text) || !o.isBearer(m) || text == of.token {
		return nil, signInFault("the service returned no bearer token"+describeNoToken(resp, m, text), nil)
	}
	t := &token{text: text, expires: of.until}
	seconds, ok := value.Float(m["expires_in"])
	if s, isText := m["expires_in"].(string); isText {
		number, _ := value.ParseNumber(s)
		seconds, ok = value.Float(number)
	}
	if ok && seconds > 0 {
		lifetime := time.Duration(min(seconds, 366*24*3600) * float64(time.Second))
		t.expires = requested.Add(lifetime - min(lifetime/10, 10*time.Second))
		t.renew = requested.Add(lifetime - min(lifetime/4, time.Minute))
	}
	return t, nil
}

// describeNoToken returns what a response has in place of a bearer token, after "but"; empty if that is not known.
func describeNoToken(resp *nethttp.Response, m map[string]any, token string) string {
	kind, _ := m["token_type"].(string)
	coding := contentcoding.Unknown(resp.Header)
	mediaType, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch {
	case m != nil && token != "" && kind != "":
		return fmt.Sprintf(" but one of the type %q", cut.Runes(kind, 60))
	case m == nil && coding != "":
		return " but a body with " + unsupportedCoding(coding)
	case m == nil && err == nil:
		return " but " + cut.Runes(mediaType, 60)
	}
	return ""
}

// parseTokenResponse returns the members of a response to a token request: of JSON, or of a form, in which some token
// servers answer whatever Accept says. It returns nil for anything else.
func parseTokenResponse(raw []byte, contentType string) map[string]any {
	var declared *charset.Encoding
	if !utf8.Valid(raw) {
		declared, _ = charset.Find(charsetOf(contentType))
	}
	text, err := charset.Decode(raw, declared)
	if err != nil {
		return nil
	}
	v, _, err := value.DecodeLossy([]byte(text), nil)
	if err == nil {
		m, _ := v.(map[string]any)
		return m
	}
	form, err := url.ParseQuery(strings.TrimSpace(text))
	if err != nil || !form.Has("access_token") && !form.Has("error") {
		return nil
	}
	m := make(map[string]any, len(form))
	for name := range form {
		m[name] = form.Get(name)
	}
	return m
}

// tokenError returns the error of a response to a token request; empty if it has none.
func tokenError(response map[string]any) (code, description string) {
	switch e := response["error"].(type) {
	case string:
		description, _ = response["error_description"].(string)
		return e, description
	case int, bool: // a code of the token server; false and 0 are no errors
		if text := fmt.Sprint(e); text != "false" && text != "0" {
			code = "error " + text
		}
		description, _ = cmp.Or(response["error_description"], response["message"]).(string)
		return code, description
	case map[string]any: // as other parts of APIs have it
		code, _ = e["code"].(string)
		description, _ = e["message"].(string)
		return cmp.Or(code, "error"), description
	}
	return "", ""
}

// rejection returns the error for a token request that was rejected. It hides the secrets.
func (o *oauth2) rejection(resp *nethttp.Response, raw []byte, response map[string]any, secrets []string) error {
	redirect := describeRedirect(resp, 0, secrets)
	message := statusText(resp.StatusCode) + redirect
	code, description := tokenError(response)
	if code == "" && redirect == "" { // an answer of a proxy, or of a server with a form of its own
		description = excerpt(raw[:min(len(raw), maxExcerptBytes)], resp.Header.Get("Content-Type"), secrets)
	}
	if code != "" {
		message += ", " + code
	}
	if description != "" {
		message += ": " + description
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
	checks.Refuse(tokenURL != nil && hostname.IsReadable(tokenURL), &o.TokenURL,
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
	kind, _ := response["token_type"].(string) // some token servers leave it out
	kind = strings.TrimSpace(kind)
	bearer := kind == "" || strings.EqualFold(kind, "bearer")
	issued, _ := response["issued_token_type"].(string)
	switch {
	case !o.Exchange, issued == accessToken, issued == "":
		return bearer
	case issued == jwtToken:
		return bearer || o.RequestedType == jwtToken && strings.EqualFold(kind, "N_A")
	}
	return false
}
