package state

import (
	"context"
	"time"
)

const (
	measureInterval = 5 * time.Second
	measureSize     = "SELECT (SELECT coalesce(sum(octet_length(body) + $1), 0) FROM hatchel_records) + " +
		"(SELECT count(*) * $2 FROM hatchel_rates)"
)

// reserveBytes adds n to the size. What other processes add is noticed within 5 seconds.
func (p *Postgres) reserveBytes(ctx context.Context, limit int64, n int) (err error) {
	size, recent := p.addSize(0)
	if !recent {
		size, err = p.measure(ctx)
	}
	for more := true; more && err == nil && size >= limit; {
		if more, err = p.sweep(ctx); err == nil {
			size, err = p.measure(ctx)
		}
	}
	switch {
	case err != nil:
		return err
	case size >= limit:
		return ErrFull
	}
	p.addSize(n)
	return nil
}

// addSize adds to the size and returns it, and whether it was measured recently.
func (p *Postgres) addSize(n int) (size int64, recent bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.size += int64(n)
	return p.size, !p.measured.IsZero() && time.Since(p.measured) < measureInterval
}

func (p *Postgres) measure(ctx context.Context) (size int64, err error) {
	if err := p.pool.QueryRow(ctx, measureSize, recordRowSize, rateRowSize).Scan(&size); err != nil {
		return 0, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.size, p.measured = size, time.Now()
	return size, nil
}

// sweep removes expired rows, but only one batch of records so that no call waits long. It reports
// whether more records have expired.
func (p *Postgres) sweep(ctx context.Context) (more bool, err error) {
	const expired = "DELETE FROM hatchel_records WHERE ctid = ANY (ARRAY (" +
		"SELECT ctid FROM hatchel_records WHERE expires <= $1 LIMIT $2)) AND expires <= $1"
	tag, err := p.pool.Exec(ctx, expired, now(), sweepBatch)
	if err != nil {
		return false, err
	}
	if _, err := p.pool.Exec(ctx, "DELETE FROM hatchel_owners WHERE expires <= "+databaseNow); err != nil {
		return false, err
	}
	_, err = p.pool.Exec(ctx, "DELETE FROM hatchel_rates WHERE next / 1000 < "+databaseNow)
	return tag.RowsAffected() == sweepBatch, err
}

// databaseNow is the clock of the database in milliseconds.
const databaseNow = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint"
