package client

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"hatchel/hcl/jsonscan"
	"hatchel/internal/queue"
)

// exchange is one request of the session, up to its answer.
type exchange struct {
	id      string
	method  string
	name    string // of the tool; "" for other methods
	call    *Request
	frame   []byte
	maxSize int  // bytes of one message
	endless bool // it has no limits of number and size, because it is open for as long as the session

	asking context.Context // ends with the exchange; of questions; nil if there are none

	mu        sync.Mutex
	bytes     int        // that were received; guarded by mu
	messages  int        // that were received; guarded by mu
	unknown   int        // how many messages belonged to nothing; guarded by mu
	questions int        // that were asked; guarded by mu
	mailbox   []*message // of a program, that are yet to be handled; guarded by mu
	failed    error      // a limit is exceeded; guarded by mu
	wake      queue.Signal

	progress   float64 // the last one
	hasShown   bool    // a progress was passed on
	progressAt time.Time
}

// count adds what was received, and fails if it is too much.
func (x *exchange) count(bytes, messages int) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.countLocked(bytes, messages)
}

func (x *exchange) countLocked(bytes, messages int) error {
	x.bytes += bytes
	x.messages += messages
	switch {
	case x.failed != nil || x.endless:
	case x.bytes > maxCallBytes:
		x.failed = &limitError{fmt.Sprintf("the server sent more than %d bytes during one call", maxCallBytes)}
	case x.messages > maxCallMessages:
		x.failed = &limitError{fmt.Sprintf("the server sent more than %d messages during one call", maxCallMessages)}
	}
	return x.failed
}

// countUnknown counts a message that belongs to nothing.
func (x *exchange) countUnknown() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.unknown++; x.unknown == maxUnknown && x.failed == nil {
		x.failed = errUnknown
	}
}

// countBytes is count for the reader of a stream.
func (x *exchange) countBytes(n int) error { return x.count(n, 0) }

// received returns how many bytes were received.
func (x *exchange) received() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.bytes
}

// put passes a message of a program to the goroutine of the exchange.
func (x *exchange) put(m *message) {
	x.mu.Lock()
	if x.countLocked(m.size, 1) == nil {
		x.mailbox = append(x.mailbox, m)
	}
	x.mu.Unlock()
	x.wake.Send()
}

// take returns the messages that put has passed, and whether a limit is exceeded.
func (x *exchange) take() ([]*message, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	list := x.mailbox
	x.mailbox = nil
	return list, x.failed
}

// admitQuestion counts a question and reports whether it may be asked.
func (x *exchange) admitQuestion() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.questions++
	return x.questions <= MaxQuestions
}

// wantsLogs reports whether the exchange is a call whose client wants the log messages of the server.
func (x *exchange) wantsLogs() bool { return x.call != nil && x.call.Log != nil }

// takesUnnamed reports whether a message of a program that names no call is handled as one of this call, in the order
// of its progress.
func (x *exchange) takesUnnamed(m *message) bool {
	if m.method == "notifications/message" {
		return x.wantsLogs()
	}
	return x.asking != nil
}

// progressPause is the shortest time between two progresses that are passed on.
const progressPause = 100 * time.Millisecond

// notify handles a notification that belongs to the exchange. One goroutine calls it at a time.
func (x *exchange) notify(m *message) {
	switch {
	case x.call == nil:
	case m.method == "notifications/progress" && x.call.Progress != nil:
		x.showProgress(m.params)
	case m.method == "notifications/message" && x.wantsLogs():
		if log, ok := readLog(m.params); ok {
			x.call.Log(log)
		}
	}
}

// showProgress passes a progress on, unless it decreases or follows the last one too soon.
func (x *exchange) showProgress(params []byte) {
	if token, ok := jsonscan.LookupText(params, "progressToken"); !ok || token != x.id {
		return
	}
	var p Progress
	var err error
	value, _ := jsonscan.Lookup(params, "progress")
	if p.Progress, err = strconv.ParseFloat(string(value), 64); err != nil {
		return
	}
	if total, ok := jsonscan.Lookup(params, "total"); ok {
		if n, err := strconv.ParseFloat(string(total), 64); err == nil { // otherwise it is infinite
			p.Total = n
		}
	}
	p.Message, _ = jsonscan.LookupText(params, "message")
	now := time.Now()
	if x.hasShown && (p.Progress < x.progress || now.Sub(x.progressAt) < progressPause) {
		return
	}
	x.hasShown, x.progress, x.progressAt = true, p.Progress, now
	x.call.Progress(p)
}

// readLog reads the params of notifications/message.
func readLog(params []byte) (log Log, ok bool) {
	if !isObject(params) {
		return Log{}, false
	}
	log.Level, _ = jsonscan.LookupText(params, "level")
	log.Logger, _ = jsonscan.LookupText(params, "logger")
	log.Data, ok = jsonscan.Lookup(params, "data")
	return log, ok
}
