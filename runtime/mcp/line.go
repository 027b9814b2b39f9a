package mcp

import (
	"io"
	"math"
	"slices"
	"sync"
)

// lineWriter writes messages, one a line. Whoever has a line while nobody writes becomes the writer, and also writes the lines that
// come in meanwhile, all at once.
type lineWriter struct {
	w       io.Writer
	failed  func(error)    // called once, with why nothing can be written any more
	writers sync.WaitGroup // goroutines that write for somebody else

	mu      sync.Mutex
	room    sync.Cond       // signalled when pending has been taken; its L is mu
	pending []byte          // guarded by mu
	spare   []byte          // guarded by mu
	noted   []*subscription // whose messages are to be written, too; guarded by mu
	writing bool            // guarded by mu
	err     error           // guarded by mu
}

// mostPending is how much may wait for a peer that does not read before those who have more to say wait too.
const mostPending = 1 << 20

// line writes frame and a line break. The frame may be reused on return.
func (l *lineWriter) line(frame []byte) {
	l.mu.Lock()
	l.waitLocked()
	l.pending = appendLine(l.pending, frame)
	l.flush()
}

// yield waits until there is room for more.
func (l *lineWriter) yield() {
	l.mu.Lock()
	l.waitLocked()
	l.mu.Unlock()
}

func (l *lineWriter) waitLocked() {
	for l.writing && len(l.pending) > mostPending && l.err == nil {
		l.room.Wait()
	}
}

// post is line for who must not be held up. It is for messages of which there can only be few.
func (l *lineWriter) post(frame []byte) {
	l.mu.Lock()
	l.pending = appendLine(l.pending, frame)
	l.soon()
}

// note says that there is something to take from u. It waits for nobody.
func (l *lineWriter) note(u *subscription) {
	l.mu.Lock()
	l.noted = append(l.noted, u)
	l.soon()
}

// last writes what is left to take from u, and frame after it. It waits for nobody.
func (l *lineWriter) last(u *subscription, frame []byte) {
	l.mu.Lock()
	l.take(u)
	l.pending = appendLine(l.pending, frame)
	l.soon()
}

// take appends what there is to take from u. It is called with mu held.
func (l *lineWriter) take(u *subscription) {
	u.take(math.MaxInt, func(frame []byte) { l.pending = appendLine(l.pending, frame) })
}

// soon makes sure that somebody writes. It is called with mu held and returns without it.
func (l *lineWriter) soon() {
	if !l.writing {
		l.writing = true
		l.writers.Go(func() {
			l.mu.Lock()
			l.writing = false
			l.flush()
		})
	}
	l.mu.Unlock()
}

func appendLine(dst, frame []byte) []byte {
	at := len(dst)
	dst = append(dst, frame...)
	if hasBreak(dst[at:]) {
		oneLine(dst[at:])
	}
	return append(dst, '\n')
}

// flush writes what is pending unless somebody else does. It is called with mu held and returns without it.
func (l *lineWriter) flush() {
	if l.writing {
		l.mu.Unlock()
		return
	}
	l.writing = true
	for l.err == nil && (len(l.pending) > 0 || len(l.noted) > 0) {
		for _, u := range l.noted {
			l.take(u)
		}
		l.noted = slices.Delete(l.noted, 0, len(l.noted))
		out := l.pending
		l.pending = l.spare[:0]
		l.room.Broadcast()
		l.mu.Unlock()
		_, err := l.w.Write(out)
		l.mu.Lock()
		if l.err = err; err != nil {
			l.failed(err)
		}
		if cap(out) > mostPending {
			out = nil
		}
		l.spare = out
	}
	if l.err != nil {
		l.pending, l.noted = nil, nil
	}
	l.writing = false
	l.room.Broadcast()
	l.mu.Unlock()
}
