package state

import (
	"context"
	"time"
)

// Record is something that is remembered under a kind and a name, and changes.
type Record struct {
	Kind    string    // what it is: "approval", "task", "file", …
	Name    string    // among those of its kind
	Slot    string    // of the records of a kind that share one, only one is there; empty for none
	Group   string    // in which it is listed, such as what has become of it; may be empty
	Version int       // 1 when it was added, of a name that was there before too
	Due     time.Time // by which it is listed and counted; zero for one that is not
	Expires time.Time // when it is forgotten
	Owner   string    // the process that works on it; empty when nobody does
	Alive   bool      // its owner is present, by the clock of the store; of records that a Store returns
	Body    []byte

	// What is said to a Store of one change, and not remembered.
	Yields  bool // it is added only while half of the room for what is new is free, which is left to others
	Follows bool // it comes of what was taken before: it is added while there is room for that
	Quiet   bool // those who watch are not told
}

// share is up to how much that is held a record is added.
func (r *Record) share(bound int64) int64 {
	switch {
	case r.Yields:
		return bound / 2
	case r.Follows:
		return 2 * bound
	}
	return bound
}

// Records is the part of a Store that remembers records.
type Records interface {
	// Add remembers a record that is new, durably, and returns nil; or it changes nothing and returns the one that has the name or the slot already: of any number of callers
	// exactly one adds it. Of one that it adds the Version is 1.
	Add(ctx context.Context, r *Record) (*Record, error)

	// Record returns the record of a name, or nil when there is none.
	Record(ctx context.Context, kind, name string) (*Record, error)

	// Holder returns the record that has a slot, or nil when there is none.
	Holder(ctx context.Context, kind, slot string) (*Record, error)

	// Replace replaces a record, slot and group included, if it is still of the version that r has, and counts the version of r up. It reports false, and has changed
	// nothing, when the record was replaced in the meantime or is gone: of two writers that have read the same version one wins. It fails with ErrTaken when another record
	// has its slot.
	Replace(ctx context.Context, r *Record) (bool, error)

	// Remove forgets a record, if it is still of the version that r has, and reports whether it was.
	Remove(ctx context.Context, r *Record) (bool, error)

	// List returns the records of a query.
	List(ctx context.Context, q Query) ([]*Record, error)

	// Count is how many records of a kind are listed in a group.
	Count(ctx context.Context, kind, group string) (int, error)

	// Pace counts one more event of a name, and returns how long it has to wait for its turn; or, when that is longer than patience, it counts nothing and reports false, with the
	// same wait. The clock is that of the store, in microseconds. What is counted outlives the process, but the last events need not outlive the machine.
	Pace(ctx context.Context, name string, of Rhythm, patience time.Duration) (wait time.Duration, ok bool, err error)
}

// Rhythm is how often events may happen.
type Rhythm struct {
	Every    time.Duration // one may in each
	Burst    int           // that many may at once
	Patience time.Duration // the most that anybody has: a turn that is further off was counted by another rhythm, or by a clock that was set back since, and comes earlier
}

// times are the period, how far ahead of it events may be, and how far off the next turn can be, in microseconds.
func (r Rhythm) times() (period, ahead, furthest int64) {
	period = max(r.Every.Microseconds(), 1)
	ahead = int64(r.Burst-1) * period
	return period, ahead, ahead + max(r.Patience.Microseconds(), 0) + period
}
