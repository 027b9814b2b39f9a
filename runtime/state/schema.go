package state

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/mattn/go-sqlite3"
)

const (
	version     = 3          // of the tables below, in user_version
	application = 0x48544C53 // in application_id: a database of ours
)

const tables = `
CREATE TABLE secrets (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE claims (name TEXT PRIMARY KEY, expires INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE kept (name TEXT PRIMARY KEY, value BLOB NOT NULL, expires INTEGER NOT NULL);
CREATE TABLE tasks (id TEXT PRIMARY KEY, version INTEGER NOT NULL, owner TEXT NOT NULL, expires INTEGER NOT NULL, body BLOB NOT NULL);
CREATE TABLE owners (name TEXT PRIMARY KEY, expires INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX claims_expire ON claims (expires);
CREATE INDEX kept_expire ON kept (expires);
CREATE INDEX tasks_expire ON tasks (expires);
CREATE INDEX tasks_owned ON tasks (owner) WHERE owner <> '';
`

// deeds are the tables that version 2 has brought.
const deeds = `
CREATE TABLE deeds (name TEXT PRIMARY KEY, owner TEXT NOT NULL, expires INTEGER NOT NULL, body BLOB NOT NULL) WITHOUT ROWID;
CREATE INDEX deeds_expire ON deeds (expires);
`

// records are the tables that version 3 has brought. Times of paces are microseconds. What was changed is noted for the processes that watch.
const records = `
CREATE TABLE records (id INTEGER PRIMARY KEY, kind TEXT NOT NULL, name TEXT NOT NULL, slot TEXT NOT NULL, grp TEXT NOT NULL, version INTEGER NOT NULL,
	due INTEGER NOT NULL, expires INTEGER NOT NULL, body BLOB NOT NULL);
CREATE UNIQUE INDEX records_named ON records (kind, name);
CREATE UNIQUE INDEX records_held ON records (kind, slot) WHERE slot <> '';
CREATE INDEX records_due ON records (kind, due, name);
CREATE INDEX records_grouped ON records (kind, grp, due, name, expires);
CREATE INDEX records_expire ON records (expires);
CREATE TABLE paces (name TEXT PRIMARY KEY, next INTEGER NOT NULL, early INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE changes (id INTEGER PRIMARY KEY AUTOINCREMENT, origin TEXT NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL, made INTEGER NOT NULL);
`

// refused is an error in words for the operator.
type refused string

func (r refused) Error() string { return string(r) }

// prepare makes the tables that a file does not have yet, and refuses what is not ours or was made by a later program.
func prepare(ctx context.Context, tx *sql.Tx) error {
	var found, of, objects int
	for query, dst := range map[string]*int{"PRAGMA user_version": &found, "PRAGMA application_id": &of, "SELECT count(*) FROM sqlite_schema": &objects} {
		if err := tx.QueryRowContext(ctx, query).Scan(dst); err != nil {
			return err
		}
	}
	switch {
	case objects == 0:
		found = 0
	case of != application || found < 1:
		return refused("this is the database of another program")
	case found > version:
		return refused(fmt.Sprintf("a later version of this program has written it, in version %d of its form, and this one knows version %d", found, version))
	case found == version:
		return nil
	}
	brought := [version]string{tables, deeds, records}
	missing := strings.Join(brought[found:], "")
	_, err := tx.ExecContext(ctx, missing+"PRAGMA user_version = "+strconv.Itoa(version)+"; PRAGMA application_id = "+strconv.Itoa(application))
	return err
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
