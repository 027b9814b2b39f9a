package audit

import (
	"sync"
	"time"
)

// group commits concurrent records together: the first caller writes the records of all callers who
// come while the batch before is being written.
type group struct {
	mu           sync.Mutex
	next         *batch    // that accepts records; nil when there is none; guarded by mu
	lastError    error     // of the last record; guarded by mu
	writingSince time.Time // zero when no batch is being written; guarded by mu
	isClosed     bool      // guarded by mu

	writing sync.Mutex // held while a batch is written
}

// batch is a number of records that are written together.
type batch struct {
	members []byte // of all records, one after the other
	ends    []int  // of the members of each record
	created time.Time
	done    chan struct{} // closed when the batch was written

	// Results, valid when done is closed.
	first int64 // sequence of the first record
	added int   // how many records are in the log
	err   error // of the others
}

var buffers = sync.Pool{New: func() any { return new([]byte) }}

// add has a record written by write, alone or with others, and returns its sequence.
func (g *group) add(r *Record, write func(*batch)) (sequence int64, err error) {
	buffer := buffers.Get().(*[]byte)
	defer buffers.Put(buffer)
	*buffer = r.append((*buffer)[:0])
	g.mu.Lock()
	if g.isClosed {
		g.mu.Unlock()
		return 0, errClosed
	}
	b, leads := g.next, false
	if b == nil {
		b, leads = &batch{created: time.Now(), done: make(chan struct{})}, true
		g.next = b
	}
	i := len(b.ends)
	b.members = append(b.members, *buffer...)
	b.ends = append(b.ends, len(b.members))
	g.mu.Unlock()
	if leads {
		g.writeBatch(b, write)
	} else {
		<-b.done
	}
	if i >= b.added {
		return 0, b.err
	}
	return b.first + int64(i), nil
}

// writeBatch writes a batch once the one before is written. Until then others add to it.
func (g *group) writeBatch(b *batch, write func(*batch)) {
	g.writing.Lock()
	defer g.writing.Unlock()
	defer close(b.done)
	g.mu.Lock()
	g.next, g.writingSince = nil, time.Now()
	g.mu.Unlock()
	write(b)
	g.mu.Lock()
	g.writingSince = time.Time{}
	g.mu.Unlock()
}

// isStuck reports whether a batch has been written for longer than limit.
func (g *group) isStuck(limit time.Duration) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return !g.writingSince.IsZero() && time.Since(g.writingSince) > limit
}

func (g *group) setLastError(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.lastError = err
}

// LastError returns why the last record could not be written, or nil when it could.
func (g *group) LastError() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.lastError
}

// stop accepts no more records, and reports whether it did before. Accepted records are still
// written.
func (g *group) stop() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	before := !g.isClosed
	g.isClosed = true
	return before
}
