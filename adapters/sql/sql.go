// Package sql implements the sql block and its connections: SQLite, PostgreSQL, and MySQL or MariaDB.
//
// The text of a statement never depends on a value of a call: package sqltext binds every value as a
// parameter. A query runs in a transaction in which the database itself refuses every write, whatever
// the statement begins with. All statements of one block run in one transaction.
package sql

import (
	"hatchel/adapters"
	"hatchel/hcl/template/sqltext"
)

const blockDoc = "Runs SQL on the database that the label names. Values in a statement are bound as parameters. " +
	"query returns output.rows, output.row (the first row or null) and output.truncated. " +
	"exec returns output.affected and output.last_id, and also the rows if the statement has RETURNING. " +
	"A list under exec returns output.results, one for each statement."

// Adapter returns the sql block of tools and steps.
func Adapter() adapters.Adapter {
	return adapters.New("sql", blockDoc, (*block).spec, bind).WithConnections(true, "sqlite", "postgres", "mysql")
}

// dialects are the dialects of the connections by their kind.
var dialects = map[string]sqltext.Dialect{
	"sqlite": sqltext.SQLite, "postgres": sqltext.PostgreSQL, "mysql": sqltext.MySQL,
}

// Connectors returns the kinds of database connections.
func Connectors() []adapters.Connector {
	connectors := []adapters.Connector{
		adapters.NewConnector("sqlite", "A SQLite database file.", (*sqliteConnection).spec, openSQLite),
		adapters.NewConnector("postgres", "A PostgreSQL database.", (*serverConnection).postgresSpec, openPostgres),
		adapters.NewConnector("mysql", "A MySQL or MariaDB database.", (*serverConnection).mysqlSpec, openMySQL),
	}
	for i, c := range connectors {
		connectors[i].Kind.Dialect = dialects[c.Kind.Name]
	}
	return connectors
}
