package state

import (
	"context"
	"database/sql"
	"errors"
	"time"
)

// Parts of a SELECT of records; $1 is the current time.
const (
	ownerAlive   = "EXISTS (SELECT 1 FROM owners WHERE owners.name = owner AND owners.expires > $1)"
	selectRecord = columns + ownerAlive + " FROM records"
)

// Add implements Records.
func (s *SQLite) Add(ctx context.Context, r *Record) (existing *Record, err error) {
	err = s.transact(ctx, func(ctx context.Context, tx *sql.Tx) error {
		full := s.checkSize(ctx, tx, r.Priority.limit(s.quota.Load()))
		if full != nil && !errors.Is(full, ErrFull) {
			return full
		}
		added := false
		if full == nil {
			if added, err = insertRecord(ctx, tx, "IGNORE", r); err != nil {
				return err
			}
		}
		if added {
			return s.announce(ctx, tx, r)
		}
		const conflicting = " WHERE kind = $2 AND (name = $3 OR unique_key = $4 AND unique_key <> '') " +
			"AND expires > $1 ORDER BY name <> $3"
		row := tx.QueryRowContext(ctx, selectRecord+conflicting, now(), r.Kind, r.Name, r.UniqueKey)
		existing, err = scanRecord(row)
		if err != nil || existing != nil {
			return err
		}
		if full != nil {
			return full
		}
		if _, err := insertRecord(ctx, tx, "REPLACE", r); err != nil { // over an expired record
			return err
		}
		return s.announce(ctx, tx, r)
	})
	if existing == nil && err == nil {
		r.Version = 1
	}
	return existing, err
}

// insertRecord adds a record, and reports whether it has. On a conflict it does what onConflict says:
// IGNORE or REPLACE.
func insertRecord(ctx context.Context, tx *sql.Tx, onConflict string, r *Record) (bool, error) {
	statement := "INSERT OR " + onConflict + ` INTO records
		(kind, name, unique_key, grp, version, due, expires, owner, body) VALUES (?, ?, ?, ?, 1, ?, ?, ?, ?)`
	return execute(ctx, tx, statement,
		r.Kind, r.Name, r.UniqueKey, r.Group, r.Due.UnixMilli(), r.Expires.UnixMilli(), r.Owner, r.nonNullBody())
}

// Record implements Records.
func (s *SQLite) Record(ctx context.Context, kind, name string) (*Record, error) {
	const where = " WHERE kind = $2 AND name = $3 AND expires > $1"
	return scanRecord(s.db.QueryRowContext(ctx, selectRecord+where, now(), kind, name))
}

// ByUniqueKey implements Records.
func (s *SQLite) ByUniqueKey(ctx context.Context, kind, key string) (*Record, error) {
	const where = " WHERE kind = $2 AND unique_key = $3 AND unique_key <> '' AND expires > $1"
	return scanRecord(s.db.QueryRowContext(ctx, selectRecord+where, now(), kind, key))
}

// Replace implements Records.
func (s *SQLite) Replace(ctx context.Context, r *Record) (replaced bool, err error) {
	err = s.transact(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if err := s.checkGrowth(ctx, tx, r); err != nil {
			return err
		}
		replaced, err = updateRecord(ctx, tx, r)
		if isUniqueViolation(err) {
			const expired = "DELETE FROM records WHERE kind = ? AND unique_key = ? AND name <> ? AND expires <= ?"
			if removed, err := execute(ctx, tx, expired, r.Kind, r.UniqueKey, r.Name, now()); err != nil {
				return err
			} else if !removed {
				return ErrKeyTaken
			}
			replaced, err = updateRecord(ctx, tx, r)
		}
		if err != nil || !replaced {
			return err
		}
		return s.announce(ctx, tx, r)
	})
	if err != nil || !replaced {
		return false, err
	}
	r.Version++
	return true, nil
}

func updateRecord(ctx context.Context, tx *sql.Tx, r *Record) (bool, error) {
	const statement = `UPDATE records
		SET unique_key = ?, grp = ?, version = version + 1, due = ?, expires = ?, owner = ?, body = ?
		WHERE kind = ? AND name = ? AND version = ? AND expires > ?`
	return execute(ctx, tx, statement,
		r.UniqueKey, r.Group, r.Due.UnixMilli(), r.Expires.UnixMilli(), r.Owner, r.nonNullBody(),
		r.Kind, r.Name, r.Version, now())
}

// Remove implements Records.
func (s *SQLite) Remove(ctx context.Context, r *Record) (removed bool, err error) {
	err = s.transact(ctx, func(ctx context.Context, tx *sql.Tx) error {
		const statement = "DELETE FROM records WHERE kind = ? AND name = ? AND version = ? AND expires > ?"
		removed, err = execute(ctx, tx, statement, r.Kind, r.Name, r.Version, now())
		if err != nil || !removed {
			return err
		}
		return s.announce(ctx, tx, r)
	})
	return removed && err == nil, err
}

// List implements Records.
func (s *SQLite) List(ctx context.Context, q Query) (list []*Record, err error) {
	clauses, arguments := q.clauses(ownerAlive)
	rows, err := s.db.QueryContext(ctx, selectRecord+clauses, arguments...)
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

// Count implements Records.
func (s *SQLite) Count(ctx context.Context, kind, group string) (n int, err error) {
	const query = "SELECT count(*) FROM records WHERE kind = ? AND grp = ? AND due > 0 AND expires > ?"
	err = s.db.QueryRowContext(ctx, query, kind, group, now()).Scan(&n)
	return n, err
}

// Heartbeat implements Store.
func (s *SQLite) Heartbeat(ctx context.Context, owner string, until time.Time) error {
	return s.transact(ctx, func(ctx context.Context, tx *sql.Tx) error {
		const statement = "INSERT OR REPLACE INTO owners (name, expires) VALUES (?, ?)"
		_, err := tx.ExecContext(ctx, statement, owner, until.UnixMilli())
		return err
	})
}
