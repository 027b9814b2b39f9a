package files

import (
	"context"
	"io"

	"hatchel/runtime/state"
)

// reader reads a file and holds one chunk of it. It belongs to one goroutine.
type reader struct {
	ctx     context.Context
	process *state.Process
	file    *File
	next    int    // number of the next chunk
	left    int64  // unread bytes, including those of chunk
	chunk   []byte // loaded and unread
	err     error
}

// Read implements io.Reader.
func (r *reader) Read(p []byte) (int, error) {
	if len(r.chunk) == 0 && r.err == nil {
		r.err = r.loadChunk()
	}
	if r.err != nil {
		return 0, r.err
	}
	n := copy(p, r.chunk)
	r.chunk, r.left = r.chunk[n:], r.left-int64(n)
	return n, nil
}

func (r *reader) loadChunk() error {
	if r.left == 0 {
		return io.EOF
	}
	store, err := r.process.Store(r.ctx)
	if err != nil {
		return err
	}
	c, err := store.Record(r.ctx, kindChunk, chunkName(r.file.ID, r.next))
	switch {
	case err != nil:
		return err
	case c == nil || len(c.Body) == 0 || int64(len(c.Body)) > r.left:
		return ErrNotFound // the file was removed or has expired meanwhile
	}
	r.chunk = c.Body
	r.next++
	return nil
}

// Close implements io.Closer.
func (r *reader) Close() error {
	r.chunk, r.err = nil, io.ErrClosedPipe
	return nil
}
