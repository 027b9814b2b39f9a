//go:build cgo

package state

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/mattn/go-sqlite3"

	"hatchel/internal/operator"
)

// createFile creates the file and its directory if they are missing, and makes sure that only the
// owner can read the file: it holds the key of sealed values, and answers of users. SQLite creates its
// other files with the same permissions. An existing file is not opened, because closing it would
// release the locks that this process has on it.
func createFile(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return operator.FileError(err, "its directory cannot be created")
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		return f.Close()
	}
	if !errors.Is(err, fs.ErrExist) {
		return operator.FileError(err, "it cannot be created")
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return operator.FileError(err, "its permissions cannot be read")
	case info.IsDir():
		return operator.Error("it is a directory, not a file")
	case !info.Mode().IsRegular():
		return operator.Error("it is not a regular file")
	case info.Mode().Perm()&0o077 != 0:
		if err := os.Chmod(path, 0o600); err != nil {
			return operator.Error("other users can read it, and its permissions cannot be changed")
		}
	}
	return nil
}

const (
	sqliteApplication = 0x48544C53 // in application_id, to recognize our files
)

// sqliteSchema creates all tables. Times are milliseconds since 1970, those in rates microseconds.
// The table changes is for processes that watch.
const sqliteSchema = `
CREATE TABLE records (id INTEGER PRIMARY KEY, kind TEXT NOT NULL, name TEXT NOT NULL, unique_key TEXT NOT NULL,
	grp TEXT NOT NULL, version INTEGER NOT NULL, due INTEGER NOT NULL, expires INTEGER NOT NULL,
	body BLOB NOT NULL, owner TEXT NOT NULL DEFAULT '');
CREATE UNIQUE INDEX records_named ON records (kind, name);
CREATE UNIQUE INDEX records_unique_key ON records (kind, unique_key) WHERE unique_key <> '';
CREATE INDEX records_expire ON records (expires);
CREATE INDEX records_due ON records (kind, due, name) WHERE due > 0;
CREATE INDEX records_grouped ON records (kind, grp, due, name, expires) WHERE due > 0;
CREATE INDEX records_owned ON records (kind, due, name) WHERE owner <> '';
CREATE TABLE owners (name TEXT PRIMARY KEY, expires INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE rates (name TEXT PRIMARY KEY, next INTEGER NOT NULL, wait INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE changes (id INTEGER PRIMARY KEY AUTOINCREMENT, origin TEXT NOT NULL, kind TEXT NOT NULL,
	name TEXT NOT NULL, made INTEGER NOT NULL);
`

// createSchema creates the tables in an empty file. It rejects a file of another program, and one
// of another version of the schema.
func createSchema(ctx context.Context, t session) error {
	var version, application, objects int
	for query, value := range map[string]*int{
		"PRAGMA user_version":                &version,
		"PRAGMA application_id":              &application,
		"SELECT count(*) FROM sqlite_schema": &objects,
	} {
		if err := t.queryRow(ctx, query).Scan(value); err != nil {
			return err
		}
	}
	switch {
	case objects == 0:
	case application != sqliteApplication || version < 1:
		return operator.Error("it is the database of another program")
	default:
		return checkVersion(version, SQLiteVersion)
	}
	_, err := t.execute(ctx, sqliteSchema+"PRAGMA user_version = "+strconv.Itoa(SQLiteVersion)+
		"; PRAGMA application_id = "+strconv.Itoa(sqliteApplication))
	return err
}

// sqliteError turns an error of a file into one for the operator.
func sqliteError(err error) error {
	var known operator.Error
	if errors.As(err, &known) {
		return known
	}
	var e sqlite3.Error
	if !errors.As(err, &e) {
		return err
	}
	switch e.Code {
	case sqlite3.ErrNotADB, sqlite3.ErrCorrupt, sqlite3.ErrFormat:
		return operator.Error("it is not a database, or it is damaged")
	case sqlite3.ErrBusy, sqlite3.ErrLocked:
		return operator.Error("another process has locked it")
	case sqlite3.ErrReadonly, sqlite3.ErrPerm, sqlite3.ErrAuth, sqlite3.ErrCantOpen:
		return operator.Error("it is not writable")
	case sqlite3.ErrFull:
		return operator.Error("the disk is full")
	case sqlite3.ErrIoErr:
		return operator.Error("the disk or the file system reports an error")
	}
	return err
}

func isUniqueInSQLite(err error) bool {
	var e sqlite3.Error
	return errors.As(err, &e) && e.ExtendedCode == sqlite3.ErrConstraintUnique
}
