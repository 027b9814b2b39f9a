package state

import (
	"context"
	"database/sql"
	"errors"
	"time"
)

// The statements on rates. The column next is the turn of the next event, and the column wait how far
// ahead of the clock the turn of the last reservation was. A reservation moves next by $2 if its turn is
// at most $3 ahead. A turn is at most $4 ahead, and at least $5. All times are microseconds. The clock is
// read after the file or the row is locked, so that a later event has a later time: in SQLite, ?6 and ?3
// are the clock of this process.
const (
	sqliteReserve = `UPDATE rates SET wait = max(min(next, ?6 + ?4), ?6 + ?5) - ?6,
			next = max(min(next, ?6 + ?4), ?6 + ?5) + CASE WHEN min(next, ?6 + ?4) - ?6 <= ?3 THEN ?2 ELSE 0 END
		WHERE name = ?1 RETURNING wait`
	sqliteAhead        = "SELECT next - ?2 FROM rates WHERE name = ?1"
	sqlitePostpone     = "UPDATE rates SET next = max(next, ?3 + ?2) WHERE name = ?1"
	sqliteReserveFirst = "INSERT OR IGNORE INTO rates (name, next, wait) VALUES (?1, ?3 + ?2, 0)"

	// rateClock is the clock of the database. Reading it keeps a statement from waiting for the disk.
	rateClock = "(SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS at, " +
		"set_config('synchronous_commit', 'off', true) OFFSET 0) AS clock"
	postgresReserve = `UPDATE hatchel_rates SET (wait, next) = (
			SELECT greatest(least(next, at + $4), at + $5) - at, greatest(least(next, at + $4), at + $5) +
				CASE WHEN least(next, at + $4) - at <= $3 THEN $2::bigint ELSE 0 END FROM ` + rateClock + `)
		WHERE name = $1 RETURNING wait`
	postgresAhead    = "SELECT next - at FROM hatchel_rates, " + rateClock + " WHERE name = $1"
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
	p := s.paces.find(name, rate)
	if err := p.lock(ctx); err != nil {
		return 0, false, err
	}
	defer p.unlock()
	asked := time.Now()
	if wait, known := p.takeHeld(asked, maxWait); known {
		return wait, wait <= maxWait, nil
	}
	count := 1
	if s.reservesAhead {
		count = p.demand(asked)
	}
	turn, count, err := s.reserveTurns(ctx, name, rate, maxWait, count)
	if err != nil {
		return 0, false, err
	}
	wait = max(turn-rate.tolerance(), 0)
	if wait > maxWait {
		p.notBefore = time.Now().Add(wait)
		return wait, false, nil
	}
	p.hold(asked, turn, count)
	return wait, true, nil
}

// reserveTurns reserves a number of turns that follow each other, or one when the name is new. It returns
// how far the first turn is ahead of the clock of the store. If an event at that turn had to wait longer
// than maxWait, no turn is reserved.
func (s *recordStore) reserveTurns(
	ctx context.Context, name string, rate Rate, maxWait time.Duration, count int,
) (turn time.Duration, reserved int, err error) {
	interval := rate.interval().Microseconds()
	latest := (rate.tolerance() + max(maxWait, 0)).Microseconds()
	furthest := (rate.tolerance() + max(rate.MaxWait, 0) + max(rate.interval(), rate.horizon())).Microseconds()
	nearest := int64(0)
	if count > 1 {
		nearest = rate.horizon().Microseconds()
	}
	var micros int64
	err = s.db.run(ctx, relaxed, func(ctx context.Context, t session) error {
		for { // again when another caller has added the name, or it was swept meanwhile
			micros, reserved = 0, count
			arguments := t.withClock(name, int64(count)*interval, latest, furthest, nearest)
			if err := t.queryRow(ctx, s.reserve, arguments...).Scan(&micros); !errors.Is(err, sql.ErrNoRows) {
				return err
			}
			if err := t.reserveBytes(ctx, 2*s.quota.Load(), rateRowSize); err != nil {
				return err
			}
			reserved = 1
			if added, err := t.execute(ctx, s.reserveFirst, t.withClock(name, interval)...); added || err != nil {
				return err
			}
		}
	})
	return time.Duration(micros) * time.Microsecond, reserved, err
}

// Available implements Records.
func (s *recordStore) Available(ctx context.Context, name string, rate Rate) (int, error) {
	var ahead int64
	err := s.db.run(ctx, reads, func(ctx context.Context, t session) error {
		err := t.queryRow(ctx, s.ahead, t.withClock(name)...).Scan(&ahead)
		if errors.Is(err, sql.ErrNoRows) {
			return nil // the name had no reservation
		}
		return err
	})
	interval := rate.interval().Microseconds()
	used := (max(ahead, 0) + interval - 1) / interval
	return int(max(int64(rate.Burst)-used, 0)), err
}

// Postpone implements Records.
func (s *recordStore) Postpone(ctx context.Context, name string, rate Rate, pause time.Duration) error {
	p := s.paces.find(name, rate)
	if err := p.lock(ctx); err != nil {
		return err
	}
	defer p.unlock()
	p.held = 0
	return s.db.run(ctx, relaxed, func(ctx context.Context, t session) error {
		_, err := t.execute(ctx, s.postpone, t.withClock(name, (pause+rate.tolerance()).Microseconds())...)
		return err
	})
}
