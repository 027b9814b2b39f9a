package state

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"

	"github.com/mattn/go-sqlite3"
)

const (
	version     = 4          // of the tables below, in user_version
	application = 0x48544C53 // in application_id: a database of ours
)

// tables are all that there is. Times are milliseconds since 1970, those of paces microseconds. What was changed is noted for the processes that watch.
const tables = `
CREATE TABLE records (id INTEGER PRIMARY KEY, kind TEXT NOT NULL, name TEXT NOT NULL, slot TEXT NOT NULL, grp TEXT NOT NULL, version INTEGER NOT NULL,
	due INTEGER NOT NULL, expires INTEGER NOT NULL, body BLOB NOT NULL, owner TEXT NOT NULL DEFAULT '');
CREATE UNIQUE INDEX records_named ON records (kind, name);
CREATE UNIQUE INDEX records_held ON records (kind, slot) WHERE slot <> '';
CREATE INDEX records_expire ON records (expires);
CREATE TABLE owners (name TEXT PRIMARY KEY, expires INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE paces (name TEXT PRIMARY KEY, next INTEGER NOT NULL, early INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE changes (id INTEGER PRIMARY KEY AUTOINCREMENT, origin TEXT NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL, made INTEGER NOT NULL);
`

// lists are the indexes by which records are listed.
const lists = `
CREATE INDEX records_due ON records (kind, due, name) WHERE due > 0;
CREATE INDEX records_grouped ON records (kind, grp, due, name, expires) WHERE due > 0;
CREATE INDEX records_owned ON records (kind, due, name) WHERE owner <> '';
`

// unite makes records of what tables of version 3 hold beside them. The own name of a deed was what its body began with, whatever follows.
const unite = `
ALTER TABLE records ADD COLUMN owner TEXT NOT NULL DEFAULT '';
INSERT INTO records (kind, name, slot, grp, version, due, expires, body, owner)
	SELECT 'secret', name, '', '', 1, 0, 9223372036854775807, value, '' FROM secrets
	UNION ALL SELECT 'used', name, '', '', 1, 0, expires + 3600000, x'', '' FROM claims
	UNION ALL SELECT 'frozen', name, '', '', 1, 0, expires, value, '' FROM kept
	UNION ALL SELECT 'task', id, '', '', version, 0, expires, body, owner FROM tasks
	UNION ALL SELECT 'deed', CASE WHEN substr(body, 1, 7) = CAST('{"id":"' AS BLOB) THEN CAST(substr(body, 8, 64) AS TEXT) ELSE name END, name, '', 1, 0, expires, body, owner FROM deeds;
DROP TABLE secrets; DROP TABLE claims; DROP TABLE kept; DROP TABLE tasks; DROP TABLE deeds; DROP INDEX records_due; DROP INDEX records_grouped;
`

// refused is an error in words for the operator.
type refused string

func (r refused) Error() string { return string(r) }

// prepare makes the tables that a file does not have yet, and refuses what is not ours, or is of a version that this program does not know.
func prepare(ctx context.Context, tx *sql.Tx) error {
	var found, of, objects int
	for query, dst := range map[string]*int{"PRAGMA user_version": &found, "PRAGMA application_id": &of, "SELECT count(*) FROM sqlite_schema": &objects} {
		if err := tx.QueryRowContext(ctx, query).Scan(dst); err != nil {
			return err
		}
	}
	var missing string
	switch {
	case objects == 0:
		missing = tables + lists
	case of != application || found < 1:
		return refused("this is the database of another program")
	case found == version:
		return nil
	case found == version-1:
		missing = unite + lists
	default:
		return otherVersion(found, version)
	}
	_, err := tx.ExecContext(ctx, missing+"PRAGMA user_version = "+strconv.Itoa(version)+"; PRAGMA application_id = "+strconv.Itoa(application))
	return err
}

// otherVersion is why what another version of this program has written is not gone on with.
func otherVersion(found, known int) error {
	if found > known {
		return refused(fmt.Sprintf("a later version of this program has written it, in version %d of its form, and this one knows version %d", found, known))
	}
	return refused(fmt.Sprintf("an early version of this program has written it, in version %d of its form, with which this one cannot go on: remove it, or name another place", found))
}

// sentence says for an operator why a file could not be opened.
func sentence(err error) error {
	var known refused
	if errors.As(err, &known) {
		return known
	}
	var e sqlite3.Error
	if !errors.As(err, &e) {
		return err
	}
	switch e.Code {
	case sqlite3.ErrNotADB, sqlite3.ErrCorrupt, sqlite3.ErrFormat:
		return refused("this is no database, or it is damaged")
	case sqlite3.ErrBusy, sqlite3.ErrLocked:
		return refused("another process holds it")
	case sqlite3.ErrReadonly, sqlite3.ErrPerm, sqlite3.ErrAuth, sqlite3.ErrCantOpen:
		return refused("it cannot be written to")
	case sqlite3.ErrFull:
		return refused("no space is left for it")
	}
	return err
}
