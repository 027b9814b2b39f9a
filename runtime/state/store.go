package state

import (
	"context"
	"time"

	"hatchel/internal/operator"
	"hatchel/runtime/postgres"
)

// ErrFull is returned when the quota of the store is used up. Add fails first; [Records.Reserve] of a new name,
// and Replace with a body that has grown beyond a few KiB, fail at twice the quota.
var ErrFull error = operator.Error("the state store is full")

// ErrUnavailable is returned while the store is unavailable. Whether the operation took effect is not known.
var ErrUnavailable = postgres.ErrUnavailable

// ErrKeyTaken is returned when the unique key of a record belongs to another record.
var ErrKeyTaken error = operator.Error("the unique key belongs to another record")

// MaxClockSkew is more than the clocks of processes that share a Store may differ by. Records expire by these
// clocks, so a record that every process must see until a time has to expire that much later.
const MaxClockSkew = time.Hour

// RemoteStore is a Store that is reached over a network.
type RemoteStore interface {
	Store

	// Ping returns why the store is unavailable, in a sentence for the operator.
	Ping(ctx context.Context) error
}

// Store keeps records. Its methods may be called concurrently, by all processes that share the store.
// An expired record reads as if it had never existed. Times have a resolution of a millisecond.
type Store interface {
	Records

	// Present is a heartbeat: it reports the owner of records alive until a time.
	Heartbeat(ctx context.Context, owner string, until time.Time) error

	// Watch calls changed with the kind and the name of each record that another process adds,
	// replaces or removes, one after the other, until ctx ends. An empty kind means that any record
	// may have changed: at the beginning, and after Watch has missed changes. Changes with [Record.NoNotify] and
	// expired records are not announced, nor is anything in a store that no other process can open.
	Watch(ctx context.Context, changed func(kind, name string))

	// Close closes the store. No method may be called afterwards.
	Close() error
}
