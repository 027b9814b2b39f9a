package sql

import (
	"errors"
	"time"

	"hatchel/hcl"
	"hatchel/hcl/template/sqltext"
)

// serverConnection is a connection "postgres" or "mysql" block.
type serverConnection struct {
	URL            hcl.SecretText
	Mode           string
	MaxConnections int
	MaxIdle        time.Duration
	ConnectTimeout time.Duration
	Timeout        time.Duration
	Decimals       string

	kind  sqltext.Dialect
	parse func(*serverConnection) error
}

func (c *serverConnection) spec(example string) hcl.Spec {
	c.Mode, c.MaxConnections, c.MaxIdle, c.ConnectTimeout, c.Decimals = "rw", 10, 5*time.Minute, 5*time.Second, "text"
	return hcl.Spec{
		hcl.Attr(&c.URL, "url", "Where the database is and who signs in, as in "+example+". TLS is an option of the URL.").Require(),
		modeAttr(&c.Mode),
		hcl.Attr(&c.MaxConnections, "max_connections", "How many statements run at once.").DefaultDoc("10"),
		hcl.Attr(&c.MaxIdle, "max_idle_time", "How long an unused connection is kept open.").DefaultDoc(`"5m"`),
		hcl.Attr(&c.ConnectTimeout, "connect_timeout", "How long connecting may take.").DefaultDoc(`"5s"`),
		hcl.Attr(&c.Timeout, "timeout", "How long the server lets one statement run. Without it, as long as the call may last."),
		hcl.Attr(&c.Decimals, "decimals", `How decimals are answered: "text" keeps every digit in a string, "number" writes a JSON number with the same digits.`).DefaultDoc(`"text"`),
	}
}

func (c *serverConnection) postgresSpec() hcl.Spec {
	c.kind, c.parse = sqltext.PostgreSQL, checkPostgres
	return c.spec(`"postgres://user:password@host:5432/name?sslmode=verify-full"`)
}

func (c *serverConnection) mysqlSpec() hcl.Spec {
	c.kind, c.parse = sqltext.MySQL, checkMySQL
	return c.spec(`"mysql://user:password@host:3306/name?tls=true"`)
}

func (c *serverConnection) readOnly() bool           { return c.Mode == "ro" }
func (c *serverConnection) dialect() sqltext.Dialect { return c.kind }

// Check refuses what cannot be a database.
func (c *serverConnection) Check() error {
	errs := []error{checkMode(&c.Mode)}
	if c.MaxConnections < 1 {
		errs = append(errs, hcl.Blame(&c.MaxConnections, "max_connections is at least 1."))
	}
	if c.Decimals != "text" && c.Decimals != "number" {
		errs = append(errs, hcl.Blame(&c.Decimals, `decimals is "text" or "number", and this is %q.`, c.Decimals))
	}
	if c.ConnectTimeout == 0 {
		errs = append(errs, hcl.Blame(&c.ConnectTimeout, "connect_timeout is more than nothing."))
	}
	return errors.Join(append(errs, c.parse(c))...)
}
