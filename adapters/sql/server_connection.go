package sql

import (
	"time"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/hcl/template/sqltext"
)

// connectionMode is the argument mode of every database connection.
type connectionMode struct{ Mode string }

func (m *connectionMode) attr() hcl.Field {
	m.Mode = "rw"
	return hcl.Attr(&m.Mode, "mode", `"ro" makes the connection read-only; "rw" lets exec write.`).Or(`"rw"`)
}

func (m *connectionMode) check(checks *adapters.Checks) { checks.OneOf(&m.Mode, "mode", "ro", "rw") }

func (m *connectionMode) readOnly() bool { return m.Mode == "ro" }

// serverConnection is a connection "postgres" or "mysql" block.
type serverConnection struct {
	connectionMode
	URL            hcl.SecretText
	MaxConnections int
	MaxIdle        time.Duration
	ConnectTimeout time.Duration
	Timeout        time.Duration
	Decimals       string

	engine   sqltext.Dialect
	checkURL func(*serverConnection) error
}

func (c *serverConnection) spec(example string) hcl.Spec {
	c.MaxConnections, c.MaxIdle, c.ConnectTimeout, c.Decimals = 10, 5*time.Minute, 5*time.Second, "text"
	return hcl.Spec{
		hcl.Attr(&c.URL, "url", "The address and the credentials of the database, such as "+example+
			". TLS is an option of the URL.").Require(),
		c.attr(),
		hcl.Attr(&c.MaxConnections, "max_connections",
			"The maximum number of statements that run at the same time.").Or("10"),
		hcl.Attr(&c.MaxIdle, "max_idle_time", "How long an unused connection stays open.").Or(`"5m"`),
		hcl.Attr(&c.ConnectTimeout, "connect_timeout", "The time limit for connecting.").Or(`"5s"`),
		hcl.Attr(&c.Timeout, "timeout",
			"The time limit that the server enforces for one statement.").Or("the time limit of the call"),
		hcl.Attr(&c.Decimals, "decimals", `The type of decimals in the output: "text" is a string with every digit, `+
			`"number" is a JSON number with every digit.`).Or(`"text"`),
	}
}

func (c *serverConnection) postgresSpec() hcl.Spec {
	c.engine, c.checkURL = sqltext.PostgreSQL, checkPostgresURL
	return c.spec(`"postgres://user:password@host:5432/name?sslmode=verify-full"`)
}

func (c *serverConnection) mysqlSpec() hcl.Spec {
	c.engine, c.checkURL = sqltext.MySQL, checkMySQLURL
	return c.spec(`"mysql://user:password@host:3306/name?tls=true"`)
}

func (c *serverConnection) dialect() sqltext.Dialect { return c.engine }

// Check implements the check of a connection at load.
func (c *serverConnection) Check() error {
	var checks adapters.Checks
	c.check(&checks)
	checks.AtLeastOne(&c.MaxConnections, "max_connections")
	checks.OneOf(&c.Decimals, "decimals", "text", "number")
	checks.Refuse(c.ConnectTimeout == 0, &c.ConnectTimeout, "connect_timeout must be greater than 0.")
	if err := c.checkURL(c); c.URL != "" && err != nil {
		checks = append(checks, err)
	}
	return checks.Err()
}
