package aws

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"hatchel/adapters/credential"
	"hatchel/internal/hostname"
)

// The variables of the environment that name credentials.
const (
	envKeyID         = "AWS_ACCESS_KEY_ID"
	envSecret        = "AWS_SECRET_ACCESS_KEY"
	envSessionToken  = "AWS_SESSION_TOKEN"
	envTokenFile     = "AWS_WEB_IDENTITY_TOKEN_FILE"
	envRoleARN       = "AWS_ROLE_ARN"
	envSessionName   = "AWS_ROLE_SESSION_NAME"
	envRelativeURI   = "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"
	envFullURI       = "AWS_CONTAINER_CREDENTIALS_FULL_URI"
	envContainerFile = "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"
	envContainerAuth = "AWS_CONTAINER_AUTHORIZATION_TOKEN"
	envNoInstance    = "AWS_EC2_METADATA_DISABLED"
)

// sources finds credentials on a machine.
type sources struct {
	cloud  *credential.Cloud
	region string // of the connection
	only   string // the argument source; empty for the first one that is configured
}

// source is a place where credentials come from. missing says that it is not configured, which is so without all of
// its variables.
type source struct {
	name      string
	missing   string
	variables []string
	fetch     func(*sources, context.Context) (Credentials, error)
}

// allSources lists the sources in the order in which they are tried.
var allSources = []source{
	{sourceEnv, envKeyID + " is not set", []string{envKeyID}, (*sources).fetchEnv},
	{sourceWebIdentity, "web identity is not configured", []string{envTokenFile}, (*sources).fetchWebIdentity},
	{
		sourceContainer, "no container agent is configured", []string{envRelativeURI, envFullURI},
		(*sources).fetchContainer,
	},
	{sourceInstance, "", nil, (*sources).fetchInstance},
}

// getenv returns a variable without the spaces around it, such as the line break of a file that it was read from.
func (s *sources) getenv(name string) string { return strings.TrimSpace(s.cloud.Getenv(name)) }

func (s *sources) isConfigured(of source) bool {
	for _, name := range of.variables {
		if s.getenv(name) != "" {
			return true
		}
	}
	return of.variables == nil
}

// fetch returns the credentials of the first source that is configured. It does not go on after one that fails.
func (s *sources) fetch(ctx context.Context) (c Credentials, life credential.Life, err error) {
	requested := time.Now()
	var missing []string
	for _, of := range allSources {
		switch {
		case s.only != "" && s.only != of.name:
		case !s.isConfigured(of) && s.only != "":
			err = fmt.Errorf("source is %q, and %s is not set", of.name, strings.Join(of.variables, " or "))
			return c, life, noCredential(nil, err)
		case !s.isConfigured(of):
			missing = append(missing, of.missing)
		default:
			if c, err = of.fetch(s, ctx); err != nil {
				return c, life, noCredential(missing, err)
			}
			c.Source = of.name
			return c, c.life(requested), nil
		}
	}
	return c, life, noCredential(missing, errors.New("none is configured")) // not reached: an instance always is
}

func noCredential(missing []string, err error) error {
	return fmt.Errorf("no AWS credential: %s%w", strings.Join(append(missing, ""), ", "), err)
}

// life returns how long the credentials are used. Their end is told by the clock of the service that gave them.
func (c Credentials) life(requested time.Time) credential.Life {
	if c.Expires.IsZero() {
		return credential.Life{}
	}
	return credential.NewLife(requested, c.Expires.Sub(c.served))
}

func (s *sources) fetchEnv(context.Context) (Credentials, error) {
	c := Credentials{KeyID: s.getenv(envKeyID), Secret: s.getenv(envSecret), Token: s.getenv(envSessionToken)}
	if c.Secret == "" {
		return c, fmt.Errorf("%s is set, and %s is not", envKeyID, envSecret)
	}
	return c, c.check("the environment")
}

// fetchWebIdentity exchanges the token of a file, which a cluster renews, at STS.
func (s *sources) fetchWebIdentity(ctx context.Context) (Credentials, error) {
	role := s.getenv(envRoleARN)
	if role == "" {
		return Credentials{}, fmt.Errorf("%s is set, and %s is not", envTokenFile, envRoleARN)
	}
	const what = "the token file of web identity"
	raw, err := credential.ReadFile(what, s.getenv(envTokenFile))
	if err != nil {
		return Credentials{}, err
	}
	token, err := credential.CheckToken(what+" "+s.getenv(envTokenFile), string(raw))
	if err != nil {
		return Credentials{}, err
	}
	name := cmp.Or(s.getenv(envSessionName), defaultSessionName)
	return s.sts().ask(ctx, nil, url.Values{
		"Action": {"AssumeRoleWithWebIdentity"}, "RoleArn": {role}, "RoleSessionName": {name},
		"WebIdentityToken": {token},
	})
}

// isPrintable reports whether a text has only printable characters of ASCII, which a header can have.
func isPrintable(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r < ' ' || r > '~' }) < 0
}

// metadataAnswer is the answer of a container agent and of the metadata of an instance.
type metadataAnswer struct {
	Code            string
	AccessKeyID     string `json:"AccessKeyId"`
	SecretAccessKey string
	Token           string
	Expiration      time.Time
}

// parseMetadata reads credentials in an answer.
func parseMetadata(a credential.Answer) (Credentials, error) {
	var m metadataAnswer
	err := json.Unmarshal(a.Body, &m)
	switch {
	case a.Status != http.StatusOK:
		return Credentials{}, a.Failure(errorCode(m.Code))
	case err != nil:
		return Credentials{}, fmt.Errorf("%s answered no credential", a.Of)
	case m.Code != "" && m.Code != "Success":
		text := a.Of + " answered no credential"
		if code := errorCode(m.Code); code != "" && !a.Quotes(code) {
			text += ": " + code
		}
		return Credentials{}, errors.New(text)
	}
	c := Credentials{
		KeyID: m.AccessKeyID, Secret: m.SecretAccessKey, Token: m.Token, Expires: m.Expiration, served: a.Served(),
	}
	return c, c.check(a.Of)
}

// check returns an error if the credentials cannot sign a request.
func (c Credentials) check(of string) error {
	switch {
	case c.KeyID == "" || c.Secret == "":
		return fmt.Errorf("%s answered no credential", of)
	case !isPrintable(c.KeyID+c.Secret+c.Token) || strings.ContainsAny(c.KeyID, " /,"):
		return fmt.Errorf("the credential of %s has characters that no AWS credential has", of)
	}
	return nil
}

// fetchContainer asks the agent of ECS, of EKS Pod Identity, or another one on the machine.
func (s *sources) fetchContainer(ctx context.Context) (Credentials, error) {
	address, err := s.containerAddress()
	if err != nil {
		return Credentials{}, err
	}
	header := http.Header{"Accept": {"application/json"}}
	token, of := s.getenv(envContainerAuth), envContainerAuth
	if file := s.getenv(envContainerFile); file != "" {
		raw, err := credential.ReadFile("the token file of the container agent", file)
		if err != nil {
			return Credentials{}, err
		}
		token, of = string(raw), envContainerFile
	}
	if !isPrintable(token) {
		return Credentials{}, fmt.Errorf("%s has a token that no header can have", of)
	}
	if token != "" {
		header["Authorization"] = []string{token}
	}
	a, err := s.cloud.Metadata.Ask(ctx, credential.Question{Of: "the container agent", URL: address, Header: header})
	if err != nil {
		return Credentials{}, err
	}
	return parseMetadata(a)
}

const ecsAgent = "http://169.254.170.2"

// agents are the addresses of container agents that may be asked without TLS, beside those of the machine itself.
var agents = []netip.Addr{
	netip.MustParseAddr("169.254.170.2"), netip.MustParseAddr("169.254.170.23"), netip.MustParseAddr("fd00:ec2::23"),
}

// containerAddress returns the URL of the container agent. Without TLS it is one that is on the machine.
func (s *sources) containerAddress() (string, error) {
	if path := s.getenv(envRelativeURI); path != "" {
		u, err := url.Parse(ecsAgent + path)
		if err != nil || !strings.HasPrefix(path, "/") {
			return "", fmt.Errorf("%s is not a path that begins with /", envRelativeURI)
		}
		return u.String(), nil
	}
	u, err := url.Parse(s.getenv(envFullURI))
	if err != nil || u.Host == "" || u.User != nil || u.Scheme != "http" && u.Scheme != "https" {
		return "", fmt.Errorf("%s is not a URL of http or https", envFullURI)
	}
	if u.Scheme == "https" {
		return u.String(), nil
	}
	if strings.EqualFold(u.Hostname(), "localhost") { // a name that a resolver could answer with another machine
		u.Host = "127.0.0.1:" + hostname.Port(u)
	}
	ip, err := netip.ParseAddr(u.Hostname())
	if err == nil && ip.Unmap().IsLoopback() {
		return u.String(), nil
	}
	for _, agent := range agents {
		if err == nil && ip == agent {
			return u.String(), nil
		}
	}
	const text = "%s names another machine without TLS: accepted are https, loopback addresses, 169.254.170.2, " +
		"169.254.170.23 and fd00:ec2::23"
	return "", fmt.Errorf(text, envFullURI)
}

const (
	instanceMetadata = "http://169.254.169.254/latest/"
	instanceRoles    = instanceMetadata + "meta-data/iam/security-credentials/"
	hopLimitHint     = " (in a container its hop limit may be 1)"
)

// minInstanceLife is how long a credential of an instance is used, even if its end is over. While the metadata cannot
// renew it, it gives the last one, which services go on accepting then.
const minInstanceLife = 5 * time.Minute

// fetchInstance asks the metadata of an EC2 instance, with a session token (IMDSv2).
func (s *sources) fetchInstance(ctx context.Context) (Credentials, error) {
	if strings.EqualFold(s.getenv(envNoInstance), "true") {
		return Credentials{}, fmt.Errorf("the instance metadata is not asked, because %s is true", envNoInstance)
	}
	ask := func(method, address string, header http.Header) (credential.Answer, error) {
		q := credential.Question{Of: "the instance metadata", Method: method, URL: address, Header: header}
		return s.cloud.Metadata.Ask(ctx, q)
	}
	lifetime := http.Header{"X-Aws-Ec2-Metadata-Token-Ttl-Seconds": {"60"}}
	a, err := ask(http.MethodPut, instanceMetadata+"api/token", lifetime)
	if err != nil {
		return Credentials{}, fmt.Errorf("%w%s", err, hopLimitHint)
	}
	token := string(a.Body)
	if a.Status != http.StatusOK || token == "" || !isPrintable(token) {
		return Credentials{}, fmt.Errorf("%w for a session token, which IMDSv2 has", a.Failure())
	}
	header := http.Header{"X-Aws-Ec2-Metadata-Token": {token}}
	if a, err = ask(http.MethodGet, instanceRoles, header); err != nil {
		return Credentials{}, err
	}
	role, _, _ := strings.Cut(strings.TrimSpace(string(a.Body)), "\n")
	switch {
	case a.Status == http.StatusNotFound || a.Status == http.StatusOK && role == "":
		return Credentials{}, errors.New("the instance has no role")
	case a.Status != http.StatusOK:
		return Credentials{}, a.Failure()
	}
	if a, err = ask(http.MethodGet, instanceRoles+url.PathEscape(strings.TrimSpace(role)), header); err != nil {
		return Credentials{}, err
	}
	c, err := parseMetadata(a)
	if end := a.Served().Add(minInstanceLife); err == nil && c.Expires.Before(end) {
		c.Expires = end
	}
	return c, err
}
