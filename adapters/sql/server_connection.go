package sql

import (
	"time"

	"hatchel/hcl"
	"hatchel/hcl/template/sqltext"
)

// connectionMode is the argument mode of every database connection.
type connectionMode struct{ Mode string }

func (m *connectionMode) attr() hcl.Field {
	m.Mode = "rw"
	return hcl.Choice(&m.Mode, "mode", `"ro" makes the connection read-only; "rw" lets exec write.`, "ro", "rw").
		DefaultDoc(`"rw"`)
}

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
		hcl.PositiveInt(&c.MaxConnections, "max_connections",
			"The maximum number of statements that run at the same time.").DefaultDoc("10"),
		hcl.Attr(&c.MaxIdle, "max_idle_time", "How long an unused connection stays open.").DefaultDoc(`"5m"`),
		hcl.PositiveDuration(&c.ConnectTimeout, "connect_timeout", "The time limit for connecting.").DefaultDoc(`"5s"`),
		hcl.Attr(&c.Timeout, "timeout",
			"The time limit that the server enforces for one statement.").DefaultDoc("the time limit of the call"),
		hcl.Choice(&c.Decimals, "decimals", `The type of decimals in the output: "text" is a string with every digit, `+
			`"number" is a JSON number with every digit.`, "text", "number").DefaultDoc(`"text"`),
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

func (c *serverConnection) decimalsAsNumbers() bool { return c.Decimals == "number" }

func (c *serverConnection) dialect() sqltext.Dialect { return c.engine }

// Check implements hcl.Checker.
func (c *serverConnection) Check() error {
	if c.URL == "" {
		return nil
	}
	return c.checkURL(c)
}
