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
// open.
func (s *SQLite) Watch(ctx context.Context, changed func(kind, name string)) {
	if !s.shared {
		<-ctx.Done()
		return
	}
	w := sqliteWatch{store: s, changed: changed}
	for ctx.Err() == nil {
		w.poll(ctx)
		ctxtime.Sleep(ctx, watchInterval)
	}
}

// sqliteWatch is the progress of one call of Watch.
type sqliteWatch struct {
	store   *SQLite
	changed func(kind, name string)
	last    int64     // ID of the last change that was read
	polled  time.Time // when all changes were read
}

// poll announces the changes since the last poll. If it fails, or was late, the next poll makes up
// for it; if that is so late that changes may have been removed, it announces that any record may
// have changed.
func (w *sqliteWatch) poll(ctx context.Context) {
	began := time.Now()
	if began.Sub(w.polled) > changeRetention/2 {
		if w.store.durable.QueryRowContext(ctx, "SELECT coalesce(max(id), 0) FROM changes").Scan(&w.last) == nil {
			w.polled = began
			w.changed("", "")
		}
		return
	}
	changes, err := w.read(ctx)
	if err != nil {
		return
	}
	w.polled = began
	for _, c := range changes {
		w.changed(c.kind, c.name)
	}
}

type change struct{ kind, name string }

// read returns the changes that other processes have made since the last one that was read.
func (w *sqliteWatch) read(ctx context.Context) (changes []change, err error) {
	const query = "SELECT id, origin, kind, name FROM changes WHERE id > ? ORDER BY id"
	rows, err := w.store.durable.QueryContext(ctx, query, w.last)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	last := w.last
	for rows.Next() {
		var origin string
		var c change
		if err := rows.Scan(&last, &origin, &c.kind, &c.name); err != nil {
			return nil, err
		}
		if origin != w.store.origin {
			changes = append(changes, c)
		}
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	w.last = last
	return changes, nil
}
