package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"hatchel/runtime/durable/state"
)

// Rules restrict uploads.
type Rules struct {
	MaxSize int64         // bytes of one file
	Types   []string      // accepted media types, such as "image/*"; nil accepts all
	TTL     time.Duration // how long a file is kept
	BaseURL string        // public address of the server, without a trailing slash; empty when it is not known
}

// Quota of one owner, for complete files and uploads in progress together.
const (
	maxFiles = 1000
	maxBytes = 256 << 20
)

// maxUploads limits the concurrent uploads of one owner to this process. Each of them holds a chunk
// in memory.
const maxUploads = 16

var (
	// ErrNotFound is returned for an ID without a file. A file that has expired or belongs to
	// another owner gives the same error, so that nobody learns that it exists.
	ErrNotFound = errors.New("file not found")

	// ErrQuotaExceeded is returned when an owner has used up the quota.
	ErrQuotaExceeded = errors.New("the file quota of this caller is used up")

	// ErrTooManyUploads is returned when an owner has too many uploads in progress.
	ErrTooManyUploads = errors.New("too many concurrent uploads of this caller")

	// ErrTruncated is returned when an upload ended before all of it was received.
	ErrTruncated = errors.New("the upload ended before all of it was received")
)

// TooLargeError is returned for a file of more than Most bytes.
type TooLargeError struct{ Max int64 }

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("a file may have at most %d bytes", e.Max)
}

// TypeError is returned for a file whose declared or detected media type is not accepted.
type TypeError struct {
	Declared, Sniffed string // Sniffed is empty when nothing was read
	Allowed           []string
}

func (e *TypeError) Error() string {
	detected := ""
	if e.Sniffed != "" {
		detected = " (detected: " + e.Sniffed + ")"
	}
	return "the media type " + e.Declared + detected + " is not accepted; accepted: " + strings.Join(e.Allowed, ", ")
}

// Store stores files. Its methods may be called concurrently.
type Store struct {
	process *state.Process
	lease   state.Lease // on uploads in progress
	cleanup sync.Once

	mu        sync.Mutex
	dir       *processDir    // nil before the first staged file; guarded by mu
	uploading map[string]int // uploads in progress by the group of their owner; guarded by mu
}

// NewStore returns the files in the store of a process. The caller closes the process after the
// [Store].
func NewStore(process *state.Process) *Store {
	s := &Store{process: process, uploading: map[string]int{}}
	s.lease = state.Lease{Process: process, Kind: kindFile, TTL: orphanTTL, OnOrphan: removeOrphan}
	return s
}

// Find returns the file of an ID, of any owner, or [ErrNotFound].
func (s *Store) Find(ctx context.Context, id string) (*File, error) {
	if !isID(id) {
		return nil, ErrNotFound
	}
	_, r, err := s.findRecord(ctx, kindFile, id)
	if err != nil {
		return nil, err
	}
	return decodeFile(r)
}

// findRecord returns a record and the store that has it, or [ErrNotFound].
func (s *Store) findRecord(ctx context.Context, kind, name string) (state.Store, *state.Record, error) {
	store, err := s.process.Store(ctx)
	if err != nil {
		return nil, nil, err
	}
	r, err := store.Record(ctx, kind, name)
	if err == nil && r == nil {
		err = ErrNotFound
	}
	return store, r, err
}

// FindOwned returns the file of an ID if this owner has uploaded it, or [ErrNotFound].
func (s *Store) FindOwned(ctx context.Context, owner, id string) (*File, error) {
	f, err := s.Find(ctx, id)
	if err == nil && !f.OwnedBy(owner) {
		return nil, ErrNotFound
	}
	return f, err
}

// Open returns a reader of the bytes of a file, which it loads chunk by chunk. A read fails with
// [ErrNotFound] when the file is removed meanwhile.
func (s *Store) Open(ctx context.Context, f *File) io.ReadCloser {
	return &reader{ctx: ctx, store: s, file: f, left: f.Size}
}

// Remove removes a file, and reports whether there was one.
func (s *Store) Remove(ctx context.Context, f *File) (bool, error) {
	store, r, err := s.findRecord(ctx, kindFile, f.ID)
	switch {
	case errors.Is(err, ErrNotFound):
		return false, nil
	case err != nil:
		return false, err
	}
	return removeFile(ctx, store, r)
}

// removeFile removes the record of a file and then its chunks, which nobody can find any more. It
// removes the chunks even after ctx has ended: they belong to no quota and would take up space.
func removeFile(ctx context.Context, store state.Store, r *state.Record) (bool, error) {
	r.NoNotify = true
	removed, err := store.Remove(ctx, r)
	if err != nil || !removed {
		return false, err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	defer cancel()
	return true, removeChunks(ctx, store, r.Name, 0)
}

// removeChunks removes the chunks of a file. It skips missing ones as long as their number is below
// count.
func removeChunks(ctx context.Context, store state.Store, id string, count int) error {
	for n := 0; ; n++ {
		// Version is 1 because chunks are never replaced.
		chunk := &state.Record{Kind: kindChunk, Name: chunkName(id, n), Version: 1, NoNotify: true}
		if removed, err := store.Remove(ctx, chunk); err != nil || !removed && n >= count {
			return err
		}
	}
}

// orphanTTL is how long an upload stays whose process seems to have died.
const orphanTTL = 20 * time.Second

// StartCleanup removes, from now on, the interrupted uploads of processes that have died: they take
// up space, and nobody can find them.
func (s *Store) StartCleanup() { s.cleanup.Do(s.lease.Watch) }

func removeOrphan(ctx context.Context, store state.Store, r *state.Record) error {
	_, err := removeFile(ctx, store, r)
	return err
}

// reader reads a file and holds one chunk of it. It belongs to one goroutine.
type reader struct {
	ctx   context.Context
	store *Store
	file  *File
	next  int    // number of the next chunk
	left  int64  // unread bytes, including those of chunk
	chunk []byte // loaded and unread
	err   error
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
	_, c, err := r.store.findRecord(r.ctx, kindChunk, chunkName(r.file.ID, r.next))
	if err != nil {
		return err // ErrNotFound when the file was removed or has expired meanwhile
	}
	if len(c.Body) == 0 || int64(len(c.Body)) > r.left {
		return ErrNotFound
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
