package state

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"hatchel/internal/operator"
	"hatchel/runtime/durable/postgres"
)

// PostgresVersion is the version of the schema of a state in PostgreSQL, in hatchel_state.
const PostgresVersion = 4

const schemaLock = 0x48544C53 // advisory lock of the process that creates the tables

// postgresSchema creates all tables, of the version PostgresVersion. Times are milliseconds since 1970,
// those in hatchel_rates microseconds. hatchel_owners and hatchel_rates use the clock of the database,
// all others that of a process.
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
INSERT INTO hatchel_state (version) VALUES (4);
`

// findTables reports whether the tables exist. It rejects tables of another version of the schema, and
// those of another program.
func findTables(ctx context.Context, db postgres.Querier) (exist bool, err error) {
	// No connection has a cached plan of this query, unlike of one that names the table.
	const query = "SELECT EXISTS (SELECT FROM pg_class WHERE relname = 'hatchel_state' AND pg_table_is_visible(oid))"
	if err := db.QueryRow(ctx, query).Scan(&exist); err != nil || !exist {
		return false, err
	}
	var version int
	err = db.QueryRow(ctx, "SELECT version FROM hatchel_state").Scan(&version)
	switch {
	case errors.Is(err, pgx.ErrNoRows), err == nil && version < 1:
		return false, operator.Error("its table hatchel_state belongs to another program")
	case err != nil:
		return false, err
	}
	return true, checkVersion(version, PostgresVersion)
}

// isUndefined reports whether a statement failed because a table or a column does not exist.
func isUndefined(err error) bool {
	const undefinedTable, undefinedColumn = "42P01", "42703"
	var e *pgconn.PgError
	return errors.As(err, &e) && (e.Code == undefinedTable || e.Code == undefinedColumn)
}
