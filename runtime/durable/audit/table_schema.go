package audit

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"hatchel/internal/operator"
	"hatchel/runtime/durable/postgres"
)

// Advisory locks.
const (
	writeLock  = 0x48544C41 // of the writing process, together with the OID of the table
	createLock = 0x48544C42 // of the process that creates the table
)

// tableSchema creates the table, and a trigger that rejects every change of a record, also on
// replicas of logical replication. The owner of the table can still remove the trigger.
const tableSchema = `
CREATE TABLE hatchel_audit (seq bigint PRIMARY KEY, time timestamptz NOT NULL, hash text NOT NULL, line text NOT NULL);
CREATE OR REPLACE FUNCTION hatchel_audit_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	RAISE EXCEPTION 'hatchel_audit is append-only' USING ERRCODE = 'insufficient_privilege';
END $$;
` + triggerSchema

const triggerSchema = `
CREATE TRIGGER hatchel_audit_only_added BEFORE UPDATE OR DELETE OR TRUNCATE ON hatchel_audit
	FOR EACH STATEMENT EXECUTE FUNCTION hatchel_audit_refuse();
ALTER TABLE hatchel_audit ENABLE ALWAYS TRIGGER hatchel_audit_only_added;
`

const (
	errEncoding  = operator.Error("its encoding is not UTF-8")
	errUnguarded = operator.Error("records in its table hatchel_audit can be changed: " +
		"the trigger hatchel_audit_only_added is missing or disabled")
	errForeign    = operator.Error("its table hatchel_audit belongs to another program")
	errChangedEnd = operator.Error("the last record of its table hatchel_audit was changed: " +
		"`hatchel audit --verify` shows the details")
	errOther = operator.Error("its table hatchel_audit was replaced, or a record in it was changed: " +
		"`hatchel audit --verify` shows the details. Restart the server to continue with the existing records")
	errSlow        = operator.Error("it does not answer in time")
	errGone        = operator.Error("its table hatchel_audit no longer exists")
	errNotAccepted = operator.Error("its table hatchel_audit does not accept records: " +
		"a rule or a trigger of the database keeps them out")
)

// goneError returns the error of a table whose last records were removed.
func goneError(last, written int64) error {
	return operator.Error(fmt.Sprintf("records were removed from its table hatchel_audit: the last one is %d, "+
		"and %d was written. Restart the server to continue from the last one", last, written))
}

// isGuarded is true when the trigger of the table t exists, is enabled, and rejects every change:
// tgtype 58 means BEFORE DELETE, UPDATE and TRUNCATE, once a statement.
const isGuarded = "EXISTS (SELECT FROM pg_trigger WHERE tgrelid = t.oid AND " +
	"tgname = 'hatchel_audit_only_added' AND tgtype = 58 AND tgenabled IN ('O', 'A'))"

const selectLast = "SELECT seq, time, hash, line FROM hatchel_audit ORDER BY seq DESC LIMIT 1"

// selectState is run in every transaction, because the trigger may have been removed, and another
// table of the search_path may have the name now.
const selectState = "SELECT " + isGuarded + `, t.oid,
	EXISTS (SELECT FROM hatchel_audit WHERE seq = $1 AND hash = $2) OR
		t.oid = $3 AND NOT EXISTS (SELECT FROM hatchel_audit WHERE seq BETWEEN 1 AND $1)
	FROM pg_class t WHERE t.oid = 'hatchel_audit'::regclass`

// maxSequence is larger than any sequence that a log reaches. A larger one was inserted to make the
// numbers run out.
const maxSequence = 1 << 62

// checkTable reports whether the table exists, and rejects one that must not be written to.
func checkTable(ctx context.Context, db postgres.Querier) (exists bool, err error) {
	// No connection has a cached plan of this query, unlike of one that names the table.
	const query = `SELECT t.columns IS NOT NULL, coalesce(t.columns, 0), coalesce(t.guarded, false),
			current_setting('server_encoding')
		FROM (SELECT) AS one LEFT JOIN (
			SELECT (SELECT count(*) FROM pg_attribute WHERE attrelid = t.oid AND NOT attisdropped AND
				attname IN ('seq', 'time', 'hash', 'line')) AS columns, ` + isGuarded + ` AS guarded
			FROM pg_class t WHERE t.relname = 'hatchel_audit' AND pg_table_is_visible(t.oid)) AS t ON true`
	var columns int
	var guarded bool
	var encoding string
	err = db.QueryRow(ctx, query).Scan(&exists, &columns, &guarded, &encoding)
	switch {
	case err != nil:
		return false, err
	case encoding != "UTF8":
		return false, errEncoding
	case !exists:
		return false, nil
	case columns != 4:
		return false, errForeign
	case !guarded:
		return false, errUnguarded
	}
	return true, checkLastRow(ctx, db)
}

// checkLastRow rejects a table whose last row is inconsistent: no record could follow it.
func checkLastRow(ctx context.Context, db postgres.Querier) error {
	r, err := scanRow(db.QueryRow(ctx, selectLast))
	if err == pgx.ErrNoRows {
		return nil
	}
	if err == nil && !r.isConsistent() {
		return errChangedEnd
	}
	return err
}

// CheckTable returns why OpenTable would fail. It creates nothing.
func CheckTable(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	conn, err := postgres.Connect(ctx, address)
	if err != nil {
		return err
	}
	defer postgres.Disconnect(ctx, conn)
	_, err = checkTable(ctx, conn)
	return postgres.DescribeError(context.WithoutCancel(ctx), err)
}
