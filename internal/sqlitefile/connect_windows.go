//go:build cgo

package sqlitefile

import "github.com/mattn/go-sqlite3"

// Connect opens a connection to the database of a URI. Windows lets nobody replace a file that SQLite has open.
func Connect(driver *sqlite3.SQLiteDriver, uri string) (*sqlite3.SQLiteConn, error) {
	raw, err := driver.Open(uri)
	if err != nil {
		return nil, err
	}
	return raw.(*sqlite3.SQLiteConn), nil
}
