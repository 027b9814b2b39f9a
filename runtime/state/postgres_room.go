package state

import (
	"context"
	"time"
)

const (
	rowSize   = 128 // bytes that a row takes beside its body, about
	remeasure = 5 * time.Second
	skew      = time.Hour // by which the clocks of processes may differ
)

const measure = `SELECT pg_relation_size('hatchel_claims')
	+ (SELECT coalesce(sum(octet_length(value) + 128), 0) FROM hatchel_kept)
	+ (SELECT coalesce(sum(octet_length(body) + 128), 0) FROM hatchel_tasks)
	+ (SELECT coalesce(sum(octet_length(body) + 128), 0) FROM hatchel_deeds)
	+ (SELECT coalesce(sum(octet_length(body) + 256), 0) FROM hatchel_records)
	+ (SELECT count(*) * 128 FROM hatchel_paces)`

// room is ErrFull when so many bytes are held, even when what has expired is gone; otherwise more are held from now on. What other processes add is seen a little later.
func (p *Postgres) room(ctx context.Context, most int64, more int) (err error) {
	held, recent := p.count(0)
	if !recent {
		held, err = p.weigh(ctx)
	}
	if err == nil && held >= most {
		if err = p.sweep(ctx); err == nil {
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
	if err := p.pool.QueryRow(ctx, measure).Scan(&held); err != nil {
		return 0, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held, p.measured = held, time.Now()
	return held, nil
}

// grows is ErrFull when a body takes more room than the one before, whose length the query gives, and there is none.
func (p *Postgres) grows(ctx context.Context, body []byte, query string, key ...any) error {
	if len(body) <= small {
		return nil
	}
	full := p.room(ctx, 2*p.bound.Load(), 0)
	if full != ErrFull {
		return full
	}
	var before int
	if err := p.pool.QueryRow(ctx, query, key...).Scan(&before); err != nil {
		return ignoreNone(err)
	}
	if len(body) <= before {
		return nil
	}
	return full
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

// sweep removes what has expired: claims only when that is so for every process, whatever its clock, because what they are about could be claimed again otherwise.
func (p *Postgres) sweep(ctx context.Context) error {
	for _, table := range []string{"kept", "tasks", "deeds", "records"} {
		if _, err := p.pool.Exec(ctx, "DELETE FROM hatchel_"+table+" WHERE expires <= $1", now()); err != nil {
			return err
		}
	}
	if _, err := p.pool.Exec(ctx, "DELETE FROM hatchel_claims WHERE expires <= $1", time.Now().Add(-skew).UnixMilli()); err != nil {
		return err
	}
	if _, err := p.pool.Exec(ctx, "DELETE FROM hatchel_owners WHERE expires <= "+databaseNow); err != nil {
		return err
	}
	_, err := p.pool.Exec(ctx, "DELETE FROM hatchel_paces WHERE next / 1000 < "+databaseNow)
	return err
}

// databaseNow is the clock of the database, in milliseconds.
const databaseNow = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint"
