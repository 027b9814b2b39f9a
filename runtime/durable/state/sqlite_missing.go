//go:build !cgo

package state

import (
	"context"

	"hatchel/internal/sqlitefile"
)

// Open returns the reason of a program without SQLite.
func Open(context.Context, string) (Store, error) { return nil, sqlitefile.ErrNotIncluded }

func isUniqueInSQLite(error) bool { return false }
