package state

import (
	"context"
	"time"
)

// Record is a versioned document with a kind and a name.
type Record struct {
	Kind       string    // such as "approval", "task", "file"
	Name       string    // unique in its kind
	UniqueKey  string    // unique key: no two records of a kind have the same one; empty for none
	Group      string    // for lists and counts, such as a status; may be empty
	Version    int       // 1 for an added record, also when its name was used before
	Due        time.Time // order of lists; a record with the zero time is neither listed nor counted
	Expires    time.Time // when the record is removed
	Owner      string    // process that works on it; empty for none
	OwnerAlive bool      // the owner is alive by the clock of the store; set on returned records
	Body       []byte

	// Options of one change. They are not stored.
	Priority Priority
	NoNotify bool // the change is not announced by Watch
}

// Priority says up to which part of the quota a record is added.
type Priority int

// The priorities.
const (
	Normal   Priority = iota // up to the quota
	Low                      // up to half of the quota; the rest is left to others
	FollowUp                 // up to twice the quota: the record belongs to work that was accepted
)

// limit returns the size of the store up to which a record of the priority is added.
func (p Priority) limit(quota int64) int64 {
	switch p {
	case Low:
		return quota / 2
	case FollowUp:
		return 2 * quota
	}
	return quota
}

// Records is the part of a Store that keeps records.
type Records interface {
	// Add adds a record durably, sets its Version to 1 and returns nil. If another record has its
	// name or unique key, Add changes nothing and returns that record: exactly one of any number of
	// callers adds.
	Add(ctx context.Context, r *Record) (*Record, error)

	// Record returns the record with a name, or nil when there is none.
	Record(ctx context.Context, kind, name string) (*Record, error)

	// Holder returns the record with a unique key, or nil when there is none.
	ByUniqueKey(ctx context.Context, kind, key string) (*Record, error)

	// Replace replaces a record, including its unique key and group, and increments r.Version. It
	// reports false, and changes nothing, when the stored record is gone or no longer has the version
	// of r: of two callers that have read the same version one wins. It fails with [ErrKeyTaken] when
	// another record has the unique key.
	Replace(ctx context.Context, r *Record) (bool, error)

	// Remove removes a record, and reports false when the stored record is gone or no longer has the
	// version of r.
	Remove(ctx context.Context, r *Record) (bool, error)

	// List returns the records that a query selects.
	List(ctx context.Context, q Query) ([]*Record, error)

	// Count returns how many records of a kind and group List would return.
	Count(ctx context.Context, kind, group string) (int, error)

	// Pace reserves the next event of a name under a rate, and returns how long the event has to
	// wait. If that is longer than maxWait, it reserves nothing and reports false with the same wait.
	// It uses the clock of the store, in microseconds. Reservations outlive the process; the last
	// ones may be lost when the machine fails.
	Reserve(ctx context.Context, name string, rate Rate, maxWait time.Duration) (wait time.Duration, ok bool, err error)
}

// Rate is how often events may happen.
type Rate struct {
	Interval time.Duration // one event per interval
	Burst    int           // events that may happen at once

	// MaxWait is the longest wait in use. A stored reservation that is further ahead was made
	// under another rate, or before the clock was set back, and is moved closer.
	MaxWait time.Duration
}

// microseconds returns the interval between events, how far events may run ahead of it, and how far
// ahead the next reservation can be at most.
func (r Rate) microseconds() (interval, ahead, furthest int64) {
	interval = max(r.Interval.Microseconds(), 1)
	ahead = int64(r.Burst-1) * interval
	return interval, ahead, ahead + max(r.MaxWait.Microseconds(), 0) + interval
}
