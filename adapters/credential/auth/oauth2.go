package auth

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"hatchel/adapters"
	"hatchel/adapters/credential"
	"hatchel/adapters/scrub"
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
	TokenURL string
	Client   hcl.ClientAuth
	Scopes   []string
	Params   *hcl.KeyValues

	Exchange      bool
	Audience      string
	Resource      string
	SubjectType   string
	RequestedType string
}

// maxSeconds is the longest lifetime of a token that is believed.
const maxSeconds = 366 * 24 * 3600

func (o *oauth2) spec() hcl.Spec {
	return hcl.Join(hcl.Spec{
		hcl.Attr(&o.TokenURL, "token_url", "The token endpoint.").Require(),
	}, o.Client.Spec("the value of token_url"), hcl.Spec{
		hcl.Attr(&o.Scopes, "scopes", "The requested scopes."),
		hcl.Attr(&o.Params, "params", "Additional fields of the token request, such as "+
			`{ audience = "https://api.example" }.`).AllowSecret().FixedKeys(),
		hcl.Attr(&o.Exchange, "exchange", "true makes requests on behalf of the caller: the caller's token is "+
			"exchanged for one of the service (RFC 8693) and is sent to token_url only. Requires auth { jwt } or "+
			"auth { sign_in }."),
		hcl.Attr(&o.Audience, "audience", "With exchange: the name of the service that the token is for."),
		hcl.Attr(&o.Resource, "resource", "With exchange: the URL of the service that the token is for."),
		hcl.Attr(&o.SubjectType, "subject_token_type",
			"With exchange: the type of the caller's token.").DefaultDoc(`"` + accessToken + `"`),
		hcl.Attr(&o.RequestedType, "requested_token_type", `With exchange: the requested type, "`+accessToken+
			`" or "`+jwtToken+`".`).DefaultDoc("the choice of the token server"),
	})
}

func (o *oauth2) check(checks *adapters.Checks) {
	u, problem := hostname.ParseURL(o.TokenURL, hostname.Query|hostname.Fragment)
	checks.Refuse(u == nil, &o.TokenURL, `token_url must be a URL such as "https://login.example/oauth2/token": %s.`,
		problem)
	o.Client.Check(checks)
	o.checkExchange(checks, u)
	o.checkParams(checks)
}

// newRequest returns a token request of a client.
func (o *oauth2) newRequest(
	ctx context.Context, client *credential.OAuthClient, dir string, of subject,
) (*TokenRequest, error) {
	form := o.newForm(of)
	if len(o.Scopes) > 0 {
		form.Set("scope", strings.Join(o.Scopes, " "))
	}
	params, err := o.Params.Eval(hcl.NewFrame(ctx, dir, time.Now))
	if err != nil {
		return nil, signInFault(err.Error(), err)
	}
	for _, p := range params {
		texts, err := adapters.Texts(p.Value)
		if err != nil {
			return nil, signInFault(fmt.Sprintf("%s %v", p.Name, err), err)
		}
		form[p.Name] = texts
	}
	header := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "Accept": {"application/json"}}
	secrets, err := client.Authenticate(form, header, o.TokenURL)
	if err != nil {
		return nil, signInFault(err.Error(), err)
	}
	secrets = append(secrets, of.Token)
	return &TokenRequest{URL: o.TokenURL, Header: header, Body: []byte(form.Encode()), Secrets: secrets}, nil
}

// parseResponse reads the response to a token request that had secrets. requested is when the request was sent. Every
// status of success is one, because some token servers answer 201; an error is one with every status, because some
// answer it with 200.
func (o *oauth2) parseResponse(
	resp *TokenResponse, secrets []string, requested time.Time, of subject,
) (token string, life credential.Life, err error) {
	m := parseTokenResponse(resp.Body, resp.Header.Get("Content-Type"))
	code, _ := tokenError(m)
	if code != "" || resp.Status/100 != 2 {
		return "", life, o.rejection(resp, m, requested, secrets)
	}
	text, _ := m["access_token"].(string)
	if text == "" || !adapters.IsHeaderValue(text) || !o.isBearer(m) || text == of.Token {
		reason := scrub.New(append(secrets, text)).Text(describeNoToken(resp, m, text))
		return "", life, signInFault("the service returned no bearer token"+reason, nil)
	}
	life.Expires = of.until
	seconds, ok := value.Float(m["expires_in"])
	if s, isText := m["expires_in"].(string); isText {
		number, _ := value.ParseNumber(s)
		seconds, ok = value.Float(number)
	}
	if ok && seconds > 0 {
		life = credential.NewLife(requested, time.Duration(min(seconds, maxSeconds)*float64(time.Second)))
	}
	return text, life, nil
}

// describeNoToken returns what a response has in place of a bearer token, after "but"; empty if that is not known.
func describeNoToken(resp *TokenResponse, m map[string]any, token string) string {
	kind, _ := m["token_type"].(string)
	coding := contentcoding.Unknown(resp.Header)
	mediaType, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch {
	case m != nil && token != "" && kind != "":
		return fmt.Sprintf(" but one of the type %q", cut.Runes(kind, 60))
	case m == nil && coding != "":
		return " but a body with " + contentcoding.Unsupported(coding)
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
		declared, _ = charset.Find(charset.OfContentType(contentType))
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
func (o *oauth2) rejection(
	resp *TokenResponse, response map[string]any, requested time.Time, secrets []string,
) error {
	message := adapters.StatusText(resp.Status) + resp.Redirect
	code, description := tokenError(response)
	if code == "" && resp.Redirect == "" { // an answer of a proxy, or of a server with a form of its own
		head := resp.Body[:min(len(resp.Body), adapters.MaxExcerptBytes)]
		description = adapters.Excerpt(head, resp.Header.Get("Content-Type"), secrets)
	}
	if code != "" {
		message += ", " + code
	}
	if description != "" {
		message += ": " + description
	}
	message = scrub.New(secrets).Text(adapters.Excerpt([]byte(message), "", secrets))
	if served, err := http.ParseTime(resp.Header.Get("Date")); err == nil && o.Client.HasAssertion() {
		if skew := credential.DescribeSkew(requested, served); skew != "" {
			message += "; " + skew
		}
	}
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
	credential.Caller
	until time.Time // the token is valid
}

// subjectOf returns on whose behalf a call needs a token.
func (o *oauth2) subjectOf(ctx context.Context, call *adapters.Call) (s subject, err error) {
	if !o.Exchange {
		return s, nil
	}
	return callerOf(ctx, call)
}

// callerOf returns the caller of a call with their token. It fails if there is none, or if it has expired since.
func callerOf(ctx context.Context, call *adapters.Call) (s subject, err error) {
	if call.Token == nil {
		return s, &adapters.Fault{Message: msgNoToken, NotSent: true}
	}
	s.Owner = call.Owner
	s.Token, s.until, err = call.Token(ctx)
	if err != nil {
		return s, &adapters.Fault{Message: err.Error(), NotSent: true}
	}
	if !time.Now().Before(s.until) {
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
}

// checkParams refuses params that set a field of an exchange, or of a client with an assertion, a second time.
func (o *oauth2) checkParams(checks *adapters.Checks) {
	var fields []string
	what := "token request"
	if o.Client.HasAssertion() || o.Exchange {
		fields = o.Client.FormFields()
	}
	if o.Exchange {
		what = "exchange"
		fields = append(fields, exchangeFields...)
	}
	if o.Audience != "" {
		fields = append(fields, "audience")
	}
	if o.Resource != "" {
		fields = append(fields, "resource")
	}
	for _, name := range o.Params.Names() {
		checks.Refuse(slices.Contains(fields, name), &o.Params, "The field %s of the %s already has a value.", name,
			what)
	}
}

// exchangeFields are the fields of an exchange that params cannot set.
var exchangeFields = []string{
	"grant_type", "subject_token", "subject_token_type", "requested_token_type", "scope",
}

// newForm returns the form of a token request with its grant.
func (o *oauth2) newForm(of subject) url.Values {
	if !o.Exchange {
		return url.Values{"grant_type": {"client_credentials"}}
	}
	form := url.Values{
		"grant_type": {exchangeGrant}, "subject_token": {of.Token}, "subject_token_type": {accessToken},
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
