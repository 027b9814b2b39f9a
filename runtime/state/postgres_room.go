package state

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	recordSize = 256 // bytes that a record takes beside its body, about
	paceSize   = 128 // that a pace takes
	remeasure  = 5 * time.Second
	measure    = "SELECT (SELECT coalesce(sum(octet_length(body) + $1), 0) FROM hatchel_records) + (SELECT count(*) * $2 FROM hatchel_paces)"
)

// room is ErrFull when so many bytes are held, even when what has expired is gone; otherwise more are held from now on. What other processes add is seen a little later.
func (p *Postgres) room(ctx context.Context, most int64, more int) (err error) {
	held, recent := p.count(0)
	if !recent {
		held, err = p.weigh(ctx)
	}
	for more := true; more && err == nil && held >= most; {
		if more, err = p.sweep(ctx); err == nil {
			held, err = p.weigh(ctx)
		}
	}
	switch {
	case err != nil:
		return err
	case held >= most:
		return ErrFull
	}
	p.count(more)
	return nil
}

// count counts bytes, and returns how many are held, and whether that was measured recently.
func (p *Postgres) count(more int) (held int64, recent bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held += int64(more)
	return p.held, !p.measured.IsZero() && time.Since(p.measured) < remeasure
}

// weigh measures how much is held.
func (p *Postgres) weigh(ctx context.Context) (held int64, err error) {
	if err := p.pool.QueryRow(ctx, measure, recordSize, paceSize).Scan(&held); err != nil {
		return 0, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held, p.measured = held, time.Now()
	return held, nil
}

// grows is ErrFull when a record takes more room than it did before, and there is none.
func (p *Postgres) grows(ctx context.Context, r *Record) error {
	if len(r.Body) <= small {
		return nil
	}
	full := p.room(ctx, 2*p.bound.Load(), 0)
	if full != ErrFull {
		return full
	}
	var before int
	err := p.pool.QueryRow(ctx, "SELECT octet_length(body) FROM hatchel_records WHERE kind = $1 AND name = $2", r.Kind, r.Name).Scan(&before)
	if errors.Is(err, pgx.ErrNoRows) || err == nil && len(r.Body) <= before {
		return nil
	}
	return errors.Join(err, full)
}

// due reports whether it is time to sweep, once in a while.
func (p *Postgres) due() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Since(p.swept) < sweepEvery {
		return false
	}
	p.swept = time.Now()
	return true
}

// tidy sweeps, and has the next call go on where more is left. What cannot be removed now is removed the next time.
func (p *Postgres) tidy(ctx context.Context) {
	if more, _ := p.sweep(ctx); more {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.swept = time.Time{}
	}
}

// sweep removes what has expired, and reports whether more records have: no more of them than one call can wait for, and keeps, are removed at once.
func (p *Postgres) sweep(ctx context.Context) (more bool, err error) {
	swept, err := p.pool.Exec(ctx, "DELETE FROM hatchel_records WHERE ctid = ANY (ARRAY (SELECT ctid FROM hatchel_records WHERE expires <= $1 LIMIT $2)) AND expires <= $1", now(), sweepAtOnce)
	if err != nil {
		return false, err
	}
	if _, err := p.pool.Exec(ctx, "DELETE FROM hatchel_owners WHERE expires <= "+databaseNow); err != nil {
		return false, err
	}
	_, err = p.pool.Exec(ctx, "DELETE FROM hatchel_paces WHERE next / 1000 < "+databaseNow)
	return swept.RowsAffected() == sweepAtOnce, err
}

// databaseNow is the clock of the database, in milliseconds.
const databaseNow = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint"
