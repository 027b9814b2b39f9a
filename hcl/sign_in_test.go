package hcl_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"hatchel/adapters/all"
	. "hatchel/hcl"
)

// signInBase are the arguments of a sign_in block without mistakes, by their names.
var signInBase = []string{
	`url = "https://tools.example"`, `provider = "https://id.example"`, `client_id = "tools"`,
	`client_secret = secret.provider`,
}

// signIn is a configuration with a sign_in block that has the arguments of signInBase, but for those that lines have.
// Lines after "auth:" are of the auth block, and those after "file:" of the file.
func signIn(lines string) string {
	lines, file, _ := strings.Cut(lines, "file:")
	lines, auth, _ := strings.Cut(lines, "auth:")
	body := lines
	for _, argument := range signInBase {
		name, _, _ := strings.Cut(argument, " ")
		if !strings.Contains("\n"+strings.ReplaceAll(lines, "; ", "\n"), "\n"+name+" ") && !strings.Contains(lines, "no "+name) {
			body += "\n" + argument
		}
	}
	for _, argument := range signInBase {
		name, _, _ := strings.Cut(argument, " ")
		body = strings.ReplaceAll(body, "no "+name, "")
	}
	return "secret \"provider\" { env = \"PROVIDER\" }\nauth {\nsign_in {\n" + strings.ReplaceAll(body, "; ", "\n") + "\n}\n" + auth +
		"\n}\n" + file
}

// reported are the diagnostics of a configuration, each as "severity summary @the text at its place: detail".
func reported(t *testing.T, src string, opts Options) (all_ []string) {
	t.Helper()
	opts.Getenv = func(name string) (string, bool) {
		return map[string]string{"SHORT": "short", "EVEN": strings.Repeat("ab", 32), "KEY": goodKey, "BLANK": " " + goodKey}[name] +
			map[bool]string{true: "a secret of many characters"}[name == "PROVIDER" || name == "S"], true
	}
	config, diags := Load(files("a.hcl", src), all.Set().Kinds(), opts)
	for _, d := range diags {
		text := config.Sources["a.hcl"][d.Subject.Start.Byte:d.Subject.End.Byte]
		severity := map[bool]string{true: "error", false: "warning"}[d.Severity == 0]
		all_ = append(all_, fmt.Sprintf("%s %s @%s: %s", severity, d.Summary, text, d.Detail))
	}
	return all_
}

const goodKey = "d2hhdCBhIGxvbmcgYW5kIHZhcmllZCBrZXkgdGhpcyBpcw=="

// TestMistakesInSignInAreReportedWhereTheyAre has one mistake in each configuration. What is wanted are parts of its
// diagnostics, one on each line; none for "".
func TestMistakesInSignInAreReportedWhereTheyAre(t *testing.T) {
	const entra = "https://login.microsoftonline.com/"
	const tenant = "72f988bf-86f1-41af-91ab-2d7cd011db47"
	for lines, want := range map[string]string{
		``: "",

		`url = "tools.example"`:               `error Invalid url @"tools.example": url is the origin of this server, as in "https://tools.example": it does not begin`,
		`url = "http://tools.example"`:        `so it must be https`,
		`url = "http://localhost:8080"`:       ``,
		`url = "http://127.0.0.1:8080"`:       ``,
		`url = "http://[::1]:8080"`:           ``,
		`url = "https://tools.example:8443"`:  ``,
		`url = "https://10.1.2.3"`:            ``,
		`url = "https://tools.example:443"`:   `write "https://tools.example"`,
		`url = "https://tools.example/"`:      `write "https://tools.example"`,
		`url = "https://Tools.Example"`:       `write "https://tools.example"`,
		`url = "HTTPS://tools.example"`:       `write "https://tools.example"`,
		`url = "https://tools.example#"`:      `write "https://tools.example"`,
		`url = "https://tools.example."`:      `write "https://tools.example"`,
		`url = "https://tools.example/team"`:  `it has a path`,
		`url = "https://tools.example?a"`:     `it has a query`,
		`url = "https://a@tools.example"`:     `it has a user name or password`,
		`url = "https://*.example"`:           `no name or address`,
		`url = "https://0.0.0.0"`:             `no name or address`,
		`url = "https://bücher.example"`:      `no name or address`,
		`url = "https://id.example"`:          `error Invalid provider @"https://id.example": This is the url of this server`,
		`url = "https://tools.example/mcp"`:   `write "https://tools.example"`,
		`url = "https://tools.example/x/../"`: `it has a path`,
		`no url`:                              `"url" is required`,

		`provider = "id.example"`:                                                                                 `error Invalid provider @"id.example"`,
		`provider = "http://id.example"`:                                                                          `must be https`,
		`provider = "http://localhost:9"`:                                                                         ``,
		`provider = "https://id.example/#"`:                                                                       `fragment`,
		`provider = "https://id.example?x"`:                                                                       `query`,
		`provider = "https://u@id.example"`:                                                                       `user name`,
		`provider = "https://id.example/a/.well-known/openid-configuration"`:                                      `Write its issuer: "https://id.example/a"`,
		`provider = "https://github.com"`:                                                                         `GitHub is no OpenID provider`,
		`provider = "https://token.actions.githubusercontent.com"`:                                                `GitHub is no OpenID provider`,
		`provider = "` + entra + `common/v2.0"`:                                                                   `"common" signs in people of every tenant of Entra. Write the issuer of yours, with its id: "https://login.microsoftonline.com/TENANT-ID/v2.0"`,
		`provider = "` + entra + `organizations/v2.0"`:                                                            `"organizations" signs in`,
		`provider = "` + entra + `consumers/v2.0"`:                                                                `"consumers" signs in`,
		`provider = "` + entra + `Common/v2.0"`:                                                                   `signs in people of every tenant`,
		`provider = "https://login.microsoftonline.us/common/v2.0"`:                                               `"https://login.microsoftonline.us/TENANT-ID/v2.0"`,
		`provider = "` + entra + `contoso.onmicrosoft.com/v2.0"`:                                                  `has its id`,
		`provider = "` + entra + tenant + `"`:                                                                     `ends with /v2.0. Write "https://login.microsoftonline.com/` + tenant + `/v2.0"`,
		`provider = "` + entra + tenant + `/v2.0/"`:                                                               `ends with /v2.0`,
		`provider = "https://sts.windows.net/` + tenant + `/"`:                                                    `tokens of version 1.0`,
		`provider = "https://sts.windows.net/common/"`:                                                            `Write the issuer of yours, with its id: "https://login.microsoftonline.com/TENANT-ID/v2.0"`,
		`provider = "https://login.windows.net/` + tenant + `/v2.0"`:                                              `is at another host. Write "https://login.microsoftonline.com/` + tenant + `/v2.0"`,
		`provider = "` + entra + tenant + `/v2.0"`:                                                                ``,
		`provider = "` + entra + consumerTenant + `/v2.0"`:                                                        `error Everybody could sign in @"` + entra + consumerTenant + `/v2.0"`,
		`provider = "https://accounts.google.com"`:                                                                `Google signs in everybody who has an account there. Write who may sign in, as in claims = ["hd"] and allow = "caller.claims.hd == 'example.com'"`,
		`provider = "https://accounts.google.com/"`:                                                               `Google signs in everybody`,
		`provider = "https://Accounts.Google.com:443"`:                                                            `Google signs in everybody`,
		`provider = "https://gitlab.com"`:                                                                         `groups_direct`,
		`provider = "https://appleid.apple.com"`:                                                                  `Everybody could sign in`,
		`provider = "https://accounts.google.com"; claims = ["hd"]; allow = "caller.claims.hd == 'acme.example'"`: ``,

		`redirect_uri = "https://tools.example/oauth/callback"`: `The address to register at the provider is url and /oauth/callback`,
		`tenant = "common"`:                    `The issuer of the provider is the argument provider`,
		`client_id = ""`:                       `error Invalid client @"": The id of the client is empty`,
		`client_id = "tools\n"`:                `has blanks or line breaks around it`,
		`client_secret = ""`:                   `error Invalid client @"": The secret of the client is empty`,
		`url = secret.provider`:                `error Secret would be visible @secret.provider`,
		`session = secret.provider`:            `error Secret would be visible @secret.provider`,
		`documents = [secret.provider]`:        `error Secret would be visible @secret.provider`,
		`scopes = ["openid", secret.provider]`: `error Secret would be visible @secret.provider`,
		`url = null`:                           `error Wrong type @null: url takes a string, not null.`,
		`documents = ["claude.ai", null]`:      `error Wrong type @null: documents is a list of strings, and one element is null.`,
		`no client_secret`:                     `The credential of the client is required`,
		`client_auth = "private_key_jwt"`:      `error Invalid client @"private_key_jwt"`,
		`key_id = "a"`:                         `error Invalid client @"a": This argument requires key`,
		`client_secret = secret.provider; key = secret.provider`: `Too many arguments`,
		`scopes = ["profile"]`:                                            `error Scopes without openid @["profile"]: Without openid the provider issues no ID token, and nobody can sign in. Write scopes = ["openid", "profile"].`,
		`scopes = []`:                                                     `Write scopes = ["openid"]`,
		`scopes = ["openid email"]`:                                       `error Invalid scope @"openid email"`,
		`subject_claim = ""`:                                              `error Empty text @""`,
		`groups_claim = " "`:                                              `error Empty text @" "`,
		`subject_claim = "email"`:                                         `error Email as subject @"email": A person who can choose their address at the provider could be anybody. Write subject_claim = "sub".`,
		`subject_claim = "Email"`:                                         `error Email as subject`,
		`subject_claim = "tid"`:                                           `error Not the claim of one person @"tid"`,
		`subject_claim = "client_id"`:                                     `error Not the claim of one person`,
		`subject_claim = "oid "`:                                          `error Blanks around a name @"oid ": No claim has the name "oid ": write "oid".`,
		`groups_claim = " groups"`:                                        `error Blanks around a name`,
		`subject_claim = "https://acme.example/email"`:                    `error Email as subject`,
		`subject_claim = "profile.username"`:                              `warning Changeable subject`,
		`subject_claim = "https://acme.example/employee"`:                 ``,
		`subject_claim = "preferred_username"`:                            `warning Changeable subject @"preferred_username"`,
		`provider = "` + entra + tenant + `/v2.0"; subject_claim = "upn"`: `Write subject_claim = "oid"`,
		`subject_claim = "email"; claims = ["email_verified"]; allow = "caller.claims.email_verified == true"`:                                           ``,
		`subject_claim = "email"; claims = ["email_verified"]; allow = "'a' in caller.groups && caller.claims.email_verified == true"`:                   ``,
		`subject_claim = "email"; claims = ["email_verified"]; allow = "'a' in caller.groups || caller.claims.email_verified == true"`:                   `error Email as subject`,
		`subject_claim = "email"; claims = ["email_verified"]; allow = "caller.claims.email_verified != true"`:                                           `error Email as subject`,
		`provider = "https://accounts.google.com"; subject_claim = "email"; claims = ["email_verified"]; allow = "caller.claims.email_verified == true"`: `error Email as subject @"email": The next owner of an address`,

		`group_names = ["a"]`:                                          `error Wrong type @["a"]`,
		`group_names = { a = 1 }`:                                      `and "a" is`,
		`group_names = { a = "" }`:                                     `error Empty text`,
		`group_names = { a = "b", c = "b" }`:                           ``,
		`group_names = {}`:                                             ``,
		`group_names = { "" = "a" }`:                                   `error Empty text`,
		`group_names = { " a" = "b" }`:                                 `error Blanks around a name @{ " a" = "b" }: group_names has " a". No group is equal to it: write "a".`,
		`group_names = { a = "b " }`:                                   `write "b"`,
		`claims = ["email "]`:                                          `error Blanks around a name @"email "`,
		`claims = ["client_id"]`:                                       `error Claim of its own @"client_id"`,
		`claims = ["nonce"]`:                                           `error Claim of a token @"nonce"`,
		`claims = [""]`:                                                `error Empty text @""`,
		`allow = "'a' in caller.groups"`:                               ``,
		`allow = "caller.claims.email == 'a'"`:                         `error Claim not copied @email: caller.claims has the claims that claims names. Write claims = ["email"].`,
		`claims = ["tenant"]; allow = "caller.claims['email'] == 'a'"`: `Write claims = ["tenant", "email"]`,
		`claims = ["email"]; allow = "caller.claims.email endsWith '@a.example'"`:                                            `warning Unverified address @email`,
		`claims = ["email", "email_verified"]; allow = "caller.claims.email_verified == true && caller.claims.email == 'a'"`: ``,
		`allow = "caller.claims.client_id == 'a'"`:                                                                           ``,
		`allow = "'a' in caller.scopes"`:                                                                                     `error Not known at sign-in @scopes`,
		`allow = "caller.headers.x == 'a'"`:                                                                                  `error Not known at sign-in @headers`,
		`allow = "input.x"`:                                                                                                  `error`,
		`group_names = { x = "finance" }; allow = "'finence' in caller.groups"`:                                              `error Unknown group @finence: group_names gives nobody the group "finence". Did you mean "finance"?`,
		`group_names = { x = "finance" }; allow = "!('staff' in caller.groups)"`:                                             `error Unknown group @staff`,
		"group_names = { x = \"finance\" }; scope \"a\" {\ndescription = \"A\"\nallow = \"'board' in caller.groups\"\n}":     `error Unknown group @board`,
		"scope \"a\" {\ndescription = \"A\"\nallow = \"caller.claims.level == 2\"\n}":                                        `error Claim not copied @level`,

		`session = "9m"`:    `error Session too short @"9m"`,
		`session = "8761h"`: `error Session too long @"8761h"`,
		`session = "12h"`:   ``,
		`session = "13h"; scopes = ["openid", "offline_access"]`: `error Session without key @"13h": sign_in keeps tokens of the provider for longer than 12h: set key in the state block`,
		`session = "13h" file: secret "k" { env = "KEY" }
		state { key = secret.k }`: `warning Session without renewal @"13h"`,
		`session = "13h"; scopes = ["openid", "offline_access"] file: secret "k" { env = "KEY" }
		state { key = secret.k }`: ``,
		`clock_skew = "11m"`:     `error Clock skew too large @"11m"`,
		`algorithms = ["HS256"]`: `error Unsafe algorithm @"HS256"`,
		`algorithms = []`:        `error No algorithm @[]`,

		`documents = ["claude.ai", "vscode.dev"]`: ``,
		`documents = ["https://claude.ai/x"]`:     `error Invalid host @"https://claude.ai/x": documents has the hosts of client ID documents, as in ["claude.ai"]. It is not a URL: write "claude.ai".`,
		`documents = ["claude.ai:443"]`:           `write "claude.ai"`,
		`documents = ["claude.ai/oauth"]`:         `It has no path: write "claude.ai"`,
		`documents = ["*.claude.ai"]`:             `a wildcard would accept names that others can create`,
		`documents = ["10.0.0.1"]`:                `from a public name`,
		`documents = ["localhost"]`:               `from a public name`,
		`documents = ["intranet"]`:                `from a public name`,
		`documents = ["a b"]`:                     `is no name of a host`,
		`documents = ["*", "claude.ai"]`:          "error Hosts without effect\nwarning Documents of every host",
		`documents = ["*"]`:                       `warning Documents of every host @"*"`,

		`register { redirects = ["loopback", "https://claude.ai", "cursor://anysphere.cursor-mcp"] }`: ``,
		`register {}`:                                          `"redirects" is required`,
		`register { redirects = [] }`:                          `error No redirect @[]`,
		`register { redirects = ["claude.ai"] }`:               `error Invalid redirect @"claude.ai": Clients may come back to "loopback", to an origin such as "https://claude.ai", or to a private scheme with its host, such as "cursor://anysphere.cursor-mcp". Write "https://claude.ai".`,
		`register { redirects = ["Loopback"] }`:                `Write "loopback"`,
		`register { redirects = ["https://claude.ai:443"] }`:   `write "https://claude.ai"`,
		`register { redirects = ["https://claude.ai:443/x"] }`: ``,
		`register { redirects = ["https://claude.ai:8443"] }`:  ``,
		`register { redirects = ["https://claude.ai/"] }`:      `write "https://claude.ai"`,
		`register { redirects = ["http://claude.ai"] }`:        `http is accepted for`,
		`register { redirects = ["*"] }`:                       `error Invalid redirect @"*"`,
		`register { redirects = ["https://*.claude.ai"] }`:     `asterisk`,
		`register { redirects = ["cursor:"] }`:                 `no host`,
		`register { redirects = ["cursor://"] }`:               `no host`,
		`register { redirects = ["javascript://a"] }`:          `scheme`,

		"client \"a\" { redirects = [\"http://localhost:1/cb\"] }":     ``,
		"client \"a\" { redirects = [\"http://a.example/cb\"] }":       `error Invalid redirect @"http://a.example/cb": A redirect is the address`,
		"client \"a\" { redirects = [\"https://a.example/x/../cb\"] }": `segment`,
		"client \"a\" { redirects = [\"https://a@b.example/cb\"] }":    `user name`,
		"client \"a\" {}":                                                                                                              `"redirects" is required`,
		"client \"a\" { redirects = [] }":                                                                                              `error No redirect @[]`,
		"client { redirects = [\"http://localhost:1/cb\"] }":                                                                           `error Wrong number of labels`,
		"client \"console\" { redirects = [\"http://localhost:1/cb\"] }":                                                               `error Built-in client @"console"`,
		"client \"Hatchel\" { redirects = [\"http://localhost:1/cb\"] }":                                                               `error Built-in client`,
		"client \"https://a.example\" { redirects = [\"http://localhost:1/cb\"] }":                                                     `error Invalid client name @"https://a.example": "https://a.example" is neither a word nor the URL of a client ID document`,
		"client \"a b\" { redirects = [\"http://localhost:1/cb\"] }":                                                                   `error Invalid client name @"a b"`,
		"client \"a\" { redirects = [\"http://localhost:1/cb\"] }\nclient \"a\" { redirects = [\"http://localhost:2/cb\"] }":           `error Duplicate client @client "a": The client "a" is already declared at a.hcl:4.`,
		"client \"a\" {\nredirects = [\"http://localhost:1/cb\"]\nsecret = secret.short\n} file: secret \"short\" { env = \"SHORT\" }": `error Weak secret @secret.short`,
		"client \"a\" {\nredirects = [\"http://localhost:1/cb\"]\nkeys = \"http://a.example/jwks\"\n}":                                 `must be https`,
		"client \"a\" {\nredirects = [\"http://localhost:1/cb\"]\nkeys = \"{}\"\n}":                                                    `it has no keys`,
		"client \"a\" {\nredirects = [\"http://localhost:1/cb\"]\nkeys = \"{\"\n}":                                                     `not valid JSON`,
		"client \"a\" {\nredirects = [\"http://localhost:1/cb\"]\nkeys = jsonencode({ keys = [{ kty = \"EC\", d = \"x\" }] })\n}":      `private key`,
		"client \"a\" {\nredirects = [\"http://localhost:1/cb\"]\nkeys = jsonencode({ keys = [{ kty = \"RSA\" }, { kty = \"EC\", crv = \"P-256\", x = \"a\", y = \"b\", use = \"enc\" }] })\n}": `none of its keys verifies`,
		"client \"a\" {\nredirects = [\"http://localhost:1/cb\"]\nkeys = jsonencode({ keys = [{}] })\n}":                                                                                        `none of its keys verifies`,
		"client \"a\" {\nredirects = [\"http://localhost:1/cb\"]\nkeys = jsonencode({ keys = [{ kty = \"oct\" }] })\n}":                                                                         `shared key`,
		"client \"a\" {\nredirects = [\"http://localhost:1/cb\"]\nsecret = secret.provider\nkeys = \"https://a.example/jwks\"\n}":                                                               `Too many arguments`,

		"scope \"a\" {}":                                                           `"description" is required`,
		"scope \"a\" { description = \" \" }":                                      `error Empty text @" "`,
		"scope { description = \"A\" }":                                            `error Wrong number of labels`,
		"scope \"a b\" { description = \"A\" }":                                    `error Invalid scope @"a b"`,
		"scope \"a\" { description = \"A\\nB\" }":                                  `error Hidden characters`,
		"scope \"a\" { description = \"A\u202e\" }":                                `error Hidden characters`,
		"scope \"a\" { description = \"" + strings.Repeat("a", 201) + "\" }":       `error Description too long`,
		"scope \"a\" { description = \"A\" }\nscope \"a\" { description = \"B\" }": `error Duplicate scope @scope "a"`,

		"documents = [\"claude.ai\"]\nassertions { clients = [\"https://claude.ai/oauth\"] }":                                         ``,
		"assertions { clients = [\"https://claude.ai/oauth\"] }":                                                                      `error Unknown client @"https://claude.ai/oauth": "https://claude.ai/oauth" is on a host whose documents are not accepted. Write documents = ["claude.ai"].`,
		"assertions { clients = [] }":                                                                                                 `error No client @[]`,
		"assertions { clients = [\"x\"] }":                                                                                            `There is no client block "x"`,
		"client \"desk\" {\nredirects = [\"http://localhost:1/cb\"]\n}\nassertions { clients = [\"dask\"] }":                          `Did you mean "desk"?`,
		"client \"desk\" {\nredirects = [\"http://localhost:1/cb\"]\n}\nassertions { clients = [\"desk\"] }":                          `warning Client without authentication @"desk"`,
		"client \"desk\" {\nredirects = [\"http://localhost:1/cb\"]\n}\nassertions {\nclients = [\"desk\"]\npublic = true\n}":         ``,
		"documents = [\"a.example\"]\nassertions {\nclients = [\"https://a.example/x\"]\nissuer = \"a\"\n}":                           `error Invalid issuer @"a"`,
		"documents = [\"a.example\"]\nassertions {\nclients = [\"https://a.example/x\"]\nissuer = \"https://tools.example\"\n}":       `error Invalid issuer @"https://tools.example": This is the url of this server`,
		"documents = [\"a.example\"]\nassertions {\nclients = [\"https://a.example/x\"]\nissuer = \"https://accounts.google.com\"\n}": `error Other people @"https://accounts.google.com": Everybody has an account at Google`,
		"documents = [\"a.example\"]\nassertions {\nclients = [\"https://a.example/x\"]\nissuer = \"https://id.example\"\n}":          ``,
		"documents = [\"a.example\"]\nassertions { clients = [\"https://A.example/x\"] }":                                             `error Unknown client @"https://A.example/x": "https://A.example/x" is not the URL of a client ID document`,
		"documents = [\"a.example\"]\nassertions { clients = [\"https://a.example\"] }":                                               `is not the URL of a client ID document`,
		"documents = [\"a.example\"]\nassertions { clients = [\"http://a.example/x\"] }":                                              `is not the URL of a client ID document`,
		"documents = [\"*\"]\nassertions { clients = [\"https://a.example/x\"] }":                                                     `warning Documents of every host`,

		`resources = ["https://other.example/mcp", "http://localhost:1/mcp"]`: ``,
		`resources = ["https://Tools.Example:443/mcp"]`:                       `error Own resource`,
		`resources = ["https://Other.Example:443/mcp?a=B"]`:                   `write "https://other.example/mcp?a=B"`,
		`resources = ["https://other.example"]`:                               ``,
		`resources = ["other.example"]`:                                       `error Invalid resource @"other.example"`,
		`resources = ["http://other.example"]`:                                `must be https`,
		`resources = ["https://other.example/#"]`:                             `fragment`,
		`resources = ["https://tools.example/mcp"]`:                           `error Own resource @"https://tools.example/mcp"`,

		"auth: sign_in {}": `error Duplicate block @sign_in`,
		"auth: jwt {\nissuer = \"https://tools.example\"\naudience = \"a\"\n}":                                                                                              `error Issuer is this server @jwt`,
		"auth: jwt {\nissuer = \"https://id.example\"\naudience = \"a\"\n}":                                                                                                 ``,
		"auth: introspection {\nurl = \"http://id.example/i\"\nclient_id = \"a\"\nclient_secret = secret.provider\naudience = \"a\"\n}":                                     `error Invalid introspection URL @"http://id.example/i"`,
		"auth: introspection {\nurl = \"https://id.example/i\"\nclient_id = \"a\"\nclient_secret = secret.provider\naudience = \"\"\n}":                                     `error Missing audience`,
		"auth: introspection {\nurl = \"https://id.example/i\"\nclient_id = \"a\"\naudience = \"a\"\n}":                                                                     `The credential of the client is required`,
		"auth: introspection {\nurl = \"https://id.example/i\"\nclient_id = \"a\"\nclient_secret = secret.provider\naudience = \"a\"\ngroups_claim = \"\"\n}":               `error Empty text`,
		"auth: introspection {\nurl = \"https://id.example/i\"\nclient_id = \"a\"\nclient_secret = secret.provider\naudience = \"a\"\nclient_auth = \"private_key_jwt\"\n}": `error Invalid client`,
		strings.Repeat("auth: introspection {\nurl = \"https://id.example/i\"\nclient_id = \"a\"\nclient_secret = secret.provider\naudience = \"a\"\n}\n", 1) +
			"introspection {\nurl = \"https://id.example/i\"\nclient_id = \"a\"\nclient_secret = secret.provider\naudience = \"a\"\n}": `error Duplicate introspection @introspection`,

		"auth: introspection {\nurl = \"https://tools.example/oauth/introspect\"\nclient_id = \"a\"\nclient_secret = secret.provider\naudience = \"a\"\n}":               `error Introspection at this server @introspection`,
		"auth: introspection {\nurl = \"https://id.example/i\"\nclient_id = \"a\"\nclient_secret = secret.provider\naudience = \"a\"\nsubject_claim = \"iss\"\n}":        `error Not the claim of one person @"iss"`,
		"auth: introspection {\nurl = \"https://id.example/i\"\nclient_id = \"a\"\nclient_secret = secret.provider\naudience = \"a\"\nsubject_claim = \"user.email\"\n}": `warning Changeable subject @"user.email"`,
		"auth: introspection {\nurl = \"https://id.example/i\"\nclient_id = \"a\"\nclient_secret = secret.provider\naudience = \"a\"\nsubject_claim = \"username\"\n}":   `warning Changeable subject @"username"`,
		"auth: introspection {\nurl = \"https://id.example/i\"\nclient_id = \"a\"\nclient_secret = secret.provider\naudience = \"a\"\nsubject_claim = \"client_id\"\n}":  ``,
		"file: state {}": `error Missing argument @state: Write sqlite or postgres, the location of the state, or key alone for the default file.`,
		"file: secret \"s\" { env = \"SHORT\" }\nstate { key = secret.s }":                             `error Weak key @secret.s: A key has 32 bytes or more, and this one has 5.`,
		"file: secret \"s\" { env = \"EVEN\" }\nstate { key = secret.s }":                              `error Weak key @secret.s: The key has 2 different characters`,
		"file: secret \"s\" { env = \"BLANK\" }\nstate { key = secret.s }":                             `error Blanks around the key @secret.s`,
		"file: secret \"s\" { env = \"KEY\" }\nstate { key = secret.s }":                               ``,
		"file: secret \"s\" { env = \"KEY\" }\nstate {\nkey = secret.s\nprevious_key = secret.s\n}":    `error Same key @secret.s`,
		"file: secret \"s\" { env = \"KEY\" }\nstate {\nsqlite = \"a.db\"\nprevious_key = secret.s\n}": `error Previous key without key @previous_key`,

		"file: tool \"t\" {\ndescription = \"x\"\nscopes = [\"pay\"]\ntext = \"x\"\n}":                                                                            `warning Scope that nobody grants @"pay": Nobody who signs in can have the scope "pay", because sign_in has no block for it. Add scope "pay" { description = "…" } there.`,
		"scope \"pay\" { description = \"Pay\" }\nfile: tool \"t\" {\ndescription = \"x\"\nscopes = [\"pay\"]\ntext = \"x\"\n}":                                   ``,
		"auth: api_key \"ci\" {\nsecret = secret.provider\nscopes = [\"pay\"]\n}\nfile: tool \"t\" {\ndescription = \"x\"\nscopes = [\"pay\"]\ntext = \"x\"\n}":   ``,
		"file: tool \"t\" {\ndescription = \"x\"\nallow = \"caller.claims.tenant == 'a'\"\ntext = \"x\"\n}":                                                       `warning Claim not copied @tenant: Only people who sign in have claims, and sign_in does not copy "tenant", so this is null. Write claims = ["tenant"] there.`,
		"file: tool \"t\" {\ndescription = \"x\"\ntext = \"${caller.claims.tenant}\"\n}":                                                                          `warning Claim not copied @tenant`,
		"file: tool \"t\" {\ndescription = \"x\"\ntext = \"${caller.claims.client_id}\"\n}":                                                                       ``,
		"claims = [\"tenant\"]\nfile: tool \"t\" {\ndescription = \"x\"\ntext = \"${caller.claims.tenant}\"\n}":                                                   ``,
		"auth: jwt {\nissuer = \"https://id.example\"\naudience = \"a\"\n}\nfile: tool \"t\" {\ndescription = \"x\"\ntext = \"${caller.claims.tenant}\"\n}":       ``,
		"group_names = { x = \"finance\" }\nfile: policy \"p\" { deny = \"'contractors' in caller.groups\" }\ntool \"t\" {\ndescription = \"x\"\ntext = \"x\"\n}": `warning Unknown group @contractors: Neither group_names of sign_in, nor an API key or a caller of a test has the group "contractors".`,
		"file: policy \"p\" { deny = \"'contractors' in caller.groups\" }\ntool \"t\" {\ndescription = \"x\"\ntext = \"x\"\n}":                                    ``,

		"file: secret \"s\" { env = \"S\" }\n" + exchange:                                                           `error Exchange without key @true: The connection shop exchanges the caller's token. Of a person who signs in that is a token of the provider, which is kept only with a key: set key in the state block`,
		"file: secret \"s\" { env = \"S\" }\nsecret \"k\" { env = \"KEY\" }\nstate { key = secret.k }\n" + exchange: ``,
	} {
		got, wants := reported(t, signIn(lines), Options{}), strings.Split(want, "\n")
		if want == "" {
			wants = nil
		}
		if !slices.EqualFunc(got, wants, strings.Contains) {
			t.Errorf("%s: got\n%s\nwant\n%s", lines, strings.Join(got, "\n"), want)
		}
	}
}

const consumerTenant = "9188040d-6c67-4c5b-b112-36a304b66dad"

const exchange = `connection "http" "shop" {
  base_url = "https://shop.example"
  auth {
    oauth2 {
      token_url     = "https://id.example/token"
      client_id     = "a"
      client_secret = secret.s
      exchange      = true
    }
  }
}
tool "t" {
  description = "x"
  http "shop" { get = "/" }
}
`

// TestTheDigestOfSignInIsThatOfWhoPeopleAre changes each argument: tokens end if a person may be another caller now.
func TestTheDigestOfSignInIsThatOfWhoPeopleAre(t *testing.T) {
	digest := func(lines string) string {
		config, diags := Load(files("a.hcl", signIn(lines)), all.Set().Kinds(), Options{}.ForCheck())
		if diags.HasErrors() {
			t.Fatalf("%s: %s", lines, printed(t, diags, config.Sources))
		}
		return config.Auth.SignIn.Digest()
	}
	base := digest("")
	seen := map[string]string{base: "nothing"}
	for _, lines := range []string{
		`provider = "https://other.example"`, `subject_claim = "oid"`, `groups_claim = "roles"`, `group_names = {}`,
		`group_names = { a = "b" }`, `group_names = { a = "c" }`, `group_names = { b = "b" }`,
		`claims = ["a"]`, `claims = ["b"]`, `claims = ["a", "b"]`,
	} {
		if other := seen[digest(lines)]; other != "" {
			t.Errorf("%s has the digest of %s", lines, other)
		}
		seen[digest(lines)] = lines
	}
	for _, lines := range []string{
		`url = "https://other.example"`, `session = "1h"`, `documents = ["claude.ai"]`, `allow = "'a' in caller.groups"`,
		`scopes = ["openid"]`, `client_id = "other"`, `register { redirects = ["loopback"] }`, `clock_skew = "5s"`,
	} {
		if digest(lines) != base {
			t.Errorf("%s ends sign-ins", lines)
		}
	}
	if digest(`claims = ["a", "b"]`) != digest(`claims = ["b", "a"]`) {
		t.Error("the order of claims ends sign-ins")
	}
}

// TestTheServerHasTheNameOfSignIn compares the names under which the server is served.
func TestTheServerHasTheNameOfSignIn(t *testing.T) {
	for lines, want := range map[string]string{
		``:                                "[tools.example]",
		`url = "https://[2001:db8::1]:8"`: "[2001:db8::1]",
		`url = "http://localhost:8080"`:   "[]",
		`url = "http://127.0.0.1"`:        "[]",
		`url = "https://tools.example:8443" file: server { hosts = ["a.example", "tools.example"] }`: "[a.example tools.example]",
		`file: server { hosts = ["a.example"] }`:                                                     "[a.example tools.example]",
	} {
		config, diags := Load(files("a.hcl", signIn(lines)), all.Set().Kinds(), Options{}.ForCheck())
		if diags.HasErrors() {
			t.Fatalf("%s: %s", lines, printed(t, diags, config.Sources))
		}
		if got := fmt.Sprint(config.Hosts()); got != want {
			t.Errorf("%s: %s, not %s", lines, got, want)
		}
	}
}
