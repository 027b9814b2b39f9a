package state

import (
	"context"
	"database/sql"
	"time"
)

const (
	lookEvery = 250 * time.Millisecond
	noted     = 5 * time.Minute // for which a change is there to be seen
)

// note has those who watch see a change, unless it is quiet.
func (s *SQLite) note(ctx context.Context, tx *sql.Tx, r *Record) error {
	if !s.shared || r.Quiet {
		return nil
	}
	_, err := tx.ExecContext(ctx, "INSERT INTO changes (origin, kind, name, made) VALUES (?, ?, ?, ?)", s.origin, r.Kind, r.Name, now())
	return err
}

// Watch implements Store. It looks four times a second, unless nobody else can have the store open.
func (s *SQLite) Watch(ctx context.Context, changed func(kind, name string)) {
	if !s.shared {
		<-ctx.Done()
		return
	}
	w := watch{store: s, changed: changed}
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for ctx.Err() == nil {
		w.look(ctx)
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

// watch is how far one who watches has seen.
type watch struct {
	store   *SQLite
	changed func(kind, name string)
	last    int64     // change that was seen
	looked  time.Time // when all changes until then were seen
}

// look tells what was changed since it last looked. What cannot be read now is there to be seen the next time, unless that is long after.
func (w *watch) look(ctx context.Context) {
	began := time.Now()
	if began.Sub(w.looked) > noted/2 {
		if w.store.db.QueryRowContext(ctx, "SELECT coalesce(max(id), 0) FROM changes").Scan(&w.last) == nil {
			w.looked = began
			w.changed("", "")
		}
		return
	}
	heard, err := w.news(ctx)
	if err != nil {
		return
	}
	w.looked = began
	for _, n := range heard {
		w.changed(n.kind, n.name)
	}
}

type news struct{ kind, name string }

// news is what others have changed.
func (w *watch) news(ctx context.Context) (heard []news, err error) {
	rows, err := w.store.db.QueryContext(ctx, "SELECT id, origin, kind, name FROM changes WHERE id > ? ORDER BY id", w.last)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	last := w.last
	for rows.Next() {
		var origin string
		var n news
		if err := rows.Scan(&last, &origin, &n.kind, &n.name); err != nil {
			return nil, err
		}
		if origin != w.store.origin {
			heard = append(heard, n)
		}
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	w.last = last
	return heard, nil
}
