package state

import (
	"context"
	"database/sql"
	"errors"
	"time"
)

// The statements on rates. A reservation reserves the next event of $1 if its wait is at most $4, and
// returns the wait. $2 is the interval, $3 how far events may run ahead, and $5 how far ahead the next
// reservation can be. All times are microseconds. The clock is read after the file or the row is
// locked, so that a later event has a later time: in SQLite, ?6 and ?3 are the clock of this process.
const (
	sqliteReserve = `UPDATE rates SET wait = max(min(next, ?6 + ?5) - ?6 - ?3, 0),
			next = max(min(next, ?6 + ?5), ?6) + CASE WHEN min(next, ?6 + ?5) - ?6 - ?3 <= ?4 THEN ?2 ELSE 0 END
		WHERE name = ?1 RETURNING wait`
	sqlitePostpone     = "UPDATE rates SET next = max(next, ?3 + ?2) WHERE name = ?1"
	sqliteReserveFirst = "INSERT OR IGNORE INTO rates (name, next, wait) VALUES (?1, ?3 + ?2, 0)"

	// rateClock is the clock of the database. Reading it keeps a statement from waiting for the disk.
	rateClock = "(SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS at, " +
		"set_config('synchronous_commit', 'off', true) OFFSET 0) AS clock"
	postgresReserve = `UPDATE hatchel_rates SET (wait, next) = (
			SELECT greatest(least(next, at + $5) - at - $3, 0), greatest(least(next, at + $5), at) +
				CASE WHEN least(next, at + $5) - at - $3 <= $4 THEN $2::bigint ELSE 0 END FROM ` + rateClock + `)
		WHERE name = $1 RETURNING wait`
	postgresPostpone = "UPDATE hatchel_rates SET next = greatest(next, at + $2) FROM " + rateClock +
		" WHERE name = $1"
	postgresReserveFirst = "INSERT INTO hatchel_rates (name, next, wait) SELECT $1, at + $2, 0 FROM " +
		rateClock + " ON CONFLICT DO NOTHING"
)

const rateRowSize = 128 // approximate bytes of a row

// Reserve implements Records.
func (s *recordStore) Reserve(
	ctx context.Context, name string, rate Rate, maxWait time.Duration,
) (wait time.Duration, ok bool, err error) {
	interval, ahead, furthest := rate.microseconds()
	var micros int64
	err = s.db.run(ctx, relaxed, func(ctx context.Context, t session) error {
		for { // again when another caller has added the name, or it was swept meanwhile
			arguments := t.withClock(name, interval, ahead, maxWait.Microseconds(), furthest)
			if err := t.queryRow(ctx, s.reserve, arguments...).Scan(&micros); !errors.Is(err, sql.ErrNoRows) {
				return err
			}
			if err := t.reserveBytes(ctx, 2*s.quota.Load(), rateRowSize); err != nil {
				return err
			}
			if added, err := t.execute(ctx, s.reserveFirst, t.withClock(name, interval)...); added || err != nil {
				return err
			}
		}
	})
	wait = time.Duration(micros) * time.Microsecond
	return wait, err == nil && wait <= maxWait, err
}

// Postpone implements Records.
func (s *recordStore) Postpone(ctx context.Context, name string, rate Rate, pause time.Duration) error {
	_, ahead, _ := rate.microseconds()
	return s.db.run(ctx, relaxed, func(ctx context.Context, t session) error {
		_, err := t.execute(ctx, s.postpone, t.withClock(name, pause.Microseconds()+ahead)...)
		return err
	})
}
