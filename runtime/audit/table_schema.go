package audit

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"hatchel/runtime/postgres"
)

const (
	tableLock = 0x48544C41 // that who writes holds, with the table's number
	madeLock  = 0x48544C42 // that who makes the table holds
)

// tableMade is the table, and the trigger that lets nobody change what is in it, whatever may be done to replicas. Who owns the table can still remove the trigger.
const tableMade = `
CREATE TABLE hatchel_audit (seq bigint PRIMARY KEY, time timestamptz NOT NULL, hash text NOT NULL, line text NOT NULL);
CREATE OR REPLACE FUNCTION hatchel_audit_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	RAISE EXCEPTION 'hatchel_audit is only added to' USING ERRCODE = 'insufficient_privilege';
END $$;
` + triggerMade

const triggerMade = `
CREATE TRIGGER hatchel_audit_only_added BEFORE UPDATE OR DELETE OR TRUNCATE ON hatchel_audit FOR EACH STATEMENT EXECUTE FUNCTION hatchel_audit_refuse();
ALTER TABLE hatchel_audit ENABLE ALWAYS TRIGGER hatchel_audit_only_added;
`

const (
	errEncoding  = postgres.Refused("it keeps texts in another encoding than UTF-8")
	errUnguarded = postgres.Refused("what is in its table hatchel_audit could be changed: the trigger hatchel_audit_only_added is missing or disabled")
	errForeign   = postgres.Refused("its table hatchel_audit is not this program's")
	errEnd       = postgres.Refused("the last record of its table hatchel_audit was changed: `hatchel audit --verify` says more")
	errOther     = postgres.Refused("its table hatchel_audit is not the one that was written to, or a record in it was changed: `hatchel audit --verify` says more. Restart the server to go on from what is there")
	errSlow      = postgres.Refused("it does not answer in time")
	errGone      = postgres.Refused("its table hatchel_audit is gone")
	errUntaken   = postgres.Refused("its table hatchel_audit does not take records: something in the database keeps them out, a rule or a trigger")
)

// guarded reports whether nothing that is in the table t can be changed: its trigger is there, is not disabled, and is about every change (BEFORE, of DELETE, UPDATE and TRUNCATE, once a statement).
const guarded = "EXISTS (SELECT FROM pg_trigger WHERE tgrelid = t.oid AND tgname = 'hatchel_audit_only_added' AND tgtype = 58 AND tgenabled IN ('O', 'A'))"

// stillGuarded is asked before every transaction: the trigger may have been removed, and the table be another one of the search_path.
const stillGuarded = "SELECT " + guarded + `, t.oid, EXISTS (SELECT FROM hatchel_audit WHERE seq = $1 AND hash = $2) OR t.oid = $3 AND NOT EXISTS (SELECT FROM hatchel_audit WHERE seq BETWEEN 1 AND $1)
	FROM pg_class t WHERE t.oid = 'hatchel_audit'::regclass`

// lastSequence is beyond what any log comes to: who writes a larger one wants the numbers to run out.
const lastSequence = 1 << 62

// asked is what answers a query: a connection, a pool or a transaction.
type asked interface {
	QueryRow(ctx context.Context, query string, arguments ...any) pgx.Row
}

// prepareTable makes the table when it is missing, one process after the other. A role that may not make any can write to one that is there.
func prepareTable(ctx context.Context, pool *pgxpool.Pool) error {
	there, err := checkTable(ctx, pool)
	if err != nil || there {
		return err
	}
	return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", madeLock); err != nil {
			return err
		}
		if there, err := checkTable(ctx, tx); there || err != nil {
			return err
		}
		_, err := tx.Exec(ctx, tableMade)
		return err
	})
}

// checkTable reports whether the table is there. One that cannot be gone on with is refused.
func checkTable(ctx context.Context, in asked) (there bool, err error) {
	const query = `SELECT t.columns IS NOT NULL, coalesce(t.columns, 0), coalesce(t.guarded, false), current_setting('server_encoding') FROM (SELECT) AS one LEFT JOIN (
		SELECT (SELECT count(*) FROM pg_attribute WHERE attrelid = t.oid AND NOT attisdropped AND attname IN ('seq', 'time', 'hash', 'line')) AS columns,
			` + guarded + ` AS guarded
		FROM pg_class t WHERE t.relname = 'hatchel_audit' AND pg_table_is_visible(t.oid)) AS t ON true` // which no cache of a connection answers
	var columns int
	var guarded bool
	var encoding string
	err = in.QueryRow(ctx, query).Scan(&there, &columns, &guarded, &encoding)
	switch {
	case err != nil:
		return false, err
	case encoding != "UTF8":
		return false, errEncoding
	case !there:
		return false, nil
	case columns != 4:
		return false, errForeign
	case !guarded:
		return false, errUnguarded
	}
	return true, checkEnd(ctx, in)
}

// checkEnd refuses a table whose last record does not say what its row says: nothing could follow it.
func checkEnd(ctx context.Context, in asked) error {
	r, err := scanRow(in.QueryRow(ctx, "SELECT seq, time, hash, line FROM hatchel_audit ORDER BY seq DESC LIMIT 1"))
	if err == pgx.ErrNoRows {
		return nil
	}
	if err == nil && !r.agrees() {
		return errEnd
	}
	return err
}

// CheckTable is why the log in a database could not be opened, without making anything in it.
func CheckTable(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, writeTime)
	defer cancel()
	conn, err := reach(ctx, address)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = checkTable(ctx, conn)
	return postgres.Fault(context.WithoutCancel(ctx), err)
}

// reach connects to a database.
func reach(ctx context.Context, address string) (*pgx.Conn, error) {
	config, err := postgres.Config(address, 1)
	if err != nil {
		return nil, err
	}
	conn, err := pgx.ConnectConfig(ctx, config.ConnConfig)
	return conn, postgres.Fault(context.WithoutCancel(ctx), err)
}
