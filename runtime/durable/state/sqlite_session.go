//go:build cgo

package state

import (
	"context"
	"database/sql"
	"time"
)

// sqliteSession runs statements in a transaction, or reads outside of any.
type sqliteSession struct {
	store *SQLite
	conn  interface {
		ExecContext(ctx context.Context, statement string, arguments ...any) (sql.Result, error)
		QueryContext(ctx context.Context, query string, arguments ...any) (*sql.Rows, error)
		QueryRowContext(ctx context.Context, query string, arguments ...any) *sql.Row
	}
}

func (t *sqliteSession) execute(ctx context.Context, statement string, arguments ...any) (bool, error) {
	result, err := t.conn.ExecContext(ctx, statement, arguments...)
	if err != nil {
		return false, err
	}
	n, err := result.RowsAffected()
	return err == nil && n > 0, err
}

// change adds a row for the watchers of other processes.
func (t *sqliteSession) change(ctx context.Context, r *Record, statement string, arguments ...any) (bool, error) {
	changed, err := t.execute(ctx, statement, arguments...)
	if !changed || !t.store.shared || r.NoNotify {
		return changed, err
	}
	const announce = "INSERT INTO changes (origin, kind, name, made) VALUES (?, ?, ?, ?)"
	_, err = t.conn.ExecContext(ctx, announce, t.store.origin, r.Kind, r.Name, now())
	return true, err
}

func (t *sqliteSession) queryRow(ctx context.Context, query string, arguments ...any) scanner {
	return t.conn.QueryRowContext(ctx, query, arguments...)
}

func (t *sqliteSession) list(ctx context.Context, query string, arguments ...any) (list []*Record, err error) {
	rows, err := t.conn.QueryContext(ctx, query, arguments...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		r, err := scanRecord(rows)
		if err != nil {
			return nil, err
		}
		list = append(list, r)
	}
	return list, rows.Err()
}

// withClock adds the clock of this process.
func (t *sqliteSession) withClock(arguments ...any) []any {
	return append(arguments, time.Now().UnixMicro())
}

// reserveBytes looks at the size of the file.
func (t *sqliteSession) reserveBytes(ctx context.Context, limit int64, _ int) (err error) {
	for more := true; err == nil; {
		var size int64
		const query = "SELECT (page_count - freelist_count) * page_size " +
			"FROM pragma_page_count, pragma_freelist_count, pragma_page_size"
		err = t.conn.QueryRowContext(ctx, query).Scan(&size)
		switch {
		case err != nil:
		case size < limit:
			return nil
		case !more:
			return ErrFull
		default:
			more, err = t.sweep(ctx)
		}
	}
	return err
}

// sweep removes expired rows, but only one batch of records so that no call waits long. It reports
// whether more records have expired.
func (t *sqliteSession) sweep(ctx context.Context) (more bool, err error) {
	const expired = "DELETE FROM records WHERE id IN (SELECT id FROM records WHERE expires <= ? LIMIT ?)"
	result, err := t.conn.ExecContext(ctx, expired, now(), sweepBatch)
	if err != nil {
		return false, err
	}
	n, err := result.RowsAffected()
	for statement, until := range map[string]int64{
		"DELETE FROM owners WHERE expires <= ?": now(),
		"DELETE FROM rates WHERE next <= ?":     time.Now().UnixMicro(),
		"DELETE FROM changes WHERE made <= ?":   time.Now().Add(-changeRetention).UnixMilli(),
	} {
		if err == nil {
			_, err = t.conn.ExecContext(ctx, statement, until)
		}
	}
	return n == sweepBatch, err
}
