package google

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
	"hatchel/internal/lazyregexp"
)

// federation is a file of workload identity federation: where a token of another issuer is found, where it is exchanged
// (RFC 8693), and the service account that the result may act as.
type federation struct {
	Audience         string `json:"audience"`
	SubjectTokenType string `json:"subject_token_type"`
	TokenURL         string `json:"token_url"`
	ImpersonationURL string `json:"service_account_impersonation_url"`
	Impersonation    struct {
		Lifetime int `json:"token_lifetime_seconds"`
	} `json:"service_account_impersonation"`
	Source subjectSource `json:"credential_source"`

	WorkforceProject string `json:"workforce_pool_user_project"`
	ClientID         string `json:"client_id"`
}

// subjectSource is where the token of the other issuer is found.
type subjectSource struct {
	File    string            `json:"file"`
	URL     string            `json:"url"`
	Headers map[string]string `json:"headers"`
	Format  struct {
		Type  string `json:"type"`
		Field string `json:"subject_token_field_name"`
	} `json:"format"`

	EnvironmentID string          `json:"environment_id"`
	Executable    json.RawMessage `json:"executable"`
	Certificate   json.RawMessage `json:"certificate"`
}

// A subject token and what it is exchanged for are sent to these addresses of Google only: the global ones, those of
// regions, and those of Private Service Connect. The path of the second one names the service account.
var (
	exchangeURL    = lazyregexp.New(`^https://sts(\.[a-z0-9-]+\.rep|-[a-z0-9-]+\.p)?\.googleapis\.com/v1/token$`)
	impersonateURL = lazyregexp.New(`^https://iamcredentials(\.[a-z0-9-]+\.rep|-[a-z0-9-]+\.p)?\.googleapis\.com` +
		`/v1/projects/-/serviceAccounts/([a-zA-Z0-9@._:-]+):generateAccessToken$`)
)

// runnerDomain has the services that issue tokens to jobs of GitHub Actions.
const runnerDomain = ".actions.githubusercontent.com"

const asFile = "; write the token of the workload to a file, and name that as credential_source.file"

func (f federation) parse() (provider, error) {
	source := f.Source
	switch {
	case f.WorkforceProject != "" || f.ClientID != "" || strings.Contains(f.Audience, "/workforcePools/"):
		return nil, errors.New("it is of workforce identity federation, which signs in people; workload identity " +
			"federation is supported")
	case len(source.Executable) > 0:
		return nil, errors.New("its credential_source is a program, and no program is run" + asFile)
	case len(source.Certificate) > 0:
		return nil, errors.New("its credential_source is a certificate, which is not supported" + asFile)
	case source.EnvironmentID != "" || strings.HasPrefix(f.SubjectTokenType, "urn:ietf:params:aws:"):
		return nil, errors.New("its credential_source is AWS, which is not supported" + asFile)
	case (source.File == "") == (source.URL == ""):
		return nil, errors.New("its credential_source must have either file or url")
	case source.URL != "" && !isSubjectURL(source.URL):
		return nil, errors.New("its credential_source.url is neither http at a metadata address (169.254.0.0/16, " +
			"fd00::/8 or loopback) nor https at " + runnerDomain[1:] + asFile)
	case source.Format.Type != "" && source.Format.Type != "text" && source.Format.Type != "json":
		return nil, errors.New("its credential_source.format.type is neither text nor json")
	case source.Format.Type == "json" && source.Format.Field == "":
		return nil, errors.New("its credential_source.format has no subject_token_field_name")
	case f.Audience == "" || f.SubjectTokenType == "":
		return nil, errors.New("it has no audience, or no subject_token_type")
	case !exchangeURL.MatchString(f.TokenURL):
		return nil, errors.New("its token_url is not https://sts.googleapis.com/v1/token, and the token of the " +
			"workload is sent nowhere else")
	case f.ImpersonationURL != "" && !impersonateURL.MatchString(f.ImpersonationURL):
		return nil, errors.New("its service_account_impersonation_url is not https://iamcredentials.googleapis.com/" +
			"v1/projects/-/serviceAccounts/EMAIL:generateAccessToken, and the token is sent nowhere else")
	}
	return f, nil
}

// isSubjectURL reports whether a subject token may be asked for at an address.
func isSubjectURL(text string) bool {
	u, err := url.Parse(text)
	if err != nil || u.User != nil || u.Fragment != "" {
		return false
	}
	if u.Scheme == "https" {
		return strings.HasSuffix(u.Hostname(), runnerDomain) && (u.Port() == "" || u.Port() == "443")
	}
	return u.Scheme == "http" && isMetadataHost(u.Hostname())
}

// uniqueLocal are the addresses of IPv6 that metadata services have.
var uniqueLocal = netip.MustParsePrefix("fd00::/8")

func isMetadataHost(host string) bool {
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return host == "localhost"
	}
	return ip.Zone() == "" && (ip.IsLoopback() || ip.Is4() && ip.IsLinkLocalUnicast() || uniqueLocal.Contains(ip))
}

func (f federation) identity() string {
	if f.ImpersonationURL != "" {
		groups := impersonateURL.FindStringSubmatch(f.ImpersonationURL)
		return groups[len(groups)-1] + " (workload identity federation)"
	}
	return strings.TrimPrefix(f.Audience, "//iam.googleapis.com/") + " (workload identity federation)"
}

// cloudPlatform is the scope of a token that may ask for one of a service account, whose scopes are then the wanted
// ones.
const cloudPlatform = "https://www.googleapis.com/auth/cloud-platform"

func (f federation) accessToken(ctx context.Context, c *credential.Cloud, scopes []string) (t token, err error) {
	if f.ImpersonationURL == "" {
		return f.exchange(ctx, c, scopes)
	}
	own, err := f.exchange(ctx, c, []string{cloudPlatform})
	if err != nil {
		return t, err
	}
	return f.impersonate(ctx, c, own.text, scopes)
}

// exchange exchanges the token of the workload for an access token of Google.
func (f federation) exchange(ctx context.Context, c *credential.Cloud, scopes []string) (t token, err error) {
	subject, err := f.Source.token(ctx, c)
	if err != nil {
		return t, err
	}
	a, err := c.Services.Ask(ctx, credential.NewForm("the security token service of Google", f.TokenURL, url.Values{
		"grant_type":           {"urn:ietf:params:oauth:grant-type:token-exchange"},
		"audience":             {f.Audience},
		"scope":                {strings.Join(scopes, " ")},
		"requested_token_type": {"urn:ietf:params:oauth:token-type:access_token"},
		"subject_token":        {subject},
		"subject_token_type":   {f.SubjectTokenType},
	}))
	if err != nil {
		return t, err
	}
	return parseToken(a)
}

const mayImpersonate = "does the workload have roles/iam.workloadIdentityUser on the service account?"

// impersonatedLife is how long a token of a service account lives, if the file does not say it.
const impersonatedLife = 3600 // seconds

// impersonate returns a token of the service account of the file.
func (f federation) impersonate(
	ctx context.Context, c *credential.Cloud, own string, scopes []string,
) (t token, err error) {
	lifetime := cmp.Or(f.Impersonation.Lifetime, impersonatedLife)
	question := map[string]any{"scope": scopes, "lifetime": fmt.Sprintf("%ds", lifetime)}
	a, err := askCredentials(ctx, c, f.ImpersonationURL, own, question)
	if err != nil {
		return t, err
	}
	var r struct {
		AccessToken string    `json:"accessToken"`
		ExpireTime  time.Time `json:"expireTime"`
	}
	err = json.Unmarshal(a.Body, &r)
	switch {
	case err != nil || !credential.IsToken(r.AccessToken):
		return t, fmt.Errorf("%s answered without an accessToken and its expireTime", a.Of)
	case !r.ExpireTime.After(a.Served()):
		return t, fmt.Errorf("%s answered a token without expireTime, or one that has expired", a.Of)
	}
	return token{r.AccessToken, r.ExpireTime.Sub(a.Served())}, nil
}

// askCredentials asks the IAM credentials service for a token of a service account, with the token of the workload.
func askCredentials(
	ctx context.Context, c *credential.Cloud, address, own string, question map[string]any,
) (a credential.Answer, err error) {
	body, err := json.Marshal(question)
	if err != nil {
		return a, err
	}
	a, err = c.Services.Ask(ctx, credential.Question{
		Of:     "the IAM credentials service of Google",
		Method: http.MethodPost,
		URL:    address,
		Header: http.Header{"Authorization": {"Bearer " + own}, "Content-Type": {"application/json"}},
		Body:   body,
	})
	if err != nil || a.Status == http.StatusOK {
		return a, err
	}
	var r struct {
		Error json.RawMessage `json:"error"`
	}
	_ = json.Unmarshal(a.Body, &r) // what is no JSON has no code
	if a.Status == http.StatusForbidden {
		return a, a.Failure(errorCode(r.Error), mayImpersonate)
	}
	return a, a.Failure(errorCode(r.Error))
}

// token returns the subject token. A file is read at each fetch, because workloads replace it.
func (s subjectSource) token(ctx context.Context, c *credential.Cloud) (string, error) {
	var raw []byte
	what := "the file of credential_source"
	if s.File != "" {
		var err error
		if raw, err = credential.ReadFile(what, s.File); err != nil {
			return "", err
		}
	} else {
		what = "credential_source.url"
		a, err := s.ask(ctx, c, what)
		if err != nil {
			return "", err
		}
		raw = a.Body
	}
	if s.Format.Type != "json" {
		return credential.CheckToken(what, string(raw))
	}
	var members map[string]any
	if json.Unmarshal(raw, &members) != nil {
		return "", fmt.Errorf("%s has no JSON object", what)
	}
	text, _ := members[s.Format.Field].(string)
	return credential.CheckToken(what, text)
}

func (s subjectSource) ask(ctx context.Context, c *credential.Cloud, what string) (a credential.Answer, err error) {
	q := credential.Question{Of: what, URL: s.URL, Header: http.Header{}}
	for name, text := range s.Headers {
		q.Header.Set(name, text)
	}
	client := c.Metadata
	if strings.HasPrefix(s.URL, "https:") {
		client = c.Services
	}
	if a, err = client.Ask(ctx, q); err == nil && a.Status != http.StatusOK {
		err = a.Failure()
	}
	return a, err
}
