package logging

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

const (
	repeatInterval = time.Second // between two lines of one key
	maxKeys        = 1024        // that are counted apart; all others share one line
)

// Limited writes at most one line a second for each key, with the attribute count: how many events
// the line stands for. The first event of a key is written at once.
type Limited struct {
	Log  *slog.Logger
	Text string // of every line

	mu   sync.Mutex
	keys map[string]*repeated // of the last second; guarded by mu, like what they hold
}

// repeated is what happened since the last line of a key.
type repeated struct {
	count int
	attrs []slog.Attr // of the last event
}

// Add counts an event of a key, at level info.
func (l *Limited) Add(key string, attrs ...slog.Attr) {
	if !l.Log.Enabled(context.Background(), slog.LevelInfo) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.keys == nil {
		l.keys = map[string]*repeated{}
	}
	if l.keys[key] == nil && len(l.keys) >= maxKeys {
		key = ""
	}
	if seen := l.keys[key]; seen != nil {
		seen.count, seen.attrs = seen.count+1, attrs
		return
	}
	l.keys[key] = &repeated{count: 1, attrs: attrs}
	l.write(key)
}

// write writes the line of what was counted of a key, and begins to count what follows it.
func (l *Limited) write(key string) {
	l.writeLine(l.keys[key])
	time.AfterFunc(repeatInterval, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.keys[key].count == 0 {
			delete(l.keys, key)
			return
		}
		l.write(key)
	})
}

func (l *Limited) writeLine(seen *repeated) {
	attrs := append(seen.attrs, slog.Int("count", seen.count))
	*seen = repeated{}
	l.Log.LogAttrs(context.Background(), slog.LevelInfo, l.Text, attrs...)
}

// Flush writes the lines of what was counted and not written yet.
func (l *Limited) Flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, seen := range l.keys {
		if seen.count > 0 {
			l.writeLine(seen)
		}
	}
}
