package state

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// Create implements Store.
func (p *Postgres) Create(ctx context.Context, t *Task) error {
	t.Version = 1
	return p.run(ctx, func(ctx context.Context) error {
		if err := p.room(ctx, p.bound.Load(), len(t.Body)+rowSize); err != nil {
			return err
		}
		_, err := p.pool.Exec(ctx, "INSERT INTO hatchel_tasks (id, version, owner, expires, body) VALUES ($1, $2, $3, $4, $5)",
			t.ID, t.Version, t.Owner, t.Expires.UnixMilli(), bodyOf(t.Body))
		return err
	})
}

// Task implements Store.
func (p *Postgres) Task(ctx context.Context, id string) (t *Task, err error) {
	err = p.run(ctx, func(ctx context.Context) error {
		t, err = scan(p.pool.QueryRow(ctx, "SELECT "+taskColumns+" FROM hatchel_tasks WHERE id = $1 AND expires > $2", id, now()))
		return ignoreNone(err)
	})
	return t, err
}

// Update implements Store. Who watches is told, if the update was made.
func (p *Postgres) Update(ctx context.Context, t *Task) (won bool, err error) {
	err = p.run(ctx, func(ctx context.Context) error {
		if err := p.grows(ctx, t.Body, "SELECT octet_length(body) FROM hatchel_tasks WHERE id = $1", t.ID); err != nil {
			return err
		}
		won, err = p.changes(ctx, `WITH updated AS (
				UPDATE hatchel_tasks SET version = version + 1, owner = $1, expires = $2, body = $3 WHERE id = $4 AND version = $5 AND expires > $6 RETURNING id)
			SELECT pg_notify($7, $8) FROM updated`,
			t.Owner, t.Expires.UnixMilli(), bodyOf(t.Body), t.ID, t.Version, now(), p.channel, p.news(KindTask, t.ID))
		return err
	})
	if err != nil || !won {
		return false, err
	}
	t.Version++
	return true, nil
}

// Present implements Store.
func (p *Postgres) Present(ctx context.Context, owner string, until time.Time) error {
	return p.run(ctx, func(ctx context.Context) error {
		_, err := p.pool.Exec(ctx, "INSERT INTO hatchel_owners (name, expires) VALUES ($1, "+databaseNow+" + $2) ON CONFLICT (name) DO UPDATE SET expires = excluded.expires",
			owner, time.Until(until).Milliseconds())
		return err
	})
}

// Orphans implements Store.
func (p *Postgres) Orphans(ctx context.Context) (orphans []*Task, err error) {
	err = p.run(ctx, func(ctx context.Context) error {
		rows, err := p.pool.Query(ctx, "SELECT "+taskColumns+` FROM hatchel_tasks
			WHERE owner <> '' AND expires > $1 AND owner NOT IN (SELECT name FROM hatchel_owners WHERE expires > `+databaseNow+") ORDER BY id", now())
		if err != nil {
			return err
		}
		orphans, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (*Task, error) { return scan(row) })
		return err
	})
	return orphans, err
}

// bodyOf is a body that is no null.
func bodyOf(body []byte) []byte {
	if body == nil {
		return []byte{}
	}
	return body
}
