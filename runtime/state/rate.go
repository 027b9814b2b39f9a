package state

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
)

// reserve reserves the next event if its wait is at most ?4, and returns the wait. ?1 is the current
// time, ?2 the interval, ?3 how far events may run ahead, ?5 the name and ?6 how far ahead the next
// reservation can be. All times are microseconds.
const reserve = `UPDATE rates SET wait = max(min(next, ?1 + ?6) - ?1 - ?3, 0),
		next = max(min(next, ?1 + ?6), ?1) + CASE WHEN min(next, ?1 + ?6) - ?1 - ?3 <= ?4 THEN ?2 ELSE 0 END
	WHERE name = ?5 RETURNING wait`

// Reserve implements Records.
func (s *SQLite) Reserve(
	ctx context.Context, name string, rate Rate, maxWait time.Duration,
) (wait time.Duration, ok bool, err error) {
	for { // again when another caller has added the name, or it was swept meanwhile
		micros, err := s.reserve(ctx, name, rate, maxWait.Microseconds())
		if err == nil {
			wait = time.Duration(micros) * time.Microsecond
			return wait, wait <= maxWait, nil
		}
		if !errors.Is(err, sql.ErrNoRows) {
			return 0, false, err
		}
		if added, err := s.reserveFirst(ctx, name, rate); added || err != nil {
			return 0, added && err == nil, err
		}
	}
}

// reserve reads the clock after it has locked the file, so that a later event has a later time.
func (s *SQLite) reserve(ctx context.Context, name string, rate Rate, maxWait int64) (micros int64, err error) {
	interval, ahead, furthest := rate.microseconds()
	err = s.transact(ctx, s.relaxed, func(ctx context.Context, t session) error {
		at := time.Now().UnixMicro()
		return t.queryRow(ctx, reserve, at, interval, ahead, maxWait, name, furthest).Scan(&micros)
	})
	return micros, err
}

// reserveFirst reserves the first event of a name. It reports false when the name exists.
func (s *SQLite) reserveFirst(ctx context.Context, name string, rate Rate) (added bool, err error) {
	interval, _, _ := rate.microseconds()
	err = s.write(ctx, func(ctx context.Context, t session) error {
		if err := t.reserveBytes(ctx, 2*s.quota.Load(), 0); err != nil {
			return err
		}
		const insert = "INSERT OR IGNORE INTO rates (name, next, wait) VALUES (?, ?, 0)"
		added, err = t.execute(ctx, insert, name, time.Now().UnixMicro()+interval)
		return err
	})
	return added, err
}

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
