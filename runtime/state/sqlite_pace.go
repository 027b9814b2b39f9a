package state

import (
	"context"
	"database/sql"
	"errors"
	"time"
)

// beat counts one more event, if it may happen within its patience, and gives how long it has to wait. Times are microseconds.
const (
	beat = `UPDATE paces SET early = max(next - ?1 - ?3, 0), next = max(next, ?1) + CASE WHEN next - ?1 - ?3 <= ?4 THEN ?2 ELSE 0 END
		WHERE name = ?5 RETURNING early`
	firstBeat = "INSERT INTO paces (name, next, early) VALUES (?, ?, 0)"
)

// Pace implements Records.
func (s *SQLite) Pace(ctx context.Context, name string, every time.Duration, burst int, patience time.Duration) (wait time.Duration, ok bool, err error) {
	var early int64
	err = s.hastily(ctx, func(ctx context.Context, tx *sql.Tx) error {
		at, period := time.Now().UnixMicro(), max(every.Microseconds(), 1)
		err := tx.QueryRowContext(ctx, beat, at, period, int64(burst-1)*period, patience.Microseconds(), name).Scan(&early)
		if !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if err := s.room(ctx, tx, 2*s.bound.Load()); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, firstBeat, name, at+period)
		return err
	})
	wait = time.Duration(early) * time.Microsecond
	return wait, err == nil && wait <= patience, err
}
