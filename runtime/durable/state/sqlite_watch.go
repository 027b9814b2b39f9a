//go:build cgo

package state

import (
	"context"
	"time"

	"hatchel/internal/ctxtime"
)

const (
	watchInterval   = 250 * time.Millisecond
	changeRetention = 5 * time.Minute // of the rows of changes
)

// Watch implements Store. It polls four times a second, unless no other process can have the store
// open. If a poll fails, or is late, the next one makes up for it; if that is so late that changes may
// have been removed, it announces that any record may have changed.
func (s *SQLite) Watch(ctx context.Context, changed func(kind, name string), attempted func(error)) {
	if !s.shared {
		<-ctx.Done()
		return
	}
	last, polled := int64(0), time.Time{} // ID of the last change that was read, and when all were
	for ; ctx.Err() == nil; ctxtime.Sleep(ctx, watchInterval) {
		began := time.Now()
		if began.Sub(polled) > changeRetention/2 {
			err := s.run(ctx, reads, func(ctx context.Context, t session) error {
				return t.queryRow(ctx, "SELECT coalesce(max(id), 0) FROM changes").Scan(&last)
			})
			if attempted(err); err == nil {
				polled = began
				changed("", "")
			}
			continue
		}
		changes, err := s.readChanges(ctx, last)
		if attempted(err); err != nil {
			continue
		}
		polled = began
		for _, c := range changes {
			if last = c.id; c.origin != s.origin {
				changed(c.kind, c.name)
			}
		}
	}
}

type change struct {
	id                 int64
	origin, kind, name string
}

// readChanges returns the changes after one.
func (s *SQLite) readChanges(ctx context.Context, last int64) (changes []change, err error) {
	err = s.run(ctx, reads, func(ctx context.Context, t session) error {
		const query = "SELECT id, origin, kind, name FROM changes WHERE id > ? ORDER BY id"
		rows, err := t.(*sqliteSession).conn.QueryContext(ctx, query, last)
		if err != nil {
			return err
		}
		defer rows.Close()
		changes = nil
		for rows.Next() {
			var c change
			if err := rows.Scan(&c.id, &c.origin, &c.kind, &c.name); err != nil {
				return err
			}
			changes = append(changes, c)
		}
		return rows.Err()
	})
	return changes, err
}
