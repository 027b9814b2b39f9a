package state

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
)

const (
	postgresPresent = "EXISTS (SELECT FROM hatchel_owners AS o WHERE o.name = owner AND o.expires > " + databaseNow + ")"
	postgresRecord  = columns + postgresPresent + " FROM hatchel_records"
)

// Add implements Records.
func (p *Postgres) Add(ctx context.Context, r *Record) (before *Record, err error) {
	err = p.run(ctx, func(ctx context.Context) error {
		for { // again, when the one that was there has expired or was removed meanwhile
			full := p.room(ctx, r.share(p.bound.Load()), len(r.Body)+recordSize)
			if full == nil {
				added, err := p.tell(ctx, r, `INSERT INTO hatchel_records (kind, name, slot, grp, version, due, expires, owner, body)
					VALUES ($1, $2, $3, $4, 1, $5, $6, $7, $8) ON CONFLICT DO NOTHING`,
					r.Kind, r.Name, r.Slot, r.Group, r.Due.UnixMilli(), r.Expires.UnixMilli(), r.Owner, r.bodyOf())
				if err != nil || added {
					return err
				}
			} else if !errors.Is(full, ErrFull) {
				return full
			}
			before, err = p.inTheWay(ctx, r)
			if err != nil || before != nil {
				return err
			}
			if full != nil {
				return full
			}
		}
	})
	if before == nil && err == nil {
		r.Version = 1
	}
	return before, err
}

// inTheWay is the record that has the name or the slot that another one would have. Those that have expired are removed.
func (p *Postgres) inTheWay(ctx context.Context, r *Record) (*Record, error) {
	const theirs = " WHERE kind = $1 AND (name = $2 OR slot = $3 AND slot <> '') AND expires "
	if _, err := p.pool.Exec(ctx, "DELETE FROM hatchel_records"+theirs+"<= $4", r.Kind, r.Name, r.Slot, now()); err != nil {
		return nil, err
	}
	return scanRecord(p.pool.QueryRow(ctx, postgresRecord+theirs+"> $4 ORDER BY name <> $2 LIMIT 1", r.Kind, r.Name, r.Slot, now()))
}

// Record implements Records.
func (p *Postgres) Record(ctx context.Context, kind, name string) (*Record, error) {
	return p.findRecord(ctx, " WHERE kind = $1 AND name = $2 AND expires > $3", kind, name)
}

// Holder implements Records.
func (p *Postgres) Holder(ctx context.Context, kind, slot string) (*Record, error) {
	return p.findRecord(ctx, " WHERE kind = $1 AND slot = $2 AND slot <> '' AND expires > $3", kind, slot)
}

func (p *Postgres) findRecord(ctx context.Context, where, kind, key string) (r *Record, err error) {
	err = p.run(ctx, func(ctx context.Context) error {
		r, err = scanRecord(p.pool.QueryRow(ctx, postgresRecord+where, kind, key, now()))
		return err
	})
	return r, err
}

// Replace implements Records.
func (p *Postgres) Replace(ctx context.Context, r *Record) (won bool, err error) {
	err = p.run(ctx, func(ctx context.Context) error {
		if err := p.grows(ctx, r); err != nil {
			return err
		}
		for {
			won, err = p.replace(ctx, r)
			if !twice(err) {
				return err
			}
			const gone = "DELETE FROM hatchel_records WHERE kind = $1 AND slot = $2 AND slot <> '' AND name <> $3 AND expires <= $4"
			switch vacated, err := p.changes(ctx, gone, r.Kind, r.Slot, r.Name, now()); {
			case err != nil:
				return err
			case !vacated:
				return ErrTaken
			}
		}
	})
	if err != nil || !won {
		return false, err
	}
	r.Version++
	return true, nil
}

func (p *Postgres) replace(ctx context.Context, r *Record) (won bool, err error) {
	return p.tell(ctx, r, `UPDATE hatchel_records SET slot = $1, grp = $2, version = version + 1, due = $3, expires = $4, owner = $5, body = $6
		WHERE kind = $7 AND name = $8 AND version = $9 AND expires > $10`,
		r.Slot, r.Group, r.Due.UnixMilli(), r.Expires.UnixMilli(), r.Owner, r.bodyOf(), r.Kind, r.Name, r.Version, now())
}

// Remove implements Records.
func (p *Postgres) Remove(ctx context.Context, r *Record) (removed bool, err error) {
	err = p.run(ctx, func(ctx context.Context) error {
		removed, err = p.tell(ctx, r, "DELETE FROM hatchel_records WHERE kind = $1 AND name = $2 AND version = $3 AND expires > $4", r.Kind, r.Name, r.Version, now())
		return err
	})
	return removed && err == nil, err
}

// List implements Records.
func (p *Postgres) List(ctx context.Context, q Query) (found []*Record, err error) {
	clauses, arguments := q.clauses(postgresPresent)
	err = p.run(ctx, func(ctx context.Context) error {
		rows, err := p.pool.Query(ctx, postgresRecord+clauses, arguments...)
		if err != nil {
			return err
		}
		found, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (*Record, error) { return scanRecord(row) })
		return err
	})
	return found, err
}

// Count implements Records.
func (p *Postgres) Count(ctx context.Context, kind, group string) (n int, err error) {
	err = p.run(ctx, func(ctx context.Context) error {
		return p.pool.QueryRow(ctx, "SELECT count(*) FROM hatchel_records WHERE kind = $1 AND grp = $2 AND due > 0 AND expires > $3", kind, group, now()).Scan(&n)
	})
	return n, err
}
