package mcp

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"

	"hatchel/adapters/credential/auth"
	"hatchel/adapters/mcp/client"
	"hatchel/hcl/jsonscan"
	"hatchel/internal/cut"
	"hatchel/internal/printable"
)

// logLevels are the levels of log messages of the protocol, the least severe one first.
var logLevels = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

const (
	maxLogData   = 4 << 10  // characters of the data of a message
	maxLogSecond = 16 << 10 // bytes of the messages of a connection that are logged in a second
)

// serverLog writes the log messages of a server to the log of this one. It may be used concurrently.
type serverLog struct {
	mu       sync.Mutex
	log      *slog.Logger     // removes secrets; nil before the first block is bound; guarded by mu
	tokens   *auth.Authorizer // removes tokens; nil if there are none; guarded by mu
	forwards map[string]int   // how many blocks forward messages from a level on; guarded by mu
	second   time.Time        // guarded by mu
	bytes    int              // that were logged since; guarded by mu
	dropped  int              // messages that were not; guarded by mu
}

// use has messages written to a log without the tokens of the connection, and those from a level on asked for until
// release is called; empty for none.
func (l *serverLog) use(log *slog.Logger, tokens *auth.Authorizer, forward string) (release func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.log, l.tokens = log, tokens
	if l.forwards == nil {
		l.forwards = map[string]int{}
	}
	l.forwards[forward]++
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.forwards[forward]--
	}
}

// level returns the least level of messages that the server is asked for; empty for none.
func (l *serverLog) level() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.log == nil:
		return ""
	case l.log.Enabled(context.Background(), slog.LevelDebug):
		return logLevels[0]
	}
	for _, level := range logLevels {
		if l.forwards[level] > 0 {
			return level
		}
	}
	return ""
}

// write writes a message at the level debug. What a server writes beyond a rate is counted.
func (l *serverLog) write(m client.Log) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.log == nil || !l.log.Enabled(context.Background(), slog.LevelDebug) {
		return
	}
	now := time.Now()
	if now.Sub(l.second) >= time.Second {
		l.second, l.bytes = now, 0
	}
	if l.bytes > maxLogSecond { // reading the message takes time that other calls wait for
		l.dropped++
		return
	}
	var clean cleaner
	data := cut.Runes(l.tokens.Scrub(string(clean.data(m.Data))), maxLogData)
	if l.bytes += len(data); l.bytes > maxLogSecond {
		l.dropped++
		return
	}
	attrs := []any{
		"level", visible(l.tokens.Scrub(m.Level), maxFieldText),
		"logger", visible(l.tokens.Scrub(m.Logger), maxFieldText), "data", data,
	}
	if l.dropped > 0 {
		attrs = append(attrs, "dropped", l.dropped)
		l.dropped = 0
	}
	l.log.Debug("upstream log message received", attrs...)
}

// maxNames is how many characters of the names of tools are logged that no block uses.
const maxNames = 1000

// logUnused logs the names of tools that no block uses.
func (l *serverLog) logUnused(names []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.log != nil {
		text := printable.Line(l.tokens.Scrub(strings.Join(names, ", ")))
		l.log.Info("upstream tools not served", "count", len(names), "names", cut.Runes(text, maxNames))
	}
}

// data returns the data of a message, cleaned: as a string if it is too long, or cannot be read.
func (c *cleaner) data(raw []byte) []byte {
	data, err := c.json(raw)
	if err != nil || len(data) > maxLogData {
		return jsonscan.AppendString(nil, c.line(string(raw), maxLogData))
	}
	return data
}
