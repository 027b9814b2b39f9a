package state

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
)

// Times are microseconds of the database's clock. It is read when the row is this one's, so that of two events the later one has the later time. None of this waits for the disk.
const (
	paceClock    = "(SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS at, set_config('synchronous_commit', 'off', true) OFFSET 0) AS clock"
	postgresBeat = `UPDATE hatchel_paces SET (early, next) = (
			SELECT greatest(least(next, at + $5) - at - $3, 0), greatest(least(next, at + $5), at) + CASE WHEN least(next, at + $5) - at - $3 <= $4 THEN $2::bigint ELSE 0 END FROM ` + paceClock + `)
		WHERE name = $1 RETURNING early`
	firstBeat = "INSERT INTO hatchel_paces (name, next, early) SELECT $1, at + $2, 0 FROM " + paceClock + " ON CONFLICT DO NOTHING"
)

// Pace implements Records.
func (p *Postgres) Pace(ctx context.Context, name string, of Rhythm, patience time.Duration) (wait time.Duration, ok bool, err error) {
	period, ahead, furthest := of.times()
	err = p.run(ctx, func(ctx context.Context) error {
		for { // again, when another one has begun it, or it was over and swept, meanwhile
			var early int64
			err := p.pool.QueryRow(ctx, postgresBeat, name, period, ahead, patience.Microseconds(), furthest).Scan(&early)
			if !errors.Is(err, pgx.ErrNoRows) {
				wait = time.Duration(early) * time.Microsecond
				return err
			}
			if err := p.room(ctx, 2*p.bound.Load(), paceSize); err != nil {
				return err
			}
			if begun, err := p.changes(ctx, firstBeat, name, period); begun || err != nil {
				return err
			}
		}
	})
	return wait, err == nil && wait <= patience, err
}
