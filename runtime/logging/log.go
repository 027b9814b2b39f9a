// Package logging writes the log of a server. A line is encoded by append and written together with
// others: at the latest after [MaxDelay], before anything else when it is a warning or an error, and
// by [Log.Flush].
package logging

import (
	"context"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// Format is how lines are encoded.
type Format bool

// The formats of the log/slog package.
const (
	Text Format = false
	JSON Format = true
)

// MaxDelay is how long a line waits at most before it is written.
const MaxDelay = 100 * time.Millisecond

const maxPending = 64 << 10 // bytes of lines, after which they are written at once

// Log is the log of a process. Its methods are safe for concurrent use.
type Log struct {
	*slog.Logger
	format     Format
	configured slog.Level // which SIGUSR1 returns to
	level      slog.LevelVar
	out        io.Writer

	mu      sync.Mutex
	pending []byte // lines that were not written yet; guarded by mu
	timer   *time.Timer

	second               int64 // that timePrefix is of; guarded by mu, like what follows
	timePrefix, timeZone []byte

	writing sync.Mutex // held while lines are written, so that they stay in order
	spare   []byte     // the memory of pending in turn; guarded by writing
}

// New returns a log that writes the lines of a level and above. The caller flushes it at exit.
func New(out io.Writer, format Format, level slog.Level) *Log {
	l := &Log{out: out, format: format, configured: level}
	l.Logger = slog.New(&handler{log: l})
	l.level.Set(level)
	l.timer = time.AfterFunc(MaxDelay, l.Flush)
	return l
}

// Flush writes the lines that wait. An error of the writer is ignored: there is nowhere to report it.
func (l *Log) Flush() {
	l.writing.Lock()
	defer l.writing.Unlock()
	l.mu.Lock()
	lines := l.pending
	l.pending, l.spare = l.spare[:0], nil
	l.mu.Unlock()
	if len(lines) > 0 {
		l.out.Write(lines)
	}
	if cap(lines) <= 2*maxPending { // the memory of an unusually long line is not kept
		l.spare = lines
	}
}

// write encodes one line. It waits for the writer when too many lines do.
func (l *Log) write(h *handler, r *slog.Record) {
	l.mu.Lock()
	empty := len(l.pending) == 0
	l.pending = h.appendLine(l.pending, r)
	full := len(l.pending) > maxPending
	l.mu.Unlock()
	switch {
	case full || r.Level > slog.LevelInfo:
		l.Flush()
	case empty:
		l.timer.Reset(MaxDelay)
	}
}

// Level returns the level of the least severe lines that are written.
func (l *Log) Level() slog.Level { return l.level.Level() }

// SetLevel changes the level and logs that, at every level. The trigger says what caused the change.
func (l *Log) SetLevel(level slog.Level, trigger string) {
	l.level.Set(level)
	l.Announce("log level changed", slog.String("to", LevelName(level)), slog.String("trigger", trigger))
}

// Announce writes a line at once, at every level.
func (l *Log) Announce(text string, attrs ...slog.Attr) {
	r := slog.NewRecord(time.Now(), slog.LevelInfo, text, 0)
	r.AddAttrs(attrs...)
	l.Handler().Handle(context.Background(), r)
	l.Flush()
}

// OnUserSignal starts to listen for SIGUSR1 and returns the loop that turns the level debug on and
// off at each one until ctx ends.
func (l *Log) OnUserSignal(ctx context.Context) (loop func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGUSR1)
	return func() {
		defer signal.Stop(signals)
		for {
			select {
			case <-signals:
				level := slog.LevelDebug
				if l.Level() == level {
					level = l.configured
				}
				l.SetLevel(level, "SIGUSR1")
			case <-ctx.Done():
				return
			}
		}
	}
}

var levels = map[string]slog.Level{
	"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError,
}

// Levels are the names of the levels, least severe first.
var Levels = []string{"debug", "info", "warn", "error"}

// ParseLevel returns the level of a name, and whether there is one.
func ParseLevel(name string) (slog.Level, bool) {
	level, ok := levels[name]
	return level, ok
}

// LevelName returns the name of a level.
func LevelName(level slog.Level) string {
	for _, name := range Levels {
		if levels[name] == level {
			return name
		}
	}
	return level.String()
}
