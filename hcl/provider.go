package hcl

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"hatchel/internal/hostname"
	"hatchel/internal/lazyregexp"
)

// publicProvider is an OpenID provider that signs in everybody who has an account there, of any company.
type publicProvider struct {
	host  string // of the issuer
	path  string // the first part of its path; empty for every path
	name  string
	claim string // what ID tokens say of the company, or of the group, of a person; empty for nothing
	allow string // a rule that admits the people of one company
}

// consumerTenant is the tenant of Entra that has personal accounts.
const consumerTenant = "9188040d-6c67-4c5b-b112-36a304b66dad"

// publicProviders are those whose issuers are the same for everybody.
var publicProviders = []publicProvider{
	{host: "accounts.google.com", name: "Google", claim: "hd", allow: "caller.claims.hd == 'example.com'"},
	{host: "login.microsoftonline.com", path: consumerTenant, name: "Microsoft for personal accounts"},
	{host: "login.live.com", name: "Microsoft for personal accounts"},
	{host: "gitlab.com", name: "GitLab.com", claim: "groups_direct", allow: "'example' in caller.claims.groups_direct"},
	{host: "slack.com", name: "Slack", claim: "https://slack.com/team_id",
		allow: "caller.claims['https://slack.com/team_id'] == 'T0123'"},
	{host: "login.salesforce.com", name: "Salesforce", claim: "organization_id",
		allow: "caller.claims.organization_id == '00D…'"},
	{host: "appleid.apple.com", name: "Apple"},
	{host: "www.facebook.com", name: "Facebook"},
	{host: "limited.facebook.com", name: "Facebook"},
	{host: "www.linkedin.com", name: "LinkedIn"},
	{host: "api.login.yahoo.com", name: "Yahoo"},
	{host: "login.yahoo.com", name: "Yahoo"},
	{host: "id.twitch.tv", name: "Twitch"},
	{host: "discord.com", name: "Discord"},
	{host: "access.line.me", name: "LINE"},
	{host: "kauth.kakao.com", name: "Kakao"},
	{host: "www.paypal.com", name: "PayPal"},
	{host: "accounts.spotify.com", name: "Spotify"},
	{host: "oauth.telegram.org", name: "Telegram"},
	{host: "api.bitbucket.org", name: "Bitbucket"},
	{host: "orcid.org", name: "ORCID"},
}

// findPublicProvider returns the public provider of an issuer; nil for one that has the people of one company.
func findPublicProvider(u *url.URL) *publicProvider {
	host, _, _ := hostname.Split(u.Host)
	first, _, _ := strings.Cut(strings.TrimPrefix(u.Path, "/"), "/")
	at := slices.IndexFunc(publicProviders, func(p publicProvider) bool {
		return p.host == host && (p.path == "" || strings.EqualFold(p.path, first))
	})
	if at < 0 {
		return nil
	}
	return &publicProviders[at]
}

// entraHosts are the hosts of issuers of Entra, in all its clouds.
var entraHosts = []string{
	"login.microsoftonline.com", "login.microsoftonline.us", "login.partner.microsoftonline.cn",
	"login.chinacloudapi.cn", "login.microsoft.com", "login.windows.net", "sts.windows.net",
}

// entraIssuers has the hosts of issuers for those that are other names of one.
var entraIssuers = map[string]string{
	"login.microsoft.com": "login.microsoftonline.com", "login.windows.net": "login.microsoftonline.com",
	"sts.windows.net": "login.microsoftonline.com", "login.chinacloudapi.cn": "login.partner.microsoftonline.cn",
}

// sharedTenants are no tenants: their endpoints sign in people of any tenant.
var sharedTenants = []string{"common", "organizations", "consumers"}

var tenantID = lazyregexp.New(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

// entraProblem returns what is wrong with an issuer of Entra, as two sentences; empty for the issuer of one tenant, and
// for other providers.
func entraProblem(u *url.URL) string {
	host, _, _ := hostname.Split(u.Host)
	if !slices.Contains(entraHosts, host) {
		return ""
	}
	named, isOther := entraIssuers[host]
	issuer := func(tenant string) string { return fmt.Sprintf("https://%s/%s/v2.0", cmp.Or(named, host), tenant) }
	tenant, rest, _ := strings.Cut(strings.TrimPrefix(u.Path, "/"), "/")
	switch {
	case slices.Contains(sharedTenants, strings.ToLower(tenant)):
		return fmt.Sprintf("%q signs in people of every tenant of Entra. Write the issuer of yours, with its id: %q.",
			tenant, issuer("TENANT-ID"))
	case !tenantID.MatchString(tenant):
		return fmt.Sprintf("The issuer of a tenant of Entra has its id, which is on the page Overview of Entra. "+
			"Write %q.", issuer("TENANT-ID"))
	case host == "sts.windows.net":
		return fmt.Sprintf("This is the issuer of tokens of version 1.0. Write %q.", issuer(tenant))
	case isOther:
		return fmt.Sprintf("The issuer of a tenant of Entra is at another host. Write %q.", issuer(tenant))
	case rest != "v2.0":
		return fmt.Sprintf("The issuer of a tenant of Entra ends with /v2.0. Write %q.", issuer(tenant))
	}
	return ""
}

// githubHosts issue no ID tokens of people.
var githubHosts = []string{"github.com", "www.github.com", "api.github.com", "token.actions.githubusercontent.com"}

// wellKnown are the ends of addresses of documents in which an issuer is named.
var wellKnown = []string{"/.well-known/openid-configuration", "/.well-known/oauth-authorization-server"}

// issuerProblem returns what is wrong with an issuer of people, as sentences; empty for nothing. It does not say whom
// the issuer signs in.
func issuerProblem(text string) string {
	const form = "An issuer is a URL such as \"https://id.example\": "
	u, problem := hostname.ParseURL(text, 0)
	switch {
	case problem != "":
		return form + problem + "."
	case hostname.IsReadable(u):
		return form + "with http its answers could be replaced in transit, so it must be https."
	case strings.HasSuffix(text, "#"):
		return form + "it has a fragment."
	}
	for _, end := range wellKnown {
		if issuer, ok := strings.CutSuffix(strings.TrimSuffix(text, "/"), end); ok {
			return fmt.Sprintf("This is the address of a document of the provider. Write its issuer: %q.", issuer)
		}
	}
	if host, _, _ := hostname.Split(u.Host); slices.Contains(githubHosts, host) {
		return "GitHub is no OpenID provider: it issues no ID tokens of people. Write one that signs in with GitHub, " +
			"such as Dex or Keycloak."
	}
	return entraProblem(u)
}
