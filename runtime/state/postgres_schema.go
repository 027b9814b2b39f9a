package state

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	tablesVersion = 3                // of the tables below, in hatchel_state
	tablesLock    = 0x48544C53       // that who makes them holds
	makeTime      = 10 * time.Minute // that it may take to make them of what was there before, and to wait for who does
)

// postgresTables are all that there is. Times are milliseconds since 1970. Those of owners are of the database's clock, as those of paces, which are microseconds; all others are of a
// process's.
const postgresTables = `
CREATE TABLE hatchel_state (version integer NOT NULL);
CREATE TABLE hatchel_records (kind text COLLATE "C" NOT NULL, name text COLLATE "C" NOT NULL, slot text COLLATE "C" NOT NULL, grp text COLLATE "C" NOT NULL,
	version integer NOT NULL, due bigint NOT NULL, expires bigint NOT NULL, body bytea NOT NULL, owner text NOT NULL, PRIMARY KEY (kind, name));
CREATE UNIQUE INDEX hatchel_records_held ON hatchel_records (kind, slot) WHERE slot <> '';
CREATE INDEX hatchel_records_expire ON hatchel_records (expires);
CREATE TABLE hatchel_owners (name text PRIMARY KEY, expires bigint NOT NULL);
CREATE TABLE hatchel_paces (name text PRIMARY KEY, next bigint NOT NULL, early bigint NOT NULL);
`

// postgresLists are the indexes by which records are listed.
const postgresLists = `
CREATE INDEX hatchel_records_due ON hatchel_records (kind, due, name) WHERE due > 0;
CREATE INDEX hatchel_records_grouped ON hatchel_records (kind, grp, due, name) WHERE due > 0;
CREATE INDEX hatchel_records_owned ON hatchel_records (kind, due, name) WHERE owner <> '';
`

// postgresUnite makes records of what tables of version 2 hold beside them. Processes that know no other version may still write: what they have written when the tables are locked is gone on
// with, and nothing of what they would write later. The own name of a deed was what its body began with, whatever follows.
const postgresUnite = `
LOCK TABLE hatchel_claims, hatchel_kept, hatchel_tasks, hatchel_deeds, hatchel_records, hatchel_secrets;
ALTER TABLE hatchel_records ADD COLUMN owner text NOT NULL DEFAULT '';
INSERT INTO hatchel_records (kind, name, slot, grp, version, due, expires, body, owner)
	SELECT 'secret', name, '', '', 1, 0, 9223372036854775807, value, '' FROM hatchel_secrets
	UNION ALL SELECT 'used', name, '', '', 1, 0, expires + 3600000, '', '' FROM hatchel_claims
	UNION ALL SELECT 'frozen', name, '', '', 1, 0, expires, value, '' FROM hatchel_kept
	UNION ALL SELECT 'task', id, '', '', version, 0, expires, body, owner FROM hatchel_tasks
	UNION ALL SELECT 'deed', CASE WHEN substring(body for 7) = '{"id":"' THEN encode(substring(body FROM 8 FOR 64), 'escape') ELSE name END, name, '', 1, 0, expires, body, owner FROM hatchel_deeds;
DROP TABLE hatchel_secrets, hatchel_claims, hatchel_kept, hatchel_tasks, hatchel_deeds;
DROP INDEX hatchel_records_due, hatchel_records_grouped;
`

// asked is what answers a query: a connection, a pool or a transaction.
type asked interface {
	QueryRow(ctx context.Context, query string, arguments ...any) pgx.Row
}

// tablesFound is the version of the tables that are there, 0 without any. Those of a version that this program does not know are refused.
func tablesFound(ctx context.Context, in asked) (found int, err error) {
	var there bool
	const query = "SELECT EXISTS (SELECT FROM pg_class WHERE relname = 'hatchel_state' AND pg_table_is_visible(oid))" // which no cache of a connection answers
	if err := in.QueryRow(ctx, query).Scan(&there); err != nil || !there {
		return 0, err
	}
	err = in.QueryRow(ctx, "SELECT version FROM hatchel_state").Scan(&found)
	switch {
	case errors.Is(err, pgx.ErrNoRows), err == nil && found < 1:
		return 0, refused("its table hatchel_state is not this program's")
	case err != nil:
		return 0, err
	case found != tablesVersion && found != tablesVersion-1:
		return 0, otherVersion(found, tablesVersion)
	}
	return found, nil
}

// prepareTables makes the tables that are missing, one process after the other, and returns the name of the channel that belongs to them. A role that may not make any
// can use those that are there.
func prepareTables(ctx context.Context, pool *pgxpool.Pool) (channel string, err error) {
	bounded, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	found, err := tablesFound(bounded, pool)
	if err != nil {
		return "", err
	}
	if found < tablesVersion {
		making, cancel := context.WithTimeout(ctx, makeTime)
		defer cancel()
		if err := pgx.BeginFunc(making, pool, func(tx pgx.Tx) error { return makeTables(making, tx) }); err != nil {
			return "", err
		}
	}
	bounded, cancel = context.WithTimeout(ctx, callTime)
	defer cancel()
	err = pool.QueryRow(bounded, "SELECT 'hatchel_' || 'hatchel_records'::regclass::oid").Scan(&channel)
	return channel, err
}

// makeTables takes as long as it takes, for all that the address says of statements. For a table that somebody uses it waits no longer than those may: whoever comes next waits behind it.
func makeTables(ctx context.Context, tx pgx.Tx) error {
	if _, err := tx.Exec(ctx, "SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0; SELECT pg_advisory_xact_lock("+strconv.Itoa(tablesLock)+"); SET LOCAL lock_timeout TO DEFAULT"); err != nil {
		return err
	}
	found, err := tablesFound(ctx, tx)
	if err != nil || found == tablesVersion {
		return err
	}
	missing := postgresTables
	if found > 0 {
		missing = postgresUnite
	}
	if _, err := tx.Exec(ctx, missing+postgresLists); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, "DELETE FROM hatchel_state"); err != nil {
		return err
	}
	_, err = tx.Exec(ctx, "INSERT INTO hatchel_state (version) VALUES ($1)", tablesVersion)
	return err
}
