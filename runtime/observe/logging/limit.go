package logging

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

const (
	repeatInterval = time.Second // between two reports of one key
	maxKeys        = 1024        // that are counted apart; all others are reported together
)

// Repeats reports what may happen often: at most once a second for each key, with how many times it has happened. The
// first time is reported at once. Its zero value is ready to use, and its methods may be called concurrently.
type Repeats[T any] struct {
	mu   sync.Mutex
	keys map[string]*repeated[T] // of the last second; guarded by mu, like what they hold
}

// repeated is what has happened since the last report of a key.
type repeated[T any] struct {
	count  int
	last   T
	report func(last T, count int)
}

// take begins to count anew, and returns the report of what was counted.
func (r *repeated[T]) take() func() {
	seen := *r
	*r = repeated[T]{}
	return func() { seen.report(seen.last, seen.count) }
}

// Add counts what has happened. Report gets the last one of those that were counted, and their number; that of the last
// one is called, without a lock.
func (r *Repeats[T]) Add(key string, last T, report func(last T, count int)) {
	r.mu.Lock()
	if r.keys == nil {
		r.keys = map[string]*repeated[T]{}
	}
	if r.keys[key] == nil && len(r.keys) >= maxKeys {
		key = ""
	}
	if seen := r.keys[key]; seen != nil {
		seen.count, seen.last, seen.report = seen.count+1, last, report
		r.mu.Unlock()
		return
	}
	r.keys[key] = new(repeated[T])
	r.mu.Unlock()
	report(last, 1)
	r.reportLater(key)
}

// reportLater reports, after a second, what was counted of a key until then.
func (r *Repeats[T]) reportLater(key string) {
	time.AfterFunc(repeatInterval, func() {
		r.mu.Lock()
		seen := r.keys[key]
		if seen.count == 0 {
			delete(r.keys, key)
			r.mu.Unlock()
			return
		}
		report := seen.take()
		r.mu.Unlock()
		report()
		r.reportLater(key)
	})
}

// Flush reports what was counted and not reported yet.
func (r *Repeats[T]) Flush() {
	r.mu.Lock()
	var reports []func()
	for _, seen := range r.keys {
		if seen.count > 0 {
			reports = append(reports, seen.take())
		}
	}
	r.mu.Unlock()
	for _, report := range reports {
		report()
	}
}

// Limited writes at most one line a second for each key, with the attribute count: how many events
// the line stands for. The first event of a key is written at once.
type Limited struct {
	Log  *slog.Logger
	Text string // of every line

	repeats Repeats[[]slog.Attr]
}

// Add counts an event of a key, at level info.
func (l *Limited) Add(key string, attrs ...slog.Attr) {
	if l.Log.Enabled(context.Background(), slog.LevelInfo) {
		l.repeats.Add(key, attrs, l.write)
	}
}

func (l *Limited) write(attrs []slog.Attr, count int) {
	l.Log.LogAttrs(context.Background(), slog.LevelInfo, l.Text, append(attrs, slog.Int("count", count))...)
}

// Flush writes the lines of what was counted and not written yet.
func (l *Limited) Flush() { l.repeats.Flush() }
