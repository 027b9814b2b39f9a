package mcp

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"sync"
)

// The memory that all requests in progress may take: their texts and what is decoded of them. It may take twice as much
// until garbage is collected. The first bytes of a request are not counted, so that a small one takes no lock.
const (
	maxMemory       = 128 << 20
	maxCallerMemory = maxMemory / 2 // of one caller
	uncounted       = 4 << 10       // bytes of a text, and of what is decoded of it
)

// ErrNoMemory is the error for a request for which there is no memory at the moment. Over HTTP its status is 503, with
// the header Retry-After.
var ErrNoMemory = &Error{
	Code:    CodeBusy,
	Message: "The requests in progress take all the memory that they may take. Nothing was done. Try again in a moment",
}

// TooLargeError is the error for a request that takes more memory than a caller may have.
type TooLargeError struct{ Bytes int64 }

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("this takes %d MiB of memory, and the requests of one caller may take %d MiB together",
		(e.Bytes+1<<20-1)>>20, maxCallerMemory>>20)
}

// memoryBudget is the memory that requests have reserved.
type memoryBudget struct {
	mu       sync.Mutex
	used     int64            // guarded by mu
	byCaller map[string]int64 // guarded by mu
}

// Reservation is the memory of one request. The zero value is that of a request without a limit.
type Reservation struct {
	server *Server       // nil without a limit
	from   *http.Request // nil on a pair of streams, and when caller is known
	caller string        // whose memory it is; guarded by mu of the budget
	bytes  int64         // guarded by mu of the budget
}

// reserve adds to the memory of the request. It returns ErrNoMemory or a TooLargeError.
func (r *Reservation) reserve(n int64) error {
	if r.server == nil || n <= 0 {
		return nil
	}
	b := &r.server.memory
	b.mu.Lock()
	defer b.mu.Unlock()
	if r.from != nil { // most requests are small, and need no name
		r.caller, r.from = r.server.memoryOwner(r.from), nil
	}
	switch {
	case r.bytes+n > maxCallerMemory:
		return &TooLargeError{r.bytes + n}
	case b.used+n > maxMemory || b.byCaller[r.caller]+n > maxCallerMemory:
		return ErrNoMemory
	}
	b.add(r, n)
	return nil
}

// ReserveText reserves the memory for a text of this size that a request has brought up. The caller must release it.
func (s *Server) ReserveText(r *http.Request, size int) (*Reservation, error) {
	memory := &Reservation{server: s, from: r}
	return memory, memory.reserve(int64(size) - uncounted)
}

// split returns a reservation with a part of the memory of the request, which then has less.
func (r *Reservation) split(n int64) Reservation {
	b := &r.server.memory
	b.mu.Lock()
	defer b.mu.Unlock()
	r.bytes -= n
	return Reservation{server: r.server, caller: r.caller, bytes: n}
}

// Release returns all memory of the request.
func (r *Reservation) Release() {
	if r.server != nil && r.bytes > 0 {
		b := &r.server.memory
		b.mu.Lock()
		b.add(r, -r.bytes)
		b.mu.Unlock()
	}
	*r = Reservation{}
}

// add changes what a request has reserved. The caller holds mu.
func (b *memoryBudget) add(r *Reservation, n int64) {
	if n == 0 {
		return
	}
	b.used += n
	r.bytes += n
	if left := b.byCaller[r.caller] + n; left > 0 {
		b.byCaller[r.caller] = left
	} else {
		delete(b.byCaller, r.caller)
	}
}

// Reserve adds n bytes, which are about to be decoded, to the memory that the request takes until it ends. It returns
// ErrNoMemory or a TooLargeError, after which they must not be.
func (r *CallRequest) Reserve(n int64) error {
	if r == nil {
		return nil
	}
	return r.decoded.reserve(n)
}

// Keep returns the memory that Reserve has reserved, for values that outlive the request. It is no longer that of the
// request, and must be released when the values are dropped.
func (r *CallRequest) Keep() *Memory {
	if r == nil {
		return nil
	}
	return r.decoded.keep()
}

// decodedMemory is what was reserved for the decoded values of one of the messages of a request. Its methods may be
// called concurrently.
type decodedMemory struct {
	of *Reservation // of the request; nil without a limit

	mu    sync.Mutex
	bytes int64 // guarded by mu
}

func (d *decodedMemory) reserve(n int64) error {
	if n -= uncounted; d.of == nil || n <= 0 {
		return nil
	}
	err := d.of.reserve(n)
	if err == nil {
		d.mu.Lock()
		d.bytes += n
		d.mu.Unlock()
	}
	return err
}

func (d *decodedMemory) keep() *Memory {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.bytes == 0 {
		return nil
	}
	kept := &Memory{d.of.split(d.bytes)}
	d.bytes = 0
	return kept
}

// Memory is memory that was reserved for values that outlive their request. A nil Memory is none.
type Memory struct{ kept Reservation }

// Release returns the memory. It must be called once.
func (m *Memory) Release() {
	if m != nil {
		m.kept.Release()
	}
}

// room makes room for more bytes of a text in the buffer and reserves it. The text has size bytes, or -1 if that is
// not known, and at most limit. The buffer grows with what has arrived, so that a text that was only announced takes
// nothing.
func (b *Buffer) room(size, limit int64) error {
	if len(b.B) < cap(b.B) {
		return nil
	}
	next := min(2*int64(cap(b.B)), limit+512)
	if size >= 0 { // the last buffer has the exact size
		next = min(4*int64(cap(b.B)), size+1)
	}
	next = max(next, int64(len(b.B))+512)
	if err := b.memory.reserve(next - b.memory.bytes); err != nil {
		return err
	}
	grown := make([]byte, len(b.B), next)
	copy(grown, b.B)
	b.B = grown
	return nil
}

// gzipReaders are readers that were used before, which keep 40 KiB of memory each.
var gzipReaders = sync.Pool{New: func() any { return new(gzip.Reader) }}

// readGzip is readFrom for a compressed text.
func (b *Buffer) readGzip(r io.Reader, limit int64) error {
	z := gzipReaders.Get().(*gzip.Reader)
	defer gzipReaders.Put(z)
	if err := z.Reset(r); err != nil {
		return err
	}
	return b.readFrom(z, -1, limit)
}

// readFrom reads a text of at most limit bytes, and one byte more of a longer one. Size is as for room.
func (b *Buffer) readFrom(r io.Reader, size, limit int64) error {
	for int64(len(b.B)) <= limit {
		if err := b.room(size, limit); err != nil {
			return err
		}
		n, err := r.Read(b.B[len(b.B):min(int64(cap(b.B)), limit+1)])
		b.B = b.B[:len(b.B)+n]
		if counted := int64(len(b.B)) - uncounted; counted > b.memory.bytes { // a buffer that was used before
			if err := b.memory.reserve(counted - b.memory.bytes); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}
