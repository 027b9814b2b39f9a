package mcp

import (
	"io"
	"math"
	"slices"
	"sync"
)

// lineWriter writes messages, one a line. A goroutine that has a line while none writes becomes the
// writer and writes the lines of the others, too.
type lineWriter struct {
	w       io.Writer
	failed  func(error)    // called once when nothing can be written any more
	writers sync.WaitGroup // goroutines that write for others

	mu      sync.Mutex
	room    sync.Cond       // signalled when pending has been taken; its L is mu
	pending []byte          // guarded by mu
	spare   []byte          // guarded by mu
	queued  []*Subscription // whose notifications are to be written; guarded by mu
	writing bool            // guarded by mu
	err     error           // guarded by mu
}

// maxPending is how many bytes may be pending for a client that does not read before writeLine
// blocks.
const maxPending = 1 << 20

// writeLine writes frame and a line break. The frame may be reused afterwards.
func (l *lineWriter) writeLine(frame []byte) {
	l.mu.Lock()
	l.waitForRoomLocked()
	l.appendLine(frame)
	l.flushAndUnlock()
}

func (l *lineWriter) waitForRoom() {
	l.mu.Lock()
	l.waitForRoomLocked()
	l.mu.Unlock()
}

func (l *lineWriter) waitForRoomLocked() {
	for l.writing && len(l.pending) > maxPending && l.err == nil {
		l.room.Wait()
	}
}

// enqueueLine is writeLine without blocking, for messages that are few.
func (l *lineWriter) enqueueLine(frame []byte) {
	l.mu.Lock()
	l.appendLine(frame)
	l.ensureWriterAndUnlock()
}

// enqueueSubscription has the notifications of sub written. It does not block.
func (l *lineWriter) enqueueSubscription(sub *Subscription) {
	l.mu.Lock()
	l.queued = append(l.queued, sub)
	l.ensureWriterAndUnlock()
}

// enqueueLast has the remaining notifications of sub written, and frame after them. It does not
// block.
func (l *lineWriter) enqueueLast(sub *Subscription, frame []byte) {
	l.mu.Lock()
	l.appendNotifications(sub)
	l.appendLine(frame)
	l.ensureWriterAndUnlock()
}

// appendNotifications is called with mu held.
func (l *lineWriter) appendNotifications(sub *Subscription) { sub.Drain(math.MaxInt, l.appendLine) }

// appendLine is called with mu held.
func (l *lineWriter) appendLine(frame []byte) {
	l.pending = append(appendOneLine(l.pending, frame), '\n')
}

// ensureWriterAndUnlock starts a writer if none writes. It is called with mu held.
func (l *lineWriter) ensureWriterAndUnlock() {
	if !l.writing {
		l.writing = true
		l.writers.Go(func() {
			l.mu.Lock()
			l.writing = false
			l.flushAndUnlock()
		})
	}
	l.mu.Unlock()
}

// flushAndUnlock writes what is pending unless another goroutine writes. It is called with mu held.
func (l *lineWriter) flushAndUnlock() {
	if l.writing {
		l.mu.Unlock()
		return
	}
	l.writing = true
	for l.err == nil && (len(l.pending) > 0 || len(l.queued) > 0) {
		for _, sub := range l.queued {
			l.appendNotifications(sub)
		}
		l.queued = slices.Delete(l.queued, 0, len(l.queued))
		out := l.pending
		l.pending = l.spare[:0]
		l.room.Broadcast()
		l.mu.Unlock()
		_, err := l.w.Write(out)
		l.mu.Lock()
		if l.err = err; err != nil {
			l.failed(err)
		}
		if cap(out) > maxPending {
			out = nil
		}
		l.spare = out
	}
	if l.err != nil {
		l.pending, l.queued = nil, nil
	}
	l.writing = false
	l.room.Broadcast()
	l.mu.Unlock()
}
