package state

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	tablesVersion = 2          // of the tables below, in hatchel_state
	tablesLock    = 0x48544C53 // that who makes them holds
)

// postgresTables are those of version 1. Times are milliseconds since 1970. Those of owners are of the database's clock, all others of a process's.
const postgresTables = `
CREATE TABLE hatchel_state (version integer NOT NULL);
CREATE TABLE hatchel_secrets (name text PRIMARY KEY, value bytea NOT NULL);
CREATE TABLE hatchel_claims (name text PRIMARY KEY, expires bigint NOT NULL);
CREATE TABLE hatchel_kept (name text PRIMARY KEY, value bytea NOT NULL, expires bigint NOT NULL);
CREATE TABLE hatchel_tasks (id text PRIMARY KEY, version integer NOT NULL, owner text NOT NULL, expires bigint NOT NULL, body bytea NOT NULL);
CREATE TABLE hatchel_owners (name text PRIMARY KEY, expires bigint NOT NULL);
CREATE TABLE hatchel_deeds (name text PRIMARY KEY, owner text NOT NULL, expires bigint NOT NULL, body bytea NOT NULL);
CREATE INDEX hatchel_claims_expire ON hatchel_claims (expires);
CREATE INDEX hatchel_kept_expire ON hatchel_kept (expires);
CREATE INDEX hatchel_tasks_expire ON hatchel_tasks (expires);
CREATE INDEX hatchel_tasks_owned ON hatchel_tasks (owner) WHERE owner <> '';
CREATE INDEX hatchel_deeds_expire ON hatchel_deeds (expires);
`

// postgresRecords are the tables that version 2 has brought. Times of paces are microseconds of the database's clock.
const postgresRecords = `
CREATE TABLE hatchel_records (kind text COLLATE "C" NOT NULL, name text COLLATE "C" NOT NULL, slot text COLLATE "C" NOT NULL, grp text COLLATE "C" NOT NULL,
	version integer NOT NULL, due bigint NOT NULL, expires bigint NOT NULL, body bytea NOT NULL, PRIMARY KEY (kind, name));
CREATE UNIQUE INDEX hatchel_records_held ON hatchel_records (kind, slot) WHERE slot <> '';
CREATE INDEX hatchel_records_due ON hatchel_records (kind, due, name);
CREATE INDEX hatchel_records_grouped ON hatchel_records (kind, grp, due, name);
CREATE INDEX hatchel_records_expire ON hatchel_records (expires);
CREATE TABLE hatchel_paces (name text PRIMARY KEY, next bigint NOT NULL, early bigint NOT NULL);
`

// asked is what answers a query: a connection, a pool or a transaction.
type asked interface {
	QueryRow(ctx context.Context, query string, arguments ...any) pgx.Row
}

// tablesFound is the version of the tables that are there, 0 without any. Those that a later program has made are refused.
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
	case found > tablesVersion:
		return 0, refused(fmt.Sprintf("a later version of this program has written it, in version %d of its form, and this one knows version %d", found, tablesVersion))
	}
	return found, nil
}

// prepareTables makes the tables that are missing, one process after the other, and returns the name of the channel that belongs to them. A role that may not make any
// can use those that are there.
func prepareTables(ctx context.Context, pool *pgxpool.Pool) (channel string, err error) {
	found, err := tablesFound(ctx, pool)
	if err == nil && found < tablesVersion {
		err = pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error { return makeTables(ctx, tx) })
	}
	if err != nil {
		return "", err
	}
	err = pool.QueryRow(ctx, "SELECT 'hatchel_' || 'hatchel_records'::regclass::oid").Scan(&channel)
	return channel, err
}

func makeTables(ctx context.Context, tx pgx.Tx) error {
	if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", tablesLock); err != nil {
		return err
	}
	found, err := tablesFound(ctx, tx)
	if err != nil || found == tablesVersion {
		return err
	}
	brought := [tablesVersion]string{postgresTables, postgresRecords}
	if _, err := tx.Exec(ctx, strings.Join(brought[found:], "")); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, "DELETE FROM hatchel_state"); err != nil {
		return err
	}
	_, err = tx.Exec(ctx, "INSERT INTO hatchel_state (version) VALUES ($1)", tablesVersion)
	return err
}
