package state

import (
	"context"
	"errors"
	"time"
)

// SecretSize is how many bytes Store.Secret gives.
const SecretSize = 32

// ErrFull is why nothing more is taken: so much is remembered already that the place where it is kept could run out of room. Keep, Create, Begin and Add meet it first; Claim, Pace of
// a new name, and Update, Settle or Replace with what has grown beyond a few KiB, much later.
var ErrFull = errors.New("too much is remembered already")

// ErrAway is why nothing can be remembered or found for now: what is behind the store does not answer. Whether what was tried took effect is not known.
var ErrAway = errors.New("what is behind the store does not answer")

// ErrTaken is why a record is not replaced: another one has the slot that it would have.
var ErrTaken = errors.New("another one has its slot")

// KindTask is what Watch calls tasks. No record is of this kind.
const KindTask = "task"

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

	// Secret returns random bytes that were made once and are the same for ever.
	Secret(ctx context.Context) ([]byte, error)

	// Claim reports whether this is the first claim of the name: of any number of callers exactly one is told true. The claim is remembered until then.
	Claim(ctx context.Context, name string, until time.Time) (bool, error)

	// Keep remembers a value under a name, in the place of one that was there.
	Keep(ctx context.Context, name string, value []byte, until time.Time) error

	// Take returns what was kept under a name and forgets it; nil when there is nothing.
	Take(ctx context.Context, name string) ([]byte, error)

	// Create remembers a task that is new, durably: when it returns nil, every Task finds it.
	Create(ctx context.Context, t *Task) error

	// Task returns a task, or nil when there is none with this id.
	Task(ctx context.Context, id string) (*Task, error)

	// Update replaces a task, if it is still of the version that t has, and counts the version of t up. It reports false, and has changed nothing, when the
	// task was updated in the meantime or is gone: of two writers that have read the same version one wins.
	Update(ctx context.Context, t *Task) (bool, error)

	// Present says that the owner of tasks is alive, until then at least.
	Present(ctx context.Context, owner string, until time.Time) error

	// Orphans are the tasks that have an owner who is not present any more.
	Orphans(ctx context.Context) ([]*Task, error)

	// Begin remembers a deed that is new, durably, and returns nil; or it changes nothing and returns the one that has the name already: of any number of callers
	// exactly one begins it.
	Begin(ctx context.Context, d *Deed) (*Deed, error)

	// Deed returns the deed of a name, or nil when there is none.
	Deed(ctx context.Context, name string) (*Deed, error)

	// Settle replaces the deed that has the name of d, if its owner is still this one. It reports false, and has changed nothing, when it is another's or gone.
	Settle(ctx context.Context, owner string, d *Deed) (bool, error)

	// Forget removes the deed of a name, if its owner is still this one, and reports whether it was.
	Forget(ctx context.Context, name, owner string) (bool, error)

	// Watch tells what other processes have changed, one after the other, until ctx ends: KindTask and the id of a task that was updated, or the kind and the name of a record
	// that was added, replaced or removed. An empty kind says that anything may have been: when it begins, and when it was not able to hear for a while. What this Store has
	// changed itself is not told, nor what has expired; of a Store that no other process can have open nothing is.
	Watch(ctx context.Context, changed func(kind, name string))

	// Close lets go of what is behind the store. No method may be called afterwards.
	Close() error
}

// Task is a task as a Store knows it.
type Task struct {
	ID      string
	Version int       // 1 when it was created
	Owner   string    // the process that works on it; empty when nobody does
	Expires time.Time // when it is forgotten
	Body    []byte    // what it is about
}

// Deed is what must not be done twice, as a Store knows it.
type Deed struct {
	Name    string
	Owner   string    // the process that works on it; empty when nobody does
	Alive   bool      // its owner is present; of deeds that a Store returns
	Expires time.Time // when it is forgotten
	Body    []byte    // what it is about, and what it came to
}
