package state

import (
	"context"
	"database/sql"
	"errors"
	"time"
)

// Begin implements Store.
func (s *SQLite) Begin(ctx context.Context, d *Deed) (before *Deed, err error) {
	err = s.transact(ctx, func(ctx context.Context, tx *sql.Tx) error {
		before, err = findDeed(ctx, tx, d.Name)
		if err != nil || before != nil {
			return err
		}
		if err := s.room(ctx, tx, s.bound.Load()); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, "INSERT OR REPLACE INTO deeds (name, owner, expires, body) VALUES (?, ?, ?, ?)", d.Name, d.Owner, d.Expires.UnixMilli(), d.Body)
		return err
	})
	return before, err
}

// Deed implements Store.
func (s *SQLite) Deed(ctx context.Context, name string) (*Deed, error) {
	return findDeed(ctx, s.db, name)
}

func findDeed(ctx context.Context, in interface {
	QueryRowContext(context.Context, string, ...any) *sql.Row
}, name string) (*Deed, error) {
	d := Deed{Name: name}
	var expires int64
	err := in.QueryRowContext(ctx, `SELECT owner, owner IN (SELECT name FROM owners WHERE expires > ?2), expires, body
		FROM deeds WHERE name = ?1 AND expires > ?2`, name, now()).Scan(&d.Owner, &d.Alive, &expires, &d.Body)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	d.Expires = time.UnixMilli(expires)
	return &d, nil
}

// Settle implements Store.
func (s *SQLite) Settle(ctx context.Context, owner string, d *Deed) (settled bool, err error) {
	err = s.transact(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if err := s.grows(ctx, tx, d.Body, "SELECT length(body) FROM deeds WHERE name = ?", d.Name); err != nil {
			return err
		}
		res, err := tx.ExecContext(ctx, "UPDATE deeds SET owner = ?, expires = ?, body = ? WHERE name = ? AND owner = ? AND expires > ?",
			d.Owner, d.Expires.UnixMilli(), d.Body, d.Name, owner, now())
		settled = changed(res, err)
		return err
	})
	return settled && err == nil, err
}

// Forget implements Store.
func (s *SQLite) Forget(ctx context.Context, name, owner string) (forgotten bool, err error) {
	err = s.transact(ctx, func(ctx context.Context, tx *sql.Tx) error {
		res, err := tx.ExecContext(ctx, "DELETE FROM deeds WHERE name = ? AND owner = ? AND expires > ?", name, owner, now())
		forgotten = changed(res, err)
		return err
	})
	return forgotten && err == nil, err
}
