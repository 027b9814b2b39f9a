package state

import (
	"context"
	"database/sql"
	"errors"
	"time"
)

// beat counts one more event, if it may happen within its patience, and gives how long it has to wait. Times are microseconds.
const beat = `UPDATE paces SET early = max(min(next, ?1 + ?6) - ?1 - ?3, 0),
		next = max(min(next, ?1 + ?6), ?1) + CASE WHEN min(next, ?1 + ?6) - ?1 - ?3 <= ?4 THEN ?2 ELSE 0 END
	WHERE name = ?5 RETURNING early`

// Pace implements Records.
func (s *SQLite) Pace(ctx context.Context, name string, of Rhythm, patience time.Duration) (wait time.Duration, ok bool, err error) {
	for { // again, when another one has begun it, or it was over and swept, meanwhile
		early, err := s.beat(ctx, name, of, patience.Microseconds())
		if err == nil {
			wait = time.Duration(early) * time.Microsecond
			return wait, wait <= patience, nil
		}
		if !errors.Is(err, sql.ErrNoRows) {
			return 0, false, err
		}
		if begun, err := s.beginPace(ctx, name, of); begun || err != nil {
			return 0, begun && err == nil, err
		}
	}
}

// beat carries beat out. The clock is read when the file is this one's: of two events the later one has the later time.
func (s *SQLite) beat(ctx context.Context, name string, of Rhythm, patience int64) (early int64, err error) {
	period, ahead, furthest := of.times()
	tx, err := s.hasty.BeginTx(ctx, nil)
	if err != nil {
		return 0, err
	}
	if err := tx.QueryRowContext(ctx, beat, time.Now().UnixMicro(), period, ahead, patience, name, furthest).Scan(&early); err != nil {
		return 0, errors.Join(err, ignoreDone(tx.Rollback()))
	}
	if err = tx.Commit(); errors.Is(err, sql.ErrTxDone) && ctx.Err() != nil {
		return 0, ctx.Err()
	}
	return early, err
}

// beginPace counts the first event of a name, and reports whether it is.
func (s *SQLite) beginPace(ctx context.Context, name string, of Rhythm) (begun bool, err error) {
	period, _, _ := of.times()
	err = s.transact(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if err := s.room(ctx, tx, 2*s.bound.Load()); err != nil {
			return err
		}
		begun, err = changes(ctx, tx, "INSERT OR IGNORE INTO paces (name, next, early) VALUES (?, ?, 0)", name, time.Now().UnixMicro()+period)
		return err
	})
	return begun, err
}
