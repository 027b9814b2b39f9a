package sql

import (
	"context"
	"errors"
	"fmt"

	"hatchel/hcl/template/sqltext"
)

// maxCatalogRows is the maximum number of rows of one Query.
const maxCatalogRows = 100_000

// Query runs one SELECT without values on the handle of a database connection, in a read-only transaction, and returns
// its rows. It is for questions about the database itself; calls of tools do not use it. The error is for the author.
func Query(ctx context.Context, connection any, text string) ([]map[string]any, error) {
	db, ok := connection.(database)
	if !ok {
		return nil, errors.New("the connection is no database")
	}
	e := &execution{text: text, kind: sqltext.Kind{Verb: "SELECT"}, isQuery: true, last: true}
	e.result = &resultSet{maxRows: maxCatalogRows}
	err := db.read(ctx, identity{}, func(tx transaction) error { return e.run(ctx, tx) })
	if down := new(unreachableError); errors.As(err, &down) {
		return nil, down
	}
	if err != nil {
		return nil, errors.New(authorMessage(err, dialectOf(db)))
	}
	if e.result.truncated {
		return nil, fmt.Errorf("the catalog has more than %d entries", e.result.rows)
	}
	rows := make([]map[string]any, e.result.rows)
	for i := range rows {
		rows[i] = e.result.object(i)
	}
	return rows, nil
}

func dialectOf(db database) sqltext.Dialect {
	switch db := db.(type) {
	case *instances:
		return dialectOf(db.of(identity{}))
	case *postgresDatabase:
		return sqltext.PostgreSQL
	case *mysqlDatabase:
		return sqltext.MySQL
	}
	return sqltext.SQLite
}

// TextNumbers reports which numbers of a connection block are answered as text: decimals, and integers that JavaScript
// rounds.
func TextNumbers(config any) (decimals, integers bool) {
	switch c := config.(type) {
	case *serverConnection:
		return !c.decimalsAsNumbers(), c.bigIntegersAsText()
	case *sqliteConnection:
		return false, c.bigIntegersAsText()
	}
	return false, false
}

// ReadOnly reports whether the configuration of a connection block has mode = "ro".
func ReadOnly(config any) bool {
	c, ok := config.(interface{ readOnly() bool })
	return ok && c.readOnly()
}
