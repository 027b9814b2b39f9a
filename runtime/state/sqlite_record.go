package state

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/mattn/go-sqlite3"
)

// Add implements Records.
func (s *SQLite) Add(ctx context.Context, r *Record) (before *Record, err error) {
	err = s.transact(ctx, func(ctx context.Context, tx *sql.Tx) error {
		const gone = "DELETE FROM records WHERE kind = ?1 AND (name = ?2 OR slot = ?3 AND slot <> '') AND expires <= ?4"
		if _, err := tx.ExecContext(ctx, gone, r.Kind, r.Name, r.Slot, now()); err != nil {
			return err
		}
		before, err = scanRecord(tx.QueryRowContext(ctx, selectRecord+" WHERE kind = ?1 AND (name = ?2 OR slot = ?3 AND slot <> '') ORDER BY name <> ?2", r.Kind, r.Name, r.Slot))
		if err != nil || before != nil {
			return err
		}
		if err := s.room(ctx, tx, r.share(s.bound.Load())); err != nil {
			return err
		}
		const add = "INSERT INTO records (kind, name, slot, grp, version, due, expires, body) VALUES (?, ?, ?, ?, 1, ?, ?, ?)"
		if _, err := tx.ExecContext(ctx, add, r.Kind, r.Name, r.Slot, r.Group, r.Due.UnixMilli(), r.Expires.UnixMilli(), bodyOf(r.Body)); err != nil {
			return err
		}
		return s.note(ctx, tx, r.Kind, r.Name)
	})
	if before == nil && err == nil {
		r.Version = 1
	}
	return before, err
}

const selectRecord = "SELECT kind, name, slot, grp, version, due, expires, body FROM records"

// Record implements Records.
func (s *SQLite) Record(ctx context.Context, kind, name string) (*Record, error) {
	return scanRecord(s.db.QueryRowContext(ctx, selectRecord+" WHERE kind = ? AND name = ? AND expires > ?", kind, name, now()))
}

// Holder implements Records.
func (s *SQLite) Holder(ctx context.Context, kind, slot string) (*Record, error) {
	return scanRecord(s.db.QueryRowContext(ctx, selectRecord+" WHERE kind = ? AND slot = ? AND slot <> '' AND expires > ?", kind, slot, now()))
}

// Replace implements Records.
func (s *SQLite) Replace(ctx context.Context, r *Record) (won bool, err error) {
	err = s.transact(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if err := s.grows(ctx, tx, r.Body, "SELECT length(body) FROM records WHERE kind = ? AND name = ?", r.Kind, r.Name); err != nil {
			return err
		}
		const gone = "DELETE FROM records WHERE kind = ? AND slot = ? AND slot <> '' AND name <> ? AND expires <= ?"
		if _, err := tx.ExecContext(ctx, gone, r.Kind, r.Slot, r.Name, now()); err != nil {
			return err
		}
		res, err := tx.ExecContext(ctx, `UPDATE records SET slot = ?, grp = ?, version = version + 1, due = ?, expires = ?, body = ?
			WHERE kind = ? AND name = ? AND version = ? AND expires > ?`,
			r.Slot, r.Group, r.Due.UnixMilli(), r.Expires.UnixMilli(), bodyOf(r.Body), r.Kind, r.Name, r.Version, now())
		if won = changed(res, err); !won {
			return taken(err)
		}
		return s.note(ctx, tx, r.Kind, r.Name)
	})
	if err != nil || !won {
		return false, err
	}
	r.Version++
	return true, nil
}

// taken is ErrTaken for what would give a slot to two.
func taken(err error) error {
	var e sqlite3.Error
	if errors.As(err, &e) && e.ExtendedCode == sqlite3.ErrConstraintUnique {
		return ErrTaken
	}
	return err
}

// Remove implements Records.
func (s *SQLite) Remove(ctx context.Context, r *Record) (removed bool, err error) {
	err = s.transact(ctx, func(ctx context.Context, tx *sql.Tx) error {
		res, err := tx.ExecContext(ctx, "DELETE FROM records WHERE kind = ? AND name = ? AND version = ? AND expires > ?", r.Kind, r.Name, r.Version, now())
		if removed = changed(res, err); !removed {
			return err
		}
		return s.note(ctx, tx, r.Kind, r.Name)
	})
	return removed && err == nil, err
}

// List implements Records.
func (s *SQLite) List(ctx context.Context, q Query) (found []*Record, err error) {
	where, arguments := q.clauses()
	rows, err := s.db.QueryContext(ctx, selectRecord+where, arguments...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		r, err := scanRecord(rows)
		if err != nil {
			return nil, err
		}
		found = append(found, r)
	}
	return found, rows.Err()
}

// Count implements Records.
func (s *SQLite) Count(ctx context.Context, kind, group string) (n int, err error) {
	err = s.db.QueryRowContext(ctx, "SELECT count(*) FROM records WHERE kind = ?1 AND (?2 = '' OR grp = ?2) AND expires > ?3", kind, group, now()).Scan(&n)
	return n, err
}

// scanRecord reads a record from a row, of either database; without a row it is nil.
func scanRecord(row interface{ Scan(...any) error }) (*Record, error) {
	var r Record
	var due, expires int64
	err := row.Scan(&r.Kind, &r.Name, &r.Slot, &r.Group, &r.Version, &due, &expires, &r.Body)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	r.Due, r.Expires = time.UnixMilli(due), time.UnixMilli(expires)
	return &r, nil
}
