// Package logging writes the log of a server. A line is encoded by append and written together with
// others by one goroutine: at the latest after [MaxDelay], at once when it is a warning or an error, and
// by [Log.Flush]. A reader that does not read delays a caller by [MaxWait] at most; then lines are dropped
// and counted.
package logging

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"time"
)

// Format is how lines are encoded.
type Format bool

// The formats of the log/slog package.
const (
	Text Format = false
	JSON Format = true
)

// MaxDelay is how long a line waits at most before its write begins, while the writer takes lines.
const MaxDelay = 100 * time.Millisecond

// MaxWait is how long one write may take before callers stop waiting for it.
const MaxWait = time.Second

// Bytes of lines that are not written yet.
const (
	maxBatch    = 64 << 10           // after which they are written at once
	maxPending  = 256 << 10          // after which lines of level info and below wait, and are dropped
	maxReserved = maxPending + 1<<16 // after which all lines are
)

// Log is the log of a process. Its methods are safe for concurrent use.
type Log struct {
	*slog.Logger
	format     Format
	configured slog.Level // which SIGUSR1 returns to
	level      slog.LevelVar
	out        lineWriter // used by the goroutine that writes

	mu       sync.Mutex
	pending  []byte // lines that were not written yet; guarded by mu, like all that follows
	spare    []byte // the memory of pending in turn
	timer    *time.Timer
	added    int64         // bytes that were ever pending
	written  int64         // of added
	wanted   bool          // what is pending is to be written now, not after MaxDelay
	writing  bool          // a goroutine writes, and looks at wanted before it ends
	began    time.Time     // of the write in progress
	wrote    chan struct{} // closed at the end of the write in progress
	dropped  uint64        // lines since the start
	reported uint64        // of dropped, in lines of the log

	second               int64 // that timePrefix is of
	timePrefix, timeZone []byte
}

// New returns a log that writes the lines of a level and above. The caller flushes it at exit.
func New(out io.Writer, format Format, level slog.Level) *Log {
	l := &Log{out: lineWriter{Writer: out}, format: format, configured: level}
	l.Logger = slog.New(&handler{log: l})
	l.level.Set(level)
	l.timer = time.AfterFunc(MaxDelay, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.startWrite()
	})
	return l
}

// Flush writes the lines that wait. It returns when they are written, or when a write has taken MaxWait. Lines that the
// writer refuses are dropped.
func (l *Log) Flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.flush()
}

// flush is Flush with mu held.
func (l *Log) flush() {
	l.startWrite()
	for added := l.added; l.written < added && l.awaitWrite(); {
	}
}

// startWrite has what is pending written now. It is called with mu held.
func (l *Log) startWrite() {
	if len(l.pending) == 0 {
		return
	}
	if l.wanted = true; !l.writing {
		l.writing, l.began, l.wrote = true, time.Now(), make(chan struct{})
		go l.writePending()
	}
}

// writePending writes what is pending as long as that is wanted. Before it writes how many lines were dropped.
func (l *Log) writePending() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.wanted {
		lines := l.pending
		l.pending, l.spare, l.wanted = l.spare[:0], nil, false
		report, dropped := l.droppedLine(), l.dropped
		l.mu.Unlock()
		reported := l.out.write(report)
		refused := l.out.write(lines)
		l.mu.Lock()
		l.written += int64(len(lines))
		if cap(lines) <= 2*maxPending { // the memory of an unusually long line is not kept
			l.spare = lines
		}
		if reported == 0 {
			l.reported = dropped
		}
		l.dropped += uint64(refused)
		close(l.wrote)
		l.began, l.wrote = time.Now(), make(chan struct{})
	}
	l.writing = false
	if len(l.pending) > 0 {
		l.timer.Reset(MaxDelay)
	}
}

// droppedLine returns a line that says how many lines were dropped since the last one, or nothing if none was. It is
// called with mu held.
func (l *Log) droppedLine() []byte {
	if l.dropped == l.reported {
		return nil
	}
	r := slog.NewRecord(time.Now(), slog.LevelWarn, "log lines dropped", 0)
	r.AddAttrs(slog.Uint64("count", l.dropped-l.reported))
	return (&handler{log: l}).appendLine(nil, &r)
}

// lineWriter writes lines to a writer that may take a part of one, such as a file on a disk that is full.
type lineWriter struct {
	io.Writer
	rest []byte // of the line that was written in part; it is written first
}

// write writes lines, and returns how many of them the writer has refused.
func (w *lineWriter) write(lines []byte) (refused int) {
	if len(w.rest) > 0 {
		n, err := w.Write(w.rest)
		if w.rest = w.rest[n:]; err != nil {
			return countLines(lines)
		}
	}
	if len(lines) == 0 {
		return 0
	}
	n, err := w.Write(lines)
	if err == nil {
		return 0
	}
	left := lines[n:]
	if n > 0 && lines[n-1] != '\n' {
		line := left
		if i := bytes.IndexByte(left, '\n'); i >= 0 {
			line = left[:i+1]
		}
		w.rest, left = bytes.Clone(line), left[len(line):]
	}
	return countLines(left)
}

func countLines(text []byte) int { return bytes.Count(text, []byte("\n")) }

// add sets the pending lines, to which some were appended. It is called with mu held.
func (l *Log) add(pending []byte) {
	l.added += int64(len(pending) - len(l.pending))
	l.pending = pending
}

// awaitWrite waits for the end of the write in progress, and reports whether it has ended before it took MaxWait. It is
// called with mu held, which it releases while it waits.
func (l *Log) awaitWrite() bool {
	left := MaxWait - time.Since(l.began)
	if left <= 0 {
		return false
	}
	wrote := l.wrote
	l.mu.Unlock()
	defer l.mu.Lock()
	timeout := time.NewTimer(left)
	defer timeout.Stop()
	select {
	case <-wrote:
		return true
	case <-timeout.C:
		return false
	}
}

// write encodes one line. It waits while too many lines wait to be written, and drops the line when that takes too
// long.
func (l *Log) write(h *handler, r *slog.Record) {
	urgent := r.Level > slog.LevelInfo
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.hasRoom(urgent) {
		l.dropped++
		return
	}
	empty := len(l.pending) == 0
	l.add(h.appendLine(l.pending, r))
	switch {
	case urgent:
		l.flush()
	case len(l.pending) > maxBatch:
		l.startWrite()
	case empty && !l.writing:
		l.timer.Reset(MaxDelay)
	}
}

// hasRoom waits until there is room for a line, and reports whether there is after MaxWait. It is called with mu held.
func (l *Log) hasRoom(urgent bool) bool {
	limit := maxPending
	if urgent {
		limit = maxReserved
	}
	for len(l.pending) > limit {
		if l.startWrite(); !l.awaitWrite() {
			return false
		}
	}
	return true
}

// Dropped returns how many lines were dropped since the start, because the writer has refused or not taken them.
func (l *Log) Dropped() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dropped
}

// Write writes text between the lines of the log, in their order, as if it were a line of level error. It implements
// io.Writer for what a command writes to the same stream, and never returns an error.
func (l *Log) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.hasRoom(true) {
		l.dropped += uint64(countLines(text))
		return len(text), nil
	}
	l.add(append(l.pending, text...))
	l.flush()
	return len(text), nil
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
	notifyUserSignal(signals)
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
