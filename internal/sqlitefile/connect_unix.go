//go:build cgo && unix

package sqlitefile

/*
#include "index_guard.h"
*/
import "C"

import (
	"errors"
	"sync"

	"github.com/mattn/go-sqlite3"
)

// guardIndexes has SQLite open files with the guard, before the first database is opened.
var guardIndexes = sync.OnceValue(func() error {
	if C.sqlitefile_guard_indexes() != 0 {
		return errors.New("SQLite does not let its system calls be replaced")
	}
	return nil
})

// Connect opens a connection to the database of a URI. SQLite shares the index of a WAL, which it finds by the path,
// among the connections of a process. So a connection to another file than the one that is open with the same index is
// refused: its error is ErrReplaced.
func Connect(driver *sqlite3.SQLiteDriver, uri string) (*sqlite3.SQLiteConn, error) {
	if err := guardIndexes(); err != nil {
		return nil, err
	}
	refused := C.sqlitefile_refusals()
	raw, err := driver.Open(uri)
	switch {
	case err == nil:
		return raw.(*sqlite3.SQLiteConn), nil
	case C.sqlitefile_refusals() != refused:
		return nil, ErrReplaced
	}
	return nil, err
}
