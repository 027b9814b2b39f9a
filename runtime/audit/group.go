package audit

import (
	"sync"
	"time"
)

// group is those who add records at the same time: who comes first writes those of everybody who comes while the ones before are written.
type group struct {
	mu       sync.Mutex
	next     *batch    // that takes records; nil when there is none; guarded by mu
	failing  error     // why the last record could not be written; guarded by mu
	putting  time.Time // since when a batch is being written; zero when none is; guarded by mu
	isClosed bool      // guarded by mu

	writing sync.Mutex // held while a batch is written
}

// batch are records that are written together.
type batch struct {
	members []byte
	ends    []int
	since   time.Time     // when the first was added
	done    chan struct{} // closed when they are written
	first   int64         // the sequence of the first, when done
	whole   int           // how many of them are in the log, when done
	err     error         // why the others are not
}

var buffers = sync.Pool{New: func() any { return new([]byte) }}

// add has a record written by put, alone or with those of others, and returns its sequence.
func (g *group) add(r *Record, put func(*batch)) (sequence int64, err error) {
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
		b, leads = &batch{since: time.Now(), done: make(chan struct{})}, true
		g.next = b
	}
	i := len(b.ends)
	b.members = append(b.members, *buffer...)
	b.ends = append(b.ends, len(b.members))
	g.mu.Unlock()
	if leads {
		g.lead(b, put)
	} else {
		<-b.done
	}
	if i >= b.whole {
		return 0, b.err
	}
	return b.first + int64(i), nil
}

// lead writes a batch when the one before it is written. Until then others add to it.
func (g *group) lead(b *batch, put func(*batch)) {
	g.writing.Lock()
	defer g.writing.Unlock()
	defer close(b.done)
	g.mu.Lock()
	g.next, g.putting = nil, time.Now()
	g.mu.Unlock()
	put(b)
	g.mu.Lock()
	g.putting = time.Time{}
	g.mu.Unlock()
}

// stuck reports whether a batch is being written for longer than it should take.
func (g *group) stuck(longest time.Duration) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return !g.putting.IsZero() && time.Since(g.putting) > longest
}

// noted remembers what became of a record.
func (g *group) noted(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.failing = err
}

// Failing is why the last record could not be written; nil when it could.
func (g *group) Failing() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.failing
}

// closes takes no records any more, and reports whether it did before. Those that were added are still written.
func (g *group) closes() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	before := !g.isClosed
	g.isClosed = true
	return before
}
