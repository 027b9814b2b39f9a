// Package sql turns sql blocks into transactions. Adapter is the block, Connectors are the databases that several blocks share: SQLite, PostgreSQL,
// and MySQL or MariaDB.
//
// The text of a statement never depends on a value of a call: package sqltext binds each value as a parameter. A query runs where the engine itself
// refuses every write, whatever the first word of the statement is. What one block executes is one transaction: it happens whole, or not at all.
package sql

import (
	"hatchel/adapters"
	"hatchel/hcl/template/sqltext"
)

// Adapter declares the sql block of tools and steps.
func Adapter() adapters.Adapter {
	return adapters.New("sql", "Runs SQL on the database that its label names. Values in the statement are bound as parameters. A query gives output.rows, output.row, the first of them or null, and output.truncated; exec gives output.affected and output.last_id, and rows where it says RETURNING; a list of exec gives output.results, one for each.", (*block).spec, bind).
		Over(true, "sqlite", "postgres", "mysql")
}

// Connectors declares the databases.
func Connectors() []adapters.Connector {
	lite := adapters.NewConnector("sqlite", "A SQLite database file.", (*sqliteConnection).spec, openSQLite)
	lite.Kind.Dialect = sqltext.SQLite
	post := adapters.NewConnector("postgres", "A PostgreSQL database.", (*serverConnection).postgresSpec, openPostgres)
	post.Kind.Dialect = sqltext.PostgreSQL
	my := adapters.NewConnector("mysql", "A MySQL or MariaDB database.", (*serverConnection).mysqlSpec, openMySQL)
	my.Kind.Dialect = sqltext.MySQL
	return []adapters.Connector{lite, post, my}
}
