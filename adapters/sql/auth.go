package sql

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"

	"hatchel/adapters"
	"hatchel/adapters/credential"
	"hatchel/adapters/credential/aws"
	"hatchel/adapters/credential/entra"
	"hatchel/adapters/credential/google"
	"hatchel/hcl"
	"hatchel/hcl/template/sqltext"
	"hatchel/internal/lazyregexp"
)

// auth is an auth block of a connection: tokens of a cloud in place of a password.
type auth struct {
	AWSRDS    *aws.RDS
	GoogleSQL *googleSQL
	Entra     *entra.Identity
}

// googleSQL is a google_sql block. It has no arguments: the scope of the tokens permits signing in and nothing else.
type googleSQL struct{}

func (a *auth) spec() hcl.Spec {
	return hcl.ExactlyOneOf("how to sign in",
		hcl.Block(&a.AWSRDS, "aws_rds", "Tokens for users of RDS and Aurora with IAM authentication. They are "+
			"signed on this machine with credentials of AWS.", (*aws.RDS).Spec),
		hcl.Block(&a.GoogleSQL, "google_sql", "Access tokens of Google for users of Cloud SQL with IAM login. They "+
			"permit nothing else than to sign in to databases.", (*googleSQL).spec),
		hcl.Block(&a.Entra, "entra", "Access tokens of Microsoft Entra for users of Azure Database for PostgreSQL and "+
			"MySQL.", (*entra.Identity).Spec),
	)
}

func (*googleSQL) spec() hcl.Spec { return hcl.Spec{} }

func (a *auth) check(checks *adapters.Checks) {
	switch {
	case a.AWSRDS != nil:
		a.AWSRDS.Check(checks)
	case a.Entra != nil:
		a.Entra.Check(checks)
	}
}

// newLogin returns the login of a connection, or nil if it has none. It asks nobody, and reads no credential.
func (c *serverConnection) newLogin(
	ctx context.Context, env adapters.Env, cloud *credential.Cloud,
) (l *login, err error) {
	if c.Auth == nil {
		return nil, nil
	}
	fetches := credential.NewFetches(ctx, env)
	switch a := c.Auth; {
	case a.AWSRDS != nil:
		provider := aws.NewProvider(&a.AWSRDS.Identity, cloud, fetches)
		return &login{cloud: "AWS", source: aws.NewPasswords(a.AWSRDS, provider)}, nil
	case a.Entra != nil:
		source, err := entra.NewSource(fetches, cloud, a.Entra, env, entra.Databases)
		return &login{cloud: "Entra", source: source}, err
	}
	return &login{cloud: "Google", source: google.NewSource(fetches, cloud, google.ScopeSQLLogin)}, nil
}

// tokenURLs are addresses of databases that take a token in place of a password.
var tokenURLs = map[sqltext.Dialect]string{
	sqltext.PostgreSQL: `"postgres://user@host:5432/name?sslmode=verify-full"`,
	sqltext.MySQL:      `"mysql://user@host:3306/name?tls=true"`,
}

// verifyOptions are the options of a url that verify a certificate: with its name, and only its chain.
var verifyOptions = map[sqltext.Dialect]struct{ name, chain string }{
	sqltext.PostgreSQL: {"sslmode=verify-full", "sslmode=verify-ca"},
	sqltext.MySQL:      {"tls=true", "tls=verify-ca"},
}

// address is what the checks of a connection read of one url.
type address struct {
	user, password bool // whether the url has them itself
	socket         bool // of a file
	verifies       verification
	fallsBack      bool // to no TLS, although the url requires it
	namesAuthority bool // sslrootcert is set
}

// readPostgresAddress reads an address that parses.
func readPostgresAddress(text string) (a address, err error) {
	config, err := parsePostgresURL(text)
	if err != nil {
		return a, err
	}
	a.verifies = leastVerification(postgresTLS(config))
	isSocket := func(host string) bool { return strings.HasPrefix(host, "/") }
	a.socket = slices.ContainsFunc(postgresHosts(config), isSocket)
	settings := postgresSettingsOf(text)
	a.user, a.namesAuthority = settings["user"] != "", settings["sslrootcert"] != ""
	a.password = settings["password"] != "" || settings["passfile"] != ""
	return a, nil
}

// libpqSetting matches a setting in the notation of libpq: a name, and a value with or without quotes.
var libpqSetting = lazyregexp.New(`(?s)([^\s=]+)\s*=\s*(?:'((?:[^'\\]|\\.)*)'|((?:[^\s\\]|\\.)*))`)

var libpqEscape = lazyregexp.New(`(?s)\\(.)`)

// postgresSettingsOf returns the settings that an address has itself. The parser adds those of the environment. The
// last of a name counts.
func postgresSettingsOf(text string) map[string]string {
	settings := map[string]string{}
	u, err := url.Parse(text)
	if !isPostgresURL(text) || err != nil {
		for _, found := range libpqSetting.FindAllStringSubmatch(text, -1) {
			settings[found[1]] = libpqEscape.ReplaceAllString(found[2]+found[3], "$1")
		}
		return settings
	}
	settings["user"] = u.User.Username()
	settings["password"], _ = u.User.Password()
	for name, values := range u.Query() {
		settings[name] = values[len(values)-1]
	}
	return settings
}

func postgresHosts(config *pgxpool.Config) []string {
	hosts := []string{config.ConnConfig.Host}
	for _, fallback := range config.ConnConfig.Fallbacks {
		hosts = append(hosts, fallback.Host)
	}
	return hosts
}

func readMySQLAddress(text string) (a address, err error) {
	config, err := parseMySQLURL(text)
	if err != nil {
		return a, err
	}
	a.user, a.password = config.User != "", config.Passwd != ""
	a.socket, a.verifies = config.Net != "tcp", leastVerification(mysqlTLS(config))
	a.fallsBack = config.AllowFallbackToPlaintext && verificationOf(config.TLS) != unverified
	return a, nil
}

// checkSecurity checks what ca_file and auth need of an address that parses. It was decoded into a field, which a
// message calls name.
func (c *serverConnection) checkSecurity(field any, name, text string) error {
	read := readPostgresAddress
	if c.dialect == sqltext.MySQL {
		read = readMySQLAddress
	}
	a, err := read(text)
	if err != nil {
		return err
	}
	options := verifyOptions[c.dialect]
	refuse := func(format string, args ...any) error {
		return hcl.Blame(field, format, append([]any{name}, args...)...)
	}
	switch {
	case c.CAFile != "" && a.verifies == unverified:
		return refuse("%s does not verify the certificate of the server, so ca_file is not used. Write %s in it.",
			options.name)
	case c.CAFile != "" && a.namesAuthority:
		return refuse("%s has sslrootcert, and the connection ca_file. Remove one of them.")
	case c.dialect == sqltext.MySQL && c.CAFile == "" && a.verifies == chainVerified:
		return refuse("%s has tls=verify-ca, which accepts every certificate of the authorities in ca_file, and " +
			`there is none. Write ca_file = "server-ca.pem", or tls=true to verify the name of the host, too.`)
	case c.Auth == nil:
		return nil
	case a.password:
		return refuse("%s has a password, and auth signs in with tokens. Remove it, as in %s.", tokenURLs[c.dialect])
	case !a.user:
		return refuse("%s has no user, and auth signs in as one. Write it before the host, as in %s.",
			tokenURLs[c.dialect])
	case a.socket:
		return refuse("%s names a Unix socket, and a token is sent inside TLS only. Write the host, or remove auth: " +
			"a proxy on this machine signs in itself, such as the Cloud SQL Auth Proxy with --auto-iam-authn.")
	case a.fallsBack:
		return refuse("%s has allowFallbackToPlaintext, and a token is sent inside TLS only. Remove the option.")
	case a.verifies == nameVerified:
		return nil
	case c.Auth.GoogleSQL == nil:
		return refuse("%s does not verify the certificate of the server with its name, and a token is sent to no "+
			"other one. Write %s in it.", options.name)
	case a.verifies == unverified || c.CAFile == "" && !a.namesAuthority:
		return refuse("%s does not verify the certificate of the server, and a token is sent to no other one. Write "+
			"%s in it, or %s with the authority of the instance in ca_file.", options.name, options.chain)
	}
	return nil
}
