package state

import (
	"context"
	"time"
)

// Begin implements Store.
func (p *Postgres) Begin(ctx context.Context, d *Deed) (before *Deed, err error) {
	err = p.run(ctx, func(ctx context.Context) error {
		for { // again, when the one that was there has expired or was forgotten meanwhile
			before, err = p.findDeed(ctx, d.Name)
			if err != nil || before != nil {
				return err
			}
			if err := p.room(ctx, p.bound.Load(), len(d.Body)+rowSize); err != nil {
				return err
			}
			begun, err := p.changes(ctx, `INSERT INTO hatchel_deeds (name, owner, expires, body) VALUES ($1, $2, $3, $4)
				ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, expires = excluded.expires, body = excluded.body WHERE hatchel_deeds.expires <= $5`,
				d.Name, d.Owner, d.Expires.UnixMilli(), bodyOf(d.Body), now())
			if err != nil || begun {
				return err
			}
		}
	})
	return before, err
}

// Deed implements Store.
func (p *Postgres) Deed(ctx context.Context, name string) (d *Deed, err error) {
	err = p.run(ctx, func(ctx context.Context) error {
		d, err = p.findDeed(ctx, name)
		return err
	})
	return d, err
}

func (p *Postgres) findDeed(ctx context.Context, name string) (*Deed, error) {
	d := Deed{Name: name}
	var expires int64
	err := p.pool.QueryRow(ctx, `SELECT owner, owner IN (SELECT name FROM hatchel_owners WHERE expires > `+databaseNow+`), expires, body
		FROM hatchel_deeds WHERE name = $1 AND expires > $2`, name, now()).Scan(&d.Owner, &d.Alive, &expires, &d.Body)
	if err != nil {
		return nil, ignoreNone(err)
	}
	d.Expires = time.UnixMilli(expires)
	return &d, nil
}

// Settle implements Store.
func (p *Postgres) Settle(ctx context.Context, owner string, d *Deed) (settled bool, err error) {
	err = p.run(ctx, func(ctx context.Context) error {
		if err := p.grows(ctx, d.Body, "SELECT octet_length(body) FROM hatchel_deeds WHERE name = $1", d.Name); err != nil {
			return err
		}
		settled, err = p.changes(ctx, "UPDATE hatchel_deeds SET owner = $1, expires = $2, body = $3 WHERE name = $4 AND owner = $5 AND expires > $6",
			d.Owner, d.Expires.UnixMilli(), bodyOf(d.Body), d.Name, owner, now())
		return err
	})
	return settled && err == nil, err
}

// Forget implements Store.
func (p *Postgres) Forget(ctx context.Context, name, owner string) (forgotten bool, err error) {
	err = p.run(ctx, func(ctx context.Context) error {
		forgotten, err = p.changes(ctx, "DELETE FROM hatchel_deeds WHERE name = $1 AND owner = $2 AND expires > $3", name, owner, now())
		return err
	})
	return forgotten && err == nil, err
}
