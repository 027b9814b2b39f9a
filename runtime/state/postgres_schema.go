package state

import (
	"context"
	"errors"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	postgresVersion = 4          // of the schema, in hatchel_state
	schemaLock      = 0x48544C53 // advisory lock of the process that creates the tables
)

// postgresSchema creates all tables. Times are milliseconds since 1970, those in hatchel_rates
// microseconds. hatchel_owners and hatchel_rates use the clock of the database, all others that of a
// process.
const postgresSchema = `
CREATE TABLE hatchel_state (version integer NOT NULL);
CREATE TABLE hatchel_records (kind text COLLATE "C" NOT NULL, name text COLLATE "C" NOT NULL,
	unique_key text COLLATE "C" NOT NULL, grp text COLLATE "C" NOT NULL, version integer NOT NULL, due bigint NOT NULL,
	expires bigint NOT NULL, body bytea NOT NULL, owner text NOT NULL, PRIMARY KEY (kind, name));
CREATE UNIQUE INDEX hatchel_records_unique_key ON hatchel_records (kind, unique_key) WHERE unique_key <> '';
CREATE INDEX hatchel_records_expire ON hatchel_records (expires);
CREATE INDEX hatchel_records_due ON hatchel_records (kind, due, name) WHERE due > 0;
CREATE INDEX hatchel_records_grouped ON hatchel_records (kind, grp, due, name) WHERE due > 0;
CREATE INDEX hatchel_records_owned ON hatchel_records (kind, due, name) WHERE owner <> '';
CREATE TABLE hatchel_owners (name text PRIMARY KEY, expires bigint NOT NULL);
CREATE TABLE hatchel_rates (name text PRIMARY KEY, next bigint NOT NULL, wait bigint NOT NULL);
`

// querier is a connection, a pool or a transaction.
type querier interface {
	QueryRow(ctx context.Context, query string, arguments ...any) pgx.Row
}

// findTables reports whether the tables exist. It rejects tables of another version of the schema, and
// those of another program.
func findTables(ctx context.Context, db querier) (exist bool, err error) {
	// No connection has a cached plan of this query, unlike of one that names the table.
	const query = "SELECT EXISTS (SELECT FROM pg_class WHERE relname = 'hatchel_state' AND pg_table_is_visible(oid))"
	if err := db.QueryRow(ctx, query).Scan(&exist); err != nil || !exist {
		return false, err
	}
	var version int
	err = db.QueryRow(ctx, "SELECT version FROM hatchel_state").Scan(&version)
	switch {
	case errors.Is(err, pgx.ErrNoRows), err == nil && version < 1:
		return false, operatorError("its table hatchel_state belongs to another program")
	case err != nil:
		return false, err
	}
	return true, checkVersion(version, postgresVersion)
}

// preparePostgres creates missing tables, and returns the name of the channel that belongs to the
// tables. A role that may not create tables can use existing ones.
func preparePostgres(ctx context.Context, pool *pgxpool.Pool) (channel string, err error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	exist, err := findTables(ctx, pool)
	if err == nil && !exist {
		err = pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error { return createTables(ctx, tx) })
	}
	if err == nil {
		err = pool.QueryRow(ctx, "SELECT 'hatchel_' || 'hatchel_records'::regclass::oid").Scan(&channel)
	}
	return channel, err
}

// createTables creates the tables, unless another process has done so meanwhile.
func createTables(ctx context.Context, tx pgx.Tx) error {
	if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock("+strconv.Itoa(schemaLock)+")"); err != nil {
		return err
	}
	exist, err := findTables(ctx, tx)
	if err != nil || exist {
		return err
	}
	if _, err := tx.Exec(ctx, postgresSchema); err != nil {
		return err
	}
	_, err = tx.Exec(ctx, "INSERT INTO hatchel_state (version) VALUES ($1)", postgresVersion)
	return err
}
