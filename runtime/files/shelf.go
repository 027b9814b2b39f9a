package files

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"hatchel/runtime/state"
)

// Rules say what may be uploaded.
type Rules struct {
	MaxSize int64         // bytes of one file
	Types   []string      // media types, as in "image/*"; nil for all
	TTL     time.Duration // how long a file is kept
	BaseURL string        // how others reach the server, without a / at its end; empty when that is not known
}

// What one owner may have, of complete files and of those that are being uploaded.
const (
	mostFiles = 1000
	mostBytes = 256 << 20
)

// mostAtOnce is how many uploads of one owner this process takes at once: each holds a chunk in memory, and has the store written to when it begins and when it ends.
const mostAtOnce = 16

var (
	// ErrUnknown is why a file cannot be read: there is none with this id, or it has expired, or is somebody else's, which nobody is told apart.
	ErrUnknown = errors.New("there is no such file")

	// ErrCrowded is why nothing more is taken of an owner.
	ErrCrowded = errors.New("there are too many files, or too large ones, of this caller")

	// ErrAtOnce is why nothing is taken of an owner at the moment.
	ErrAtOnce = errors.New("there are too many uploads of this caller at once")

	// ErrCut is why an upload failed: it ended before all of it had come.
	ErrCut = errors.New("the upload has ended before all of it had come")
)

// TooLargeError is why a file is not taken: it has more bytes than that.
type TooLargeError struct{ Most int64 }

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("a file may have %d bytes at most", e.Most)
}

// TypeError is why a file is not taken: it is of a type that is not, as declared or as its bytes look.
type TypeError struct {
	Declared, Sniffed string // Sniffed is empty when nothing was read
	Allowed           []string
}

func (e *TypeError) Error() string {
	what := "the type " + e.Declared
	if e.Sniffed != "" {
		what += ", whose bytes look like " + e.Sniffed + ","
	}
	return what + " is not taken: only " + strings.Join(e.Allowed, ", ")
}

// Shelf holds files. It is safe for many goroutines.
type Shelf struct {
	open  func(context.Context) (state.Store, error)
	owner string // this process, in the store

	mu     sync.Mutex
	home   *home          // nil before the first copy; guarded by mu
	under  map[string]int // uploads under way, by the group of their owner; guarded by mu
	beaten time.Time      // when this process last said that it is there; guarded by mu

	tending sync.WaitGroup
	stop    context.CancelFunc // ends the looking for what others have left; nil before it began; guarded by mu
}

// NewShelf returns the files in a store, which open gives and which stays its owner's.
func NewShelf(open func(context.Context) (state.Store, error)) *Shelf {
	return &Shelf{open: open, owner: rand.Text(), under: map[string]int{}}
}

// Find returns the file of an id, whoever's it is, or ErrUnknown.
func (s *Shelf) Find(ctx context.Context, id string) (*File, error) {
	if !isID(id) {
		return nil, ErrUnknown
	}
	store, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	r, err := store.Record(ctx, kindFile, id)
	if err != nil {
		return nil, err
	}
	if r == nil {
		return nil, ErrUnknown
	}
	f, err := fileOf(r)
	if err == nil && f == nil {
		err = ErrUnknown
	}
	return f, err
}

// FindOf returns the file of an id when it is this owner's, or ErrUnknown.
func (s *Shelf) FindOf(ctx context.Context, owner, id string) (*File, error) {
	f, err := s.Find(ctx, id)
	if err == nil && !f.Of(owner) {
		return nil, ErrUnknown
	}
	return f, err
}

// Open reads the bytes of a file, chunk by chunk. Reading fails when the file is removed in the meantime.
func (s *Shelf) Open(ctx context.Context, f *File) io.ReadCloser {
	return &reader{ctx: ctx, shelf: s, file: f, left: f.Size}
}

// Remove forgets a file, and reports whether it was there.
func (s *Shelf) Remove(ctx context.Context, f *File) (bool, error) {
	store, err := s.open(ctx)
	if err != nil {
		return false, err
	}
	r, err := store.Record(ctx, kindFile, f.ID)
	if err != nil || r == nil {
		return false, err
	}
	return forget(ctx, store, r)
}

// forget removes a record, and then the chunks that nobody can find any more: also when who has asked for it is gone, because they count for nobody and take room.
func forget(ctx context.Context, store state.Store, r *state.Record) (bool, error) {
	r.Quiet = true
	removed, err := store.Remove(ctx, r)
	if err != nil || !removed {
		return false, err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	return true, forgetChunks(ctx, store, r.Name, 0)
}

// forgetChunks removes the chunks of a file up to the first that is not there, of which there are at least so many, or were.
func forgetChunks(ctx context.Context, store state.Store, id string, least int) error {
	for n := 0; ; n++ {
		// Chunks are never replaced.
		if there, err := store.Remove(ctx, &state.Record{Kind: kindChunk, Name: chunkName(id, n), Version: 1, Quiet: true}); err != nil || !there && n >= least {
			return err
		}
	}
}
