package state

import (
	"context"
	"errors"
	"time"
)

// ErrFull is why nothing more is taken: so much is remembered already that the place where it is kept could run out of room. Add meets it first; Pace of a new name, and Replace with
// what has grown beyond a few KiB, much later.
var ErrFull = errors.New("too much is remembered already")

// ErrAway is why nothing can be remembered or found for now: what is behind the store does not answer. Whether what was tried took effect is not known.
var ErrAway = errors.New("what is behind the store does not answer")

// ErrTaken is why a record is not replaced: another one has the slot that it would have.
var ErrTaken = errors.New("another one has its slot")

// Skew is more than the clocks of the processes that share a Store may differ by. By them records expire: what must be there for every process until a moment expires that much later.
const Skew = time.Hour

// Remote is a Store that is shared over a network.
type Remote interface {
	Store

	// Ping is why what is behind the store does not answer, in a sentence for the operator.
	Ping(ctx context.Context) error
}

// Store remembers. Its methods may be called by many goroutines, and by the processes that share what is behind it, at once. What has expired reads as if it had never
// been there. Times have a resolution of a millisecond.
type Store interface {
	Records

	// Present says that the owner of records is alive, until then at least.
	Present(ctx context.Context, owner string, until time.Time) error

	// Watch tells what other processes have changed, one after the other, until ctx ends: the kind and the name of a record that was added, replaced or removed. An empty kind
	// says that anything may have been: when it begins, and when it was not able to hear for a while. What this Store has changed itself is not told, nor what is quiet, nor
	// what has expired; of a Store that no other process can have open nothing is.
	Watch(ctx context.Context, changed func(kind, name string))

	// Close lets go of what is behind the store. No method may be called afterwards.
	Close() error
}
