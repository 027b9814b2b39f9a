package state

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
)

const (
	postgresOwnerAlive = "EXISTS (SELECT FROM hatchel_owners AS o " +
		"WHERE o.name = owner AND o.expires > " + databaseNow + ")"
	postgresSelect = columns + postgresOwnerAlive + " FROM hatchel_records"
)

// Add implements Records.
func (p *Postgres) Add(ctx context.Context, r *Record) (existing *Record, err error) {
	err = p.run(ctx, func(ctx context.Context) error {
		for { // again when the existing record has expired or was removed meanwhile
			full := p.reserveBytes(ctx, r.Priority.limit(p.quota.Load()), len(r.Body)+recordRowSize)
			if full == nil {
				const statement = `INSERT INTO hatchel_records
					(kind, name, unique_key, grp, version, due, expires, owner, body)
					VALUES ($1, $2, $3, $4, 1, $5, $6, $7, $8) ON CONFLICT DO NOTHING`
				added, err := p.change(ctx, r, statement,
					r.Kind, r.Name, r.UniqueKey, r.Group, r.Due.UnixMilli(), r.Expires.UnixMilli(), r.Owner,
					r.nonNullBody())
				if err != nil || added {
					return err
				}
			} else if !errors.Is(full, ErrFull) {
				return full
			}
			existing, err = p.findConflicting(ctx, r)
			if err != nil || existing != nil {
				return err
			}
			if full != nil {
				return full
			}
		}
	})
	if existing == nil && err == nil {
		r.Version = 1
	}
	return existing, err
}

// findConflicting returns the record that has the name or the unique key of r. It removes expired
// ones.
func (p *Postgres) findConflicting(ctx context.Context, r *Record) (*Record, error) {
	const conflicting = " WHERE kind = $1 AND (name = $2 OR unique_key = $3 AND unique_key <> '') AND expires "
	_, err := p.pool.Exec(ctx, "DELETE FROM hatchel_records"+conflicting+"<= $4", r.Kind, r.Name, r.UniqueKey, now())
	if err != nil {
		return nil, err
	}
	const query = postgresSelect + conflicting + "> $4 ORDER BY name <> $2 LIMIT 1"
	return scanRecord(p.pool.QueryRow(ctx, query, r.Kind, r.Name, r.UniqueKey, now()))
}

// Record implements Records.
func (p *Postgres) Record(ctx context.Context, kind, name string) (*Record, error) {
	return p.findRecord(ctx, " WHERE kind = $1 AND name = $2 AND expires > $3", kind, name)
}

// ByUniqueKey implements Records.
func (p *Postgres) ByUniqueKey(ctx context.Context, kind, key string) (*Record, error) {
	return p.findRecord(ctx, " WHERE kind = $1 AND unique_key = $2 AND unique_key <> '' AND expires > $3", kind, key)
}

func (p *Postgres) findRecord(ctx context.Context, where, kind, key string) (r *Record, err error) {
	err = p.run(ctx, func(ctx context.Context) error {
		r, err = scanRecord(p.pool.QueryRow(ctx, postgresSelect+where, kind, key, now()))
		return err
	})
	return r, err
}

// Replace implements Records.
func (p *Postgres) Replace(ctx context.Context, r *Record) (replaced bool, err error) {
	err = p.run(ctx, func(ctx context.Context) error {
		if err := p.checkGrowth(ctx, r); err != nil {
			return err
		}
		for {
			replaced, err = p.updateRecord(ctx, r)
			if !isUniqueViolation(err) {
				return err
			}
			const expired = `DELETE FROM hatchel_records
				WHERE kind = $1 AND unique_key = $2 AND unique_key <> '' AND name <> $3 AND expires <= $4`
			switch removed, err := p.execute(ctx, expired, r.Kind, r.UniqueKey, r.Name, now()); {
			case err != nil:
				return err
			case !removed:
				return ErrKeyTaken
			}
		}
	})
	if err != nil || !replaced {
		return false, err
	}
	r.Version++
	return true, nil
}

func (p *Postgres) updateRecord(ctx context.Context, r *Record) (bool, error) {
	const statement = `UPDATE hatchel_records
		SET unique_key = $1, grp = $2, version = version + 1, due = $3, expires = $4, owner = $5, body = $6
		WHERE kind = $7 AND name = $8 AND version = $9 AND expires > $10`
	return p.change(ctx, r, statement,
		r.UniqueKey, r.Group, r.Due.UnixMilli(), r.Expires.UnixMilli(), r.Owner, r.nonNullBody(),
		r.Kind, r.Name, r.Version, now())
}

// Remove implements Records.
func (p *Postgres) Remove(ctx context.Context, r *Record) (removed bool, err error) {
	err = p.run(ctx, func(ctx context.Context) error {
		const statement = "DELETE FROM hatchel_records WHERE kind = $1 AND name = $2 AND version = $3 AND expires > $4"
		removed, err = p.change(ctx, r, statement, r.Kind, r.Name, r.Version, now())
		return err
	})
	return removed && err == nil, err
}

// List implements Records.
func (p *Postgres) List(ctx context.Context, q Query) (list []*Record, err error) {
	clauses, arguments := q.clauses(postgresOwnerAlive)
	err = p.run(ctx, func(ctx context.Context) error {
		rows, err := p.pool.Query(ctx, postgresSelect+clauses, arguments...)
		if err != nil {
			return err
		}
		list, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (*Record, error) { return scanRecord(row) })
		return err
	})
	return list, err
}

// Count implements Records.
func (p *Postgres) Count(ctx context.Context, kind, group string) (n int, err error) {
	err = p.run(ctx, func(ctx context.Context) error {
		const query = "SELECT count(*) FROM hatchel_records WHERE kind = $1 AND grp = $2 AND due > 0 AND expires > $3"
		return p.pool.QueryRow(ctx, query, kind, group, now()).Scan(&n)
	})
	return n, err
}
