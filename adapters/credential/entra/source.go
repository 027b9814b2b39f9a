package entra

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"hatchel/adapters"
	"hatchel/adapters/credential"
)

// The clouds of Microsoft.
const (
	cloudPublic       = "public"
	cloudUSGovernment = "usgovernment"
	cloudChina        = "china"
)

// Cloud has the addresses of a cloud of Microsoft.
type Cloud struct {
	authority string // the host of its token service
	databases string // the resource of Azure Database for PostgreSQL and MySQL
	// issuers are the hosts in the issuers of its tokens: of version 2.0, and of version 1.0.
	issuers [2]string
}

var clouds = map[string]Cloud{
	cloudPublic: {"login.microsoftonline.com", "https://ossrdbms-aad.database.windows.net",
		[2]string{"login.microsoftonline.com", "sts.windows.net"}},
	cloudUSGovernment: {"login.microsoftonline.us", "https://ossrdbms-aad.database.usgovcloudapi.net",
		[2]string{"login.microsoftonline.us", "sts.windows.net"}},
	cloudChina: {"login.chinacloudapi.cn", "https://ossrdbms-aad.database.chinacloudapi.cn",
		[2]string{"login.partner.microsoftonline.cn", "sts.chinacloudapi.cn"}},
}

// authorityClouds are the hosts that AZURE_AUTHORITY_HOST may name.
var authorityClouds = map[string]string{
	"login.microsoftonline.com":        cloudPublic,
	"login.windows.net":                cloudPublic,
	"login.microsoft.com":              cloudPublic,
	"login.microsoftonline.us":         cloudUSGovernment,
	"login.chinacloudapi.cn":           cloudChina,
	"login.partner.microsoftonline.cn": cloudChina,
}

// Variables of the environment. AKS sets the first four, and App Service, Functions and Container Apps the others.
const (
	tokenFileVariable = "AZURE_FEDERATED_TOKEN_FILE"
	tenantVariable    = "AZURE_TENANT_ID"
	clientVariable    = "AZURE_CLIENT_ID"
	authorityVariable = "AZURE_AUTHORITY_HOST"

	endpointVariable   = "IDENTITY_ENDPOINT"
	headerVariable     = "IDENTITY_HEADER"
	thumbprintVariable = "IDENTITY_SERVER_THUMBPRINT"
)

// Source has the access token of one declaration. It may be used concurrently.
type Source struct {
	*credential.TokenSource
	signer
	resource func(Cloud) string
}

// signer has what an application signs in with, of one declaration.
type signer struct {
	cloud    *credential.Cloud
	identity Identity
	key      *credential.ClientKey // nil without key
	dir      string
}

func newSigner(cloud *credential.Cloud, identity *Identity, env adapters.Env) (signer, error) {
	key, err := identity.openKey(env)
	return signer{cloud: cloud, identity: *identity, key: key, dir: env.Dir}, err
}

// NewSource returns a source of tokens for a resource, which may differ between clouds. It asks nobody, and reads no
// token, before one is needed. Its error is for the author.
func NewSource(
	fetches *credential.Fetches, cloud *credential.Cloud, identity *Identity, env adapters.Env,
	resource func(Cloud) string,
) (*Source, error) {
	by, err := newSigner(cloud, identity, env)
	if err != nil {
		return nil, err
	}
	s := &Source{signer: by, resource: resource}
	s.TokenSource = credential.NewTokenSource(fetches, s.ask)
	return s, nil
}

// Databases returns the resource of Azure Database for PostgreSQL and MySQL. A token for it is a password of them.
func Databases(c Cloud) string { return c.databases }

func (s *Source) ask(ctx context.Context) (token credential.Token, lifetime time.Duration, err error) {
	p, err := s.provider()
	if err != nil {
		return token, 0, err
	}
	a, err := p.ask(ctx, s.cloud)
	if err != nil {
		return token, 0, err
	}
	token.Identity = p.identity()
	token.Text, lifetime, err = parseToken(a)
	return token, lifetime, err
}

// provider is a place that tokens come from.
type provider interface {
	ask(ctx context.Context, c *credential.Cloud) (credential.Answer, error)
	identity() string
}

// provider returns the place that is configured first: in the block, by the token file of the environment, by the
// endpoint of App Service, or else the instance metadata. One that fails is an error, and not a reason to ask the next
// one, whose identity may be another.
func (s *Source) provider() (provider, error) {
	cloud, err := s.cloudOf()
	if err != nil {
		return nil, err
	}
	resource := s.resource(cloud)
	app, err := s.application(cloud)
	if app != nil || err != nil {
		return clientCredentials{app, resource + "/.default"}, err
	}
	getenv := s.cloud.Getenv
	clientID := cmp.Or(s.identity.ClientID, getenv(clientVariable))
	if getenv(endpointVariable) != "" {
		return newServiceIdentity(getenv, resource, clientID)
	}
	return instanceIdentity{resource, clientID}, nil
}

// application returns the application that is configured: in the block, or by the token file of the environment; nil if
// there is none.
func (s *signer) application(cloud Cloud) (*application, error) {
	getenv, i := s.cloud.Getenv, s.identity
	app := &application{host: cloud.authority, tenant: i.Tenant, client: i.ClientID}
	switch {
	case i.ClientSecret.Reveal() != "":
		app.secret, app.by = i.ClientSecret.Reveal(), "client secret"
	case s.key != nil:
		app.key, app.by = s.key, "key"
	case i.AssertionFile != "":
		app.file, app.fileName = adapters.Absolute(s.dir, i.AssertionFile), "assertion_file"
		app.by = "assertion file"
	case getenv(tokenFileVariable) != "":
		app.file, app.fileName = getenv(tokenFileVariable), "the file of "+tokenFileVariable
		app.by = "workload identity"
		app.tenant = cmp.Or(i.Tenant, getenv(tenantVariable))
		app.client = cmp.Or(i.ClientID, getenv(clientVariable))
		return app, app.check()
	default:
		return nil, nil
	}
	return app, nil
}

// cloudOf returns the cloud that the block or the environment names.
func (s *signer) cloudOf() (Cloud, error) {
	name, address := s.identity.Cloud, s.cloud.Getenv(authorityVariable)
	if name == "" && address != "" {
		u, err := url.Parse(address)
		plain := err == nil && *u == (url.URL{Scheme: "https", Host: u.Host, Path: u.Path})
		if plain && strings.Trim(u.Path, "/") == "" {
			name = authorityClouds[u.Host]
		}
		if name == "" {
			return Cloud{}, fmt.Errorf("%s is not the address of a cloud of Microsoft, and no credential is sent "+
				"elsewhere: %s", authorityVariable, authorityList())
		}
	}
	return clouds[cmp.Or(name, cloudPublic)], nil
}

func authorityList() string {
	var all []string
	for host := range authorityClouds {
		all = append(all, "https://"+host)
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// tokenResponse is a response to a token request (RFC 6749, section 5), and of managed identities. Some numbers of the
// latter are texts, which json.Number takes, too.
type tokenResponse struct {
	AccessToken string      `json:"access_token"`
	TokenType   string      `json:"token_type"`
	ExpiresIn   json.Number `json:"expires_in"`
	ExpiresOn   json.Number `json:"expires_on"` // seconds since 1970
}

// parseToken returns the token of an answer.
func parseToken(a credential.Answer) (token string, lifetime time.Duration, err error) {
	var r tokenResponse
	if err := json.Unmarshal(a.Body, &r); err != nil {
		return "", 0, fmt.Errorf("%s answered something else than a JSON object with a token", a.Of)
	}
	seconds, err := r.ExpiresIn.Float64()
	if err != nil {
		var until float64
		until, err = r.ExpiresOn.Float64()
		seconds = until - float64(a.Served().Unix())
	}
	switch {
	case !credential.IsToken(r.AccessToken):
		return "", 0, fmt.Errorf("%s answered without an access_token", a.Of)
	case !strings.EqualFold(r.TokenType, "Bearer"):
		return "", 0, fmt.Errorf("%s answered a token of another type than Bearer", a.Of)
	case err != nil || seconds <= 0:
		return "", 0, fmt.Errorf("%s answered a token without its end, or one that has expired", a.Of)
	}
	return r.AccessToken, credential.Seconds(seconds), nil
}

// application signs in with its own credential.
type application struct {
	host, tenant, client string

	// It has one of the three.
	secret         string
	key            *credential.ClientKey
	file, fileName string // has an assertion

	by string // describes the credential
}

func (a *application) identity() string { return fmt.Sprintf("application %s (%s)", a.client, a.by) }

// check returns what is wrong with what the environment says of the application.
func (a *application) check() error {
	switch {
	case a.tenant == "":
		return fmt.Errorf("%s is set, and neither %s nor tenant of the block", tokenFileVariable, tenantVariable)
	case !isTenant(a.tenant):
		return fmt.Errorf("%s is neither the id of a tenant nor one of its domains", tenantVariable)
	case a.client == "":
		return fmt.Errorf("%s is set, and neither %s nor client_id of the block", tokenFileVariable, clientVariable)
	}
	return nil
}

// clientCredentials are the tokens that an application has for itself (RFC 6749, section 4.4).
type clientCredentials struct {
	*application
	scope string
}

// ask implements provider.
func (c clientCredentials) ask(ctx context.Context, cloud *credential.Cloud) (credential.Answer, error) {
	answer, err := c.request(ctx, cloud, url.Values{"grant_type": {"client_credentials"}, "scope": {c.scope}})
	if err == nil && answer.Status != http.StatusOK {
		err = answer.Failure(parseError(answer.Body).describe()...)
	}
	return answer, err
}

// request asks the token service with a form, to which it adds the application and its credential: a secret or an
// assertion (RFC 7523).
func (a *application) request(
	ctx context.Context, c *credential.Cloud, form url.Values,
) (answer credential.Answer, err error) {
	address := "https://" + a.host + "/" + a.tenant + "/oauth2/v2.0/token"
	form.Set("client_id", a.client)
	if a.secret != "" {
		form.Set("client_secret", a.secret)
	} else {
		assertion, err := a.assertion(address)
		if err != nil {
			return answer, err
		}
		form.Set("client_assertion", assertion)
		form.Set("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
	}
	return c.Services.Ask(ctx, credential.NewForm("the token service of Microsoft Entra", address, form))
}

// assertion returns one about the application, for the address of a token service. A file is read each time, because
// the issuer replaces it.
func (a *application) assertion(address string) (string, error) {
	if a.key != nil {
		return a.key.Assertion(a.client, address, time.Now())
	}
	raw, err := credential.ReadFile(a.fileName, a.file)
	if err != nil {
		return "", err
	}
	return credential.CheckToken(a.fileName+" "+a.file, string(raw))
}

// errorCodes are those of RFC 6749 and OpenID Connect that an error may show. Other texts of an answer are not shown.
var errorCodes = strings.Fields(`invalid_request invalid_client invalid_grant unauthorized_client invalid_scope
	unsupported_grant_type invalid_resource access_denied temporarily_unavailable interaction_required
	consent_required login_required`)

// errorReasons are the reasons of the numbers of errors that a wrong configuration has, and of those that people have
// on whose behalf a token is requested.
var errorReasons = map[int]string{
	70021:   "no federated credential of the application matches issuer, subject and audience of the assertion",
	700016:  "the tenant has no application with this client_id",
	700024:  "the assertion is not valid now",
	700027:  "the application does not know the key of the assertion",
	700211:  "no federated credential of the application matches the issuer of the assertion",
	700212:  "no federated credential of the application matches the audience of the assertion",
	700213:  "no federated credential of the application matches the subject of the assertion",
	7000215: "the client secret is wrong",
	7000222: "the client secret has expired",
	90002:   "the tenant does not exist",
	900023:  "the tenant does not exist",
	500011:  "the tenant does not know the resource",
	50013:   notForApplication,
	500131:  notForApplication,
	240002:  "the caller's token is an ID token; " + wantsAccessToken,
	65001:   needsConsent,
	65004:   "the person has refused the permissions of scope",
	90094:   needsConsent,
	90095:   needsConsent,
	50105:   "the person is not assigned to the application",
	50076:   needsPerson,
	50079:   needsPerson,
	50158:   needsPerson,
	53000:   needsPerson,
	53003:   needsPerson,
}

const (
	wantsAccessToken = "the audience of jwt must be the application of client_id, and scopes of sign_in need one of " +
		"its own, such as api://CLIENT-ID/access_as_user"
	notForApplication = "the caller's token is for another application; " + wantsAccessToken
	needsConsent      = "nobody has consented to the permissions of scope for this application; an administrator " +
		"can, in API permissions of the application"
	needsPerson = "a policy of the tenant requires more of this person than the sign-in had, such as a second factor " +
		"or a known device"
)

// kindReasons are the reasons of errors and suberrors of all numbers: those of policies that only a person can satisfy,
// and of missing consent.
var kindReasons = map[string]string{
	"interaction_required": needsPerson,
	"basic_action":         needsPerson,
	"additional_action":    needsPerson,
	"consent_required":     needsConsent,
}

// tokenError is an error of Entra.
type tokenError struct {
	Error    string `json:"error"`
	Suberror string `json:"suberror"`
	Codes    []int  `json:"error_codes"`
}

// parseError returns the error that an answer has; zero if it has none.
func parseError(body []byte) (e tokenError) {
	_ = json.Unmarshal(body, &e) // what is no JSON has no codes
	return e
}

// number returns the number in AADSTS codes; 0 if there is none.
func (e tokenError) number() int {
	if len(e.Codes) > 0 && e.Codes[0] > 0 && e.Codes[0] < 1e8 {
		return e.Codes[0]
	}
	return 0
}

// describe returns the codes of the error, for people.
func (e tokenError) describe() (codes []string) {
	if slices.Contains(errorCodes, e.Error) {
		codes = append(codes, e.Error)
	}
	if n := e.number(); n > 0 {
		code := fmt.Sprintf("AADSTS%d", n)
		if reason := cmp.Or(errorReasons[n], kindReasons[e.Error], kindReasons[e.Suberror]); reason != "" {
			code += ": " + reason
		}
		codes = append(codes, code)
	}
	return codes
}

// instanceIdentity is the managed identity of a virtual machine.
type instanceIdentity struct{ resource, client string }

const (
	instanceName = "the instance metadata"
	instanceURL  = "http://169.254.169.254/metadata/identity/oauth2/token"
)

func (i instanceIdentity) identity() string { return describeManaged(i.client, "instance metadata") }

func describeManaged(client, by string) string {
	return strings.TrimSpace("managed identity "+client) + " (" + by + ")"
}

func (i instanceIdentity) ask(ctx context.Context, c *credential.Cloud) (credential.Answer, error) {
	query := url.Values{"api-version": {"2018-02-01"}, "resource": {i.resource}}
	if i.client != "" {
		query.Set("client_id", i.client)
	}
	a, err := askManaged(ctx, c, credential.Question{
		Of: instanceName, URL: instanceURL + "?" + query.Encode(), Header: http.Header{"Metadata": {"true"}},
	})
	if err != nil {
		err = fmt.Errorf("no Entra credential: the block has none, %s and %s are not set, %w", tokenFileVariable,
			endpointVariable, err)
	}
	return a, err
}

func askManaged(ctx context.Context, c *credential.Cloud, q credential.Question) (credential.Answer, error) {
	a, err := c.Metadata.Ask(ctx, q)
	switch {
	case err != nil:
	case a.Status == http.StatusBadRequest:
		err = a.Failure("there is no managed identity, or not that of client_id, or there are several and client_id " +
			"is not set")
	case a.Status != http.StatusOK:
		err = a.Failure()
	}
	return a, err
}

// serviceIdentity is the managed identity of App Service, Functions and Container Apps.
type serviceIdentity struct {
	endpoint, header string
	resource, client string
}

func newServiceIdentity(getenv func(string) string, resource, client string) (provider, error) {
	s := serviceIdentity{getenv(endpointVariable), getenv(headerVariable), resource, client}
	switch {
	case getenv(thumbprintVariable) != "":
		return nil, fmt.Errorf("%s is set, as by Service Fabric, which is not supported", thumbprintVariable)
	case s.header == "":
		return nil, fmt.Errorf("%s is set without %s, as by Azure Arc, which is not supported", endpointVariable,
			headerVariable)
	case !isServiceEndpoint(s.endpoint) || !credential.IsToken(s.header):
		return nil, errors.New(endpointVariable + " is not an address of this machine, such as " +
			"http://localhost:42356/msi/token, and its credential is sent nowhere else")
	}
	return s, nil
}

func (s serviceIdentity) identity() string { return describeManaged(s.client, "App Service") }

func (s serviceIdentity) ask(ctx context.Context, c *credential.Cloud) (credential.Answer, error) {
	query := url.Values{"api-version": {"2019-08-01"}, "resource": {s.resource}}
	if s.client != "" {
		query.Set("client_id", s.client)
	}
	return askManaged(ctx, c, credential.Question{
		Of: "the endpoint of " + endpointVariable, URL: s.endpoint + "?" + query.Encode(),
		Header: http.Header{"X-Identity-Header": {s.header}},
	})
}

// isServiceEndpoint reports whether a service of this machine or of its own network is at an address, as the sidecars
// of App Service are.
func isServiceEndpoint(text string) bool {
	u, err := url.Parse(text)
	if err != nil || *u != (url.URL{Scheme: "http", Host: u.Host, Path: u.Path}) {
		return false
	}
	ip, err := netip.ParseAddr(u.Hostname())
	if err != nil {
		return u.Hostname() == "localhost"
	}
	return ip.Zone() == "" && (ip.IsLoopback() || ip.IsPrivate() || ip.IsLinkLocalUnicast())
}
