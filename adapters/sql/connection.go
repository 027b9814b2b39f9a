package sql

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"time"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/hcl/template/sqltext"
	"hatchel/internal/lazyregexp"
)

// connectionMode is the argument mode of every database connection.
type connectionMode struct{ Mode string }

func (m *connectionMode) attr() hcl.Field {
	m.Mode = "rw"
	return hcl.Choice(&m.Mode, "mode", `"ro" makes the connection read-only; "rw" lets exec write.`, "ro", "rw").
		DefaultDoc(`"rw"`)
}

func (m *connectionMode) readOnly() bool { return m.Mode == "ro" }

// integerForm is the argument integers of every database connection.
type integerForm struct{ Integers string }

func (f *integerForm) integersAttr() hcl.Field {
	f.Integers = "number"
	return hcl.Choice(&f.Integers, "integers", `The type of integers beyond 2^53 - 1 in the output, which programs `+
		`in JavaScript round: "number" is a JSON number with every digit, "text" is a string with every digit. `+
		`Smaller ones are always numbers.`, "number", "text").DefaultDoc(`"number"`)
}

func (f *integerForm) bigIntegersAsText() bool { return f.Integers == "text" }

// serverConnection is a connection "postgres" or "mysql" block.
type serverConnection struct {
	connectionMode
	integerForm
	URL            hcl.SecretText
	Instances      hcl.SecretTexts
	Instance       *hcl.Expr
	Role           *hcl.Expr
	Session        *hcl.KeyValues
	CAFile         string
	Auth           *auth
	MaxConnections int
	MaxIdle        time.Duration
	ConnectTimeout time.Duration
	Timeout        time.Duration
	Decimals       string
	TimeZone       string

	dialect sqltext.Dialect
}

// exampleURLs are addresses of databases.
var exampleURLs = map[sqltext.Dialect]string{
	sqltext.PostgreSQL: `"postgres://user:password@host:5432/name?sslmode=verify-full"`,
	sqltext.MySQL:      `"mysql://user:password@host:3306/name?tls=true"`,
}

func (c *serverConnection) postgresSpec() hcl.Spec { return c.spec(sqltext.PostgreSQL) }
func (c *serverConnection) mysqlSpec() hcl.Spec    { return c.spec(sqltext.MySQL) }

func (c *serverConnection) spec(dialect sqltext.Dialect) hcl.Spec {
	c.dialect = dialect
	c.MaxConnections, c.MaxIdle, c.ConnectTimeout, c.Decimals = 10, 5*time.Minute, 5*time.Second, "text"
	address := hcl.ExactlyOneOf("the address",
		hcl.Attr(&c.URL, "url", "The address and the credentials of the database, such as "+exampleURLs[dialect]+
			". TLS is an option of the URL."),
		hcl.Attr(&c.Instances, "instances", "The addresses and credentials of several databases with the same tables, "+
			"in place of url. The keys are their names. Each has a pool of its own."))
	return hcl.Join(address, c.identitySpec(), hcl.Spec{
		hcl.Attr(&c.CAFile, "ca_file", "A PEM file with the certificate authorities to trust instead of those of the "+
			"system. The url must verify the certificate: with "+verifyOptions[dialect].name+" also its name, with "+
			verifyOptions[dialect].chain+" only that one of the authorities has issued it.").Contents(),
		c.attr(),
		hcl.PositiveInt(&c.MaxConnections, "max_connections",
			"The maximum number of statements that run at the same time.").DefaultDoc("10"),
		hcl.Attr(&c.MaxIdle, "max_idle_time", "How long an unused connection stays open.").DefaultDoc(`"5m"`),
		hcl.PositiveDuration(&c.ConnectTimeout, "connect_timeout", "The time limit for connecting.").DefaultDoc(`"5s"`),
		hcl.Attr(&c.Timeout, "timeout",
			"The time limit that the server enforces for one statement.").DefaultDoc("the time limit of the call"),
		hcl.Choice(&c.Decimals, "decimals", `The type of decimals in the output: "text" is a string with every digit, `+
			`"number" is a JSON number with every digit.`, "text", "number").DefaultDoc(`"text"`),
		hcl.Block(&c.Auth, "auth", "How new connections sign in: with a token of a cloud in place of a password in "+
			"the url. The url must verify the certificate of the server.", (*auth).spec),
		c.integersAttr(),
		hcl.Attr(&c.TimeZone, "time_zone", `The time zone of the session: a name that the database knows, such as `+
			`"Europe/Berlin", or an offset such as "+05:30".`).DefaultDoc("that of the database, the role and the url"),
	})
}

// timeZone matches the values of time_zone.
var timeZone = lazyregexp.New(`^(?:[A-Za-z][A-Za-z0-9_+/-]*|[+-](?:0[0-9]|1[0-4]):[0-5][0-9])$`)

// hostName matches the names and addresses of hosts.
var hostName = lazyregexp.New(`^(?:[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*\.?|[0-9A-Fa-f:.]+(?:%[A-Za-z0-9_.-]+)?)$`)

// errHostName is the error of an address whose host can never exist.
var errHostName = errors.New("its host is not the name or the address of a host")

func (c *serverConnection) decimalsAsNumbers() bool { return c.Decimals == "number" }

// Check implements hcl.Checker.
func (c *serverConnection) Check() error {
	if c.TimeZone != "" && !timeZone.MatchString(c.TimeZone) {
		return hcl.Blame(&c.TimeZone,
			`time_zone must be the name of a time zone, such as "Europe/Berlin", or an offset such as "+05:30".`)
	}
	var checks adapters.Checks
	if c.Auth != nil {
		c.Auth.check(&checks)
	}
	if c.Instances == nil {
		checks = append(checks, c.checkURL(&c.URL, "url", c.URL.Reveal()))
	}
	for _, of := range c.Instances {
		checks = append(checks, c.checkURL(of, of.Name+" of instances", of.Text.Reveal()))
	}
	return checks.Err()
}

// checkURL checks an address that was decoded into a field, which a message calls name.
func (c *serverConnection) checkURL(field any, name, url string) (err error) {
	switch {
	case url == "" && c.Instances == nil:
	case strings.TrimSpace(url) != url:
		return hcl.Blame(field, "%s begins or ends with white space. Remove it from the value.", name)
	case c.dialect == sqltext.MySQL:
		_, err = parseMySQLURL(url)
	default:
		err = checkPostgresURL(url)
	}
	if err != nil { // it may quote the password
		if errors.Is(err, errHostName) {
			return hcl.Blame(field, "%s has a host that cannot exist. Write the name or the address of a host.", name)
		}
		example := exampleURLs[c.dialect]
		return hcl.Blame(field, "%s is not the address of a %v database, such as %s. Write @ / : ? # %% of a "+
			"password, and = in an option, in percent-encoding: %%40 %%2F %%3A %%3F %%23 %%25 %%3D.",
			name, c.dialect, example)
	}
	if url == "" {
		return nil
	}
	return c.checkSecurity(field, name, url)
}

// sqliteConnection is a connection "sqlite" block.
type sqliteConnection struct {
	connectionMode
	integerForm
	File        string
	Init        string
	BusyTimeout time.Duration
	MaxReaders  int
}

func (c *sqliteConnection) spec() hcl.Spec {
	c.BusyTimeout, c.MaxReaders = 5*time.Second, max(4, runtime.NumCPU())
	return hcl.Spec{
		hcl.Attr(&c.File, "file", "The database file. A relative path starts at the configuration directory. "+
			`With mode = "rw" a missing file is created, but not a missing directory.`).Require().
			Hint(` The database of a connection is file = "name.db".`, "path", "database", "db", "dsn"),
		c.attr().Hint(" A SQLite file has no sessions and no roles. Write the value in the statement, as in "+
			"WHERE tenant = ${caller.claims.tenant}.", "session", "role", "instances", "instance"),
		hcl.Attr(&c.Init, "init", "Statements that run when the database is first opened for writing, "+
			`such as file("schema.sql"). They must be idempotent, because they run again after every restart.`),
		hcl.Attr(&c.BusyTimeout, "busy_timeout",
			"How long a statement waits for another process that locks the file.").DefaultDoc(`"5s"`),
		hcl.PositiveInt(&c.MaxReaders, "max_readers",
			"The maximum number of queries that run at the same time. Writes run one at a time.").
			RenamedFrom("readers").DefaultDoc("one per processor, at least 4"),
		c.integersAttr(),
	}
}

func openSQLite(ctx context.Context, c *sqliteConnection, env adapters.Env) (any, error) {
	if env.Mocks != nil {
		return openMockedSQLite(ctx, c, env)
	}
	return openSQLiteFile(ctx, c, env)
}

// Check implements hcl.Checker.
func (c *sqliteConnection) Check() error {
	var checks adapters.Checks
	checks.Refuse(c.File == "", &c.File, "file must not be empty.")
	checks.Refuse(strings.TrimSpace(c.File) != c.File, &c.File,
		"file begins or ends with white space. Remove it from the value.")
	checks.Refuse(c.File == ":memory:", &c.File,
		"A database in memory would be a different one for every connection. Name a file.")
	checks.Refuse(c.Init != "" && c.readOnly(), &c.Init, `init writes, but mode is "ro".`)
	return checks.Err()
}

// Effects implements hcl.EffectLister.
func (c *serverConnection) Effects(*hcl.Connection) []hcl.Effect {
	effects := []hcl.Effect{{Verb: "OPEN", Source: []any{&c.URL, &c.Instances}, What: c.Mode}}
	if c.CAFile != "" {
		effects = append(effects, hcl.Effect{Verb: "TRUST", Source: []any{&c.CAFile}})
	}
	if c.Instance != nil {
		effects = append(effects, hcl.Effect{Verb: "INSTANCE", Source: []any{&c.Instance}})
	}
	if c.Role != nil {
		effects = append(effects, hcl.Effect{Verb: "ROLE", Source: []any{&c.Role}})
	}
	if c.Session != nil {
		effects = append(effects, hcl.Effect{Verb: "SESSION", Source: []any{&c.Session}})
	}
	return effects
}

// Effects implements hcl.EffectLister.
func (c *sqliteConnection) Effects(*hcl.Connection) []hcl.Effect {
	effects := []hcl.Effect{{Verb: "OPEN", Source: []any{&c.File}, What: c.Mode}}
	if c.Init != "" {
		effects = append(effects, hcl.Effect{Verb: "RUN", What: "init " + adapters.TextDigest(c.Init)})
	}
	return effects
}
