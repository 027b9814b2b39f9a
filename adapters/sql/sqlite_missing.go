//go:build !cgo

package sql

import (
	"context"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/internal/sqlitefile"
)

// openSQLiteFile refuses the connection: the program has no SQLite.
func openSQLiteFile(context.Context, *sqliteConnection, adapters.Env) (database, error) {
	return nil, hcl.Blame(nil, "The connection is to a SQLite database: %v.", sqlitefile.ErrNotIncluded)
}

// makeMemory returns the reason of a program without SQLite.
func (m *mockedDatabase) makeMemory(context.Context, *sqliteConnection, adapters.Env, string) error {
	return sqlitefile.ErrNotIncluded
}

// engineResultOf returns 0: there is no SQLite that fails.
func engineResultOf(error) sqliteResult { return 0 }
