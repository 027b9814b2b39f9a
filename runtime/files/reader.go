package files

import (
	"context"
	"io"
)

// reader reads a file and holds one chunk of it. It belongs to one goroutine.
type reader struct {
	ctx   context.Context
	shelf *Shelf
	file  *File
	next  int   // the chunk that comes next
	left  int64 // bytes that are still to come, those of chunk included
	chunk []byte
	err   error
}

// Read implements io.Reader.
func (r *reader) Read(p []byte) (int, error) {
	if len(r.chunk) == 0 && r.err == nil {
		r.fetch()
	}
	if r.err != nil {
		return 0, r.err
	}
	n := copy(p, r.chunk)
	r.chunk, r.left = r.chunk[n:], r.left-int64(n)
	return n, nil
}

func (r *reader) fetch() {
	if r.left == 0 {
		r.err = io.EOF
		return
	}
	store, err := r.shelf.open(r.ctx)
	if err != nil {
		r.err = err
		return
	}
	c, err := store.Record(r.ctx, kindChunk, chunkName(r.file.ID, r.next))
	switch {
	case err != nil:
		r.err = err
	case c == nil || len(c.Body) == 0 || int64(len(c.Body)) > r.left:
		r.err = ErrUnknown // it was removed, or has expired, in the meantime
	default:
		r.chunk = c.Body
		r.next++
	}
}

// Close implements io.Closer.
func (r *reader) Close() error {
	r.chunk, r.err = nil, io.ErrClosedPipe
	return nil
}
