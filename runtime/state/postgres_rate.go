package state

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
)

// Times are microseconds of the clock of the database. The clock is read after the row is locked, so
// that a later event has a later time. These statements do not wait for the disk.
const (
	rateClock = "(SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS at, " +
		"set_config('synchronous_commit', 'off', true) OFFSET 0) AS clock"
	postgresReserve = `UPDATE hatchel_rates SET (wait, next) = (
			SELECT greatest(least(next, at + $5) - at - $3, 0), greatest(least(next, at + $5), at) +
				CASE WHEN least(next, at + $5) - at - $3 <= $4 THEN $2::bigint ELSE 0 END FROM ` + rateClock + `)
		WHERE name = $1 RETURNING wait`
	postgresReserveFirst = "INSERT INTO hatchel_rates (name, next, wait) SELECT $1, at + $2, 0 FROM " +
		rateClock + " ON CONFLICT DO NOTHING"
)

// Reserve implements Records.
func (p *Postgres) Reserve(
	ctx context.Context, name string, rate Rate, maxWait time.Duration,
) (wait time.Duration, ok bool, err error) {
	interval, ahead, furthest := rate.microseconds()
	err = p.run(ctx, func(ctx context.Context, _ session) error {
		for { // again when another caller has added the name, or it was swept meanwhile
			var micros int64
			row := p.pool.QueryRow(ctx, postgresReserve, name, interval, ahead, maxWait.Microseconds(), furthest)
			if err := row.Scan(&micros); !errors.Is(err, pgx.ErrNoRows) {
				wait = time.Duration(micros) * time.Microsecond
				return err
			}
			if err := p.reserveBytes(ctx, 2*p.quota.Load(), rateRowSize); err != nil {
				return err
			}
			if added, err := p.execute(ctx, postgresReserveFirst, name, interval); added || err != nil {
				return err
			}
		}
	})
	return wait, err == nil && wait <= maxWait, err
}
