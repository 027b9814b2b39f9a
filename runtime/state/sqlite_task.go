package state

import (
	"context"
	"database/sql"
	"errors"
	"time"
)

// Create implements Store.
func (s *SQLite) Create(ctx context.Context, t *Task) error {
	t.Version = 1
	return s.transact(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if err := s.room(ctx, tx, s.bound.Load()); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, "INSERT INTO tasks (id, version, owner, expires, body) VALUES (?, ?, ?, ?, ?)", t.ID, t.Version, t.Owner, t.Expires.UnixMilli(), t.Body)
		return err
	})
}

const taskColumns = "id, version, owner, expires, body"

// Task implements Store.
func (s *SQLite) Task(ctx context.Context, id string) (*Task, error) {
	t, err := scan(s.db.QueryRowContext(ctx, "SELECT "+taskColumns+" FROM tasks WHERE id = ? AND expires > ?", id, now()))
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return t, err
}

// Update implements Store.
func (s *SQLite) Update(ctx context.Context, t *Task) (won bool, err error) {
	err = s.transact(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if err := s.grows(ctx, tx, t.Body, "SELECT length(body) FROM tasks WHERE id = ?", t.ID); err != nil {
			return err
		}
		res, err := tx.ExecContext(ctx, "UPDATE tasks SET version = version + 1, owner = ?, expires = ?, body = ? WHERE id = ? AND version = ? AND expires > ?",
			t.Owner, t.Expires.UnixMilli(), t.Body, t.ID, t.Version, now())
		if won = changed(res, err); !won {
			return err
		}
		return s.note(ctx, tx, KindTask, t.ID)
	})
	if err != nil || !won {
		return false, err
	}
	t.Version++
	return true, nil
}

// small is the size of a body that there is room for in any case.
const small = 4 << 10

// grows is ErrFull when a body takes more room than the one before, whose length the query gives, and there is none.
func (s *SQLite) grows(ctx context.Context, tx *sql.Tx, body []byte, query string, key ...any) error {
	if len(body) <= small {
		return nil
	}
	full := s.room(ctx, tx, 2*s.bound.Load())
	if !errors.Is(full, ErrFull) {
		return full
	}
	var before int
	err := tx.QueryRowContext(ctx, query, key...).Scan(&before)
	if errors.Is(err, sql.ErrNoRows) || err == nil && len(body) <= before {
		return nil
	}
	return errors.Join(err, full)
}

// Present implements Store.
func (s *SQLite) Present(ctx context.Context, owner string, until time.Time) error {
	return s.transact(ctx, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "INSERT OR REPLACE INTO owners (name, expires) VALUES (?, ?)", owner, until.UnixMilli())
		return err
	})
}

// Orphans implements Store.
func (s *SQLite) Orphans(ctx context.Context) (orphans []*Task, err error) {
	rows, err := s.db.QueryContext(ctx, "SELECT "+taskColumns+` FROM tasks
		WHERE owner <> '' AND expires > ?1 AND owner NOT IN (SELECT name FROM owners WHERE expires > ?1) ORDER BY id`, now())
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		t, err := scan(rows)
		if err != nil {
			return nil, err
		}
		orphans = append(orphans, t)
	}
	return orphans, rows.Err()
}

func scan(row interface{ Scan(...any) error }) (*Task, error) {
	var t Task
	var expires int64
	if err := row.Scan(&t.ID, &t.Version, &t.Owner, &expires, &t.Body); err != nil {
		return nil, err
	}
	t.Expires = time.UnixMilli(expires)
	return &t, nil
}
