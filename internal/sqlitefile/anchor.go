//go:build cgo

package sqlitefile

import (
	"database/sql/driver"
	"errors"
	"io"
	"net/url"
	"path/filepath"

	"github.com/mattn/go-sqlite3"
)

// anchor is a connection that is open as long as a file is, so that no connection which is closed meanwhile is
// the last one: SQLite then changes the main file and removes the WAL. It also copies the WAL to the main file.
type anchor struct {
	raw           *sqlite3.SQLiteConn
	readOnly, wal bool
}

func openAnchor(path string, readOnly bool) (*anchor, error) {
	mode := "rw"
	if readOnly {
		mode = "ro"
	}
	raw, err := Connect(&sqlite3.SQLiteDriver{}, URI(path)+"?_busy_timeout=5000&mode="+mode)
	if err != nil {
		return nil, err
	}
	a := &anchor{raw: raw, readOnly: readOnly}
	_, err = a.row("SELECT count(*) FROM sqlite_schema") // opens the WAL
	var journal []driver.Value
	if err == nil {
		journal, err = a.row("PRAGMA journal_mode")
	}
	if err == nil { // from now on it waits for nobody
		_, err = a.row("PRAGMA busy_timeout = 0")
	}
	if err != nil {
		return nil, errors.Join(err, raw.Close())
	}
	a.wal = len(journal) == 1 && journal[0] == "wal"
	return a, nil
}

// keepLog has SQLite not remove the WAL and the index at the path when the connection is closed.
func (a *anchor) keepLog() { _ = a.raw.SetFileControlInt("main", sqlite3.SQLITE_FCNTL_PERSIST_WAL, 1) }

func (a *anchor) close() { _ = a.raw.Close() }

// row runs a statement and returns its first row, or nil if it has none.
func (a *anchor) row(text string) ([]driver.Value, error) {
	rows, err := a.raw.Query(text, nil)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	values := make([]driver.Value, len(rows.Columns()))
	if err := rows.Next(values); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	return values, nil
}

func intOf(v driver.Value) int {
	n, _ := v.(int64)
	return int(n)
}

// URI returns the name of a database file as SQLite reads it, without options.
func URI(path string) string {
	return "file:" + (&url.URL{Path: filepath.ToSlash(path)}).EscapedPath()
}
