package state

import (
	"context"
	"database/sql"
	"errors"
	"time"
)

// What is read of a record: $1 is the time.
const (
	ownerPresent = "EXISTS (SELECT 1 FROM owners WHERE owners.name = owner AND owners.expires > $1)"
	selectRecord = columns + ownerPresent + " FROM records"
)

// Add implements Records.
func (s *SQLite) Add(ctx context.Context, r *Record) (before *Record, err error) {
	err = s.transact(ctx, func(ctx context.Context, tx *sql.Tx) error {
		full := s.room(ctx, tx, r.share(s.bound.Load()))
		if full != nil && !errors.Is(full, ErrFull) {
			return full
		}
		added := false
		if full == nil {
			if added, err = insert(ctx, tx, "IGNORE", r); err != nil {
				return err
			}
		}
		if added {
			return s.note(ctx, tx, r)
		}
		const theirs = " WHERE kind = $2 AND (name = $3 OR slot = $4 AND slot <> '') AND expires > $1 ORDER BY name <> $3"
		before, err = scanRecord(tx.QueryRowContext(ctx, selectRecord+theirs, now(), r.Kind, r.Name, r.Slot))
		if err != nil || before != nil {
			return err
		}
		if full != nil {
			return full
		}
		if _, err := insert(ctx, tx, "REPLACE", r); err != nil { // what is in its way has expired
			return err
		}
		return s.note(ctx, tx, r)
	})
	if before == nil && err == nil {
		r.Version = 1
	}
	return before, err
}

// insert adds a record, unless it is in the way of another and the word for that is IGNORE, and reports whether it has.
func insert(ctx context.Context, tx *sql.Tx, otherwise string, r *Record) (bool, error) {
	return changes(ctx, tx, "INSERT OR "+otherwise+" INTO records (kind, name, slot, grp, version, due, expires, owner, body) VALUES (?, ?, ?, ?, 1, ?, ?, ?, ?)",
		r.Kind, r.Name, r.Slot, r.Group, r.Due.UnixMilli(), r.Expires.UnixMilli(), r.Owner, r.bodyOf())
}

// Record implements Records.
func (s *SQLite) Record(ctx context.Context, kind, name string) (*Record, error) {
	return scanRecord(s.db.QueryRowContext(ctx, selectRecord+" WHERE kind = $2 AND name = $3 AND expires > $1", now(), kind, name))
}

// Holder implements Records.
func (s *SQLite) Holder(ctx context.Context, kind, slot string) (*Record, error) {
	return scanRecord(s.db.QueryRowContext(ctx, selectRecord+" WHERE kind = $2 AND slot = $3 AND slot <> '' AND expires > $1", now(), kind, slot))
}

// Replace implements Records.
func (s *SQLite) Replace(ctx context.Context, r *Record) (won bool, err error) {
	err = s.transact(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if err := s.grows(ctx, tx, r); err != nil {
			return err
		}
		won, err = replace(ctx, tx, r)
		if twice(err) {
			const gone = "DELETE FROM records WHERE kind = ? AND slot = ? AND name <> ? AND expires <= ?"
			if vacated, err := changes(ctx, tx, gone, r.Kind, r.Slot, r.Name, now()); err != nil {
				return err
			} else if !vacated {
				return ErrTaken
			}
			won, err = replace(ctx, tx, r)
		}
		if err != nil || !won {
			return err
		}
		return s.note(ctx, tx, r)
	})
	if err != nil || !won {
		return false, err
	}
	r.Version++
	return true, nil
}

func replace(ctx context.Context, tx *sql.Tx, r *Record) (won bool, err error) {
	return changes(ctx, tx, `UPDATE records SET slot = ?, grp = ?, version = version + 1, due = ?, expires = ?, owner = ?, body = ?
		WHERE kind = ? AND name = ? AND version = ? AND expires > ?`,
		r.Slot, r.Group, r.Due.UnixMilli(), r.Expires.UnixMilli(), r.Owner, r.bodyOf(), r.Kind, r.Name, r.Version, now())
}

// Remove implements Records.
func (s *SQLite) Remove(ctx context.Context, r *Record) (removed bool, err error) {
	err = s.transact(ctx, func(ctx context.Context, tx *sql.Tx) error {
		removed, err = changes(ctx, tx, "DELETE FROM records WHERE kind = ? AND name = ? AND version = ? AND expires > ?", r.Kind, r.Name, r.Version, now())
		if err != nil || !removed {
			return err
		}
		return s.note(ctx, tx, r)
	})
	return removed && err == nil, err
}

// List implements Records.
func (s *SQLite) List(ctx context.Context, q Query) (found []*Record, err error) {
	where, arguments := q.clauses(ownerPresent)
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
	err = s.db.QueryRowContext(ctx, "SELECT count(*) FROM records WHERE kind = ? AND grp = ? AND due > 0 AND expires > ?", kind, group, now()).Scan(&n)
	return n, err
}

// Present implements Store.
func (s *SQLite) Present(ctx context.Context, owner string, until time.Time) error {
	return s.transact(ctx, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "INSERT OR REPLACE INTO owners (name, expires) VALUES (?, ?)", owner, until.UnixMilli())
		return err
	})
}
