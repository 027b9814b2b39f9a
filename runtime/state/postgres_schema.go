package state

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	tablesVersion = 1          // of the tables below, in hatchel_state
	tablesLock    = 0x48544C53 // that who makes them holds
)

// Times are milliseconds since 1970. Those of owners are of the database's clock, all others of a process's.
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

// asked is what answers a query: a connection, a pool or a transaction.
type asked interface {
	QueryRow(ctx context.Context, query string, arguments ...any) pgx.Row
}

// tablesMade reports whether the tables are there, in the version that this program knows. Those that a later program has made are refused.
func tablesMade(ctx context.Context, in asked) (bool, error) {
	var there bool
	const query = "SELECT EXISTS (SELECT FROM pg_class WHERE relname = 'hatchel_state' AND pg_table_is_visible(oid))" // which no cache of a connection answers
	if err := in.QueryRow(ctx, query).Scan(&there); err != nil || !there {
		return false, err
	}
	var found int
	err := in.QueryRow(ctx, "SELECT version FROM hatchel_state").Scan(&found)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return false, refused("its table hatchel_state is not this program's")
	case err != nil:
		return false, err
	case found > tablesVersion:
		return false, refused(fmt.Sprintf("a later version of this program has written it, in version %d of its form, and this one knows version %d", found, tablesVersion))
	}
	return true, nil
}

// prepareTables makes the tables that are missing, one process after the other, and returns the name of the channel that belongs to them. A role that may not make any
// can use those that are there.
func prepareTables(ctx context.Context, pool *pgxpool.Pool) (channel string, err error) {
	made, err := tablesMade(ctx, pool)
	if err == nil && !made {
		err = pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", tablesLock); err != nil {
				return err
			}
			if made, err := tablesMade(ctx, tx); made || err != nil {
				return err
			}
			if _, err := tx.Exec(ctx, postgresTables); err != nil {
				return err
			}
			_, err := tx.Exec(ctx, "INSERT INTO hatchel_state (version) VALUES ($1)", tablesVersion)
			return err
		})
	}
	if err != nil {
		return "", err
	}
	err = pool.QueryRow(ctx, "SELECT 'hatchel_' || 'hatchel_tasks'::regclass::oid").Scan(&channel)
	return channel, err
}
