package sql

import (
	"runtime"
	"time"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/hcl/template/sqltext"
)

// sqliteConnection is a connection "sqlite" block.
type sqliteConnection struct {
	connectionMode
	File        string
	Init        string
	BusyTimeout time.Duration
	MaxReaders  int
}

func (c *sqliteConnection) spec() hcl.Spec {
	c.BusyTimeout, c.MaxReaders = 5*time.Second, max(4, runtime.NumCPU())
	return hcl.Spec{
		hcl.Attr(&c.File, "file", "The database file. A relative path starts at the configuration directory. "+
			`With mode = "rw" a missing file is created, but not a missing directory.`).Require(),
		c.attr(),
		hcl.Attr(&c.Init, "init", "Statements that run when the database is first opened for writing, "+
			`such as file("schema.sql"). They must be idempotent, because they run again after every restart.`),
		hcl.Attr(&c.BusyTimeout, "busy_timeout",
			"How long a statement waits for another process that locks the file.").DefaultDoc(`"5s"`),
		hcl.PositiveInt(&c.MaxReaders, "max_readers",
			"The maximum number of queries that run at the same time. Writes run one at a time.").
			RenamedFrom("readers").DefaultDoc("one per processor, at least 4"),
	}
}

// Check implements hcl.Checker.
func (c *sqliteConnection) Check() error {
	var checks adapters.Checks
	checks.Refuse(c.File == "", &c.File, "file must not be empty.")
	checks.Refuse(c.File == ":memory:", &c.File,
		"A database in memory would be a different one for every connection. Name a file.")
	checks.Refuse(c.Init != "" && c.readOnly(), &c.Init, `init writes, but mode is "ro".`)
	return checks.Err()
}

func (c *sqliteConnection) dialect() sqltext.Dialect { return sqltext.SQLite }
