// Package idempotency carries out the work of an idempotency key once: a key is free, in progress,
// or done with a result that every other call with the same key gets.
//
// A call makes a [Claim] for its key and calls [Claim.Acquire]. The call that gets the key must
// call [Claim.Finish] with what the key has come to, or [Claim.Release] when nothing was done.
package idempotency

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"time"

	"hatchel/runtime/durable/state"
	"hatchel/runtime/stage/failure"
	"hatchel/runtime/stage/result"
)

// Kind is the kind of the records of idempotency keys. Their slots are the keys, so that there is
// one at a time. Their names are random: a paused call resumes with its own record, and never with
// a later one of the same key.
const Kind = "idempotency"

// Status is what a key has come to.
type Status string

const (
	Started Status = "started"
	Paused  Status = "paused" // the call waits for its client, which has the token to resume it
	Task    Status = "task"   // the call continues as a task
	Done    Status = "done"
	Lost    Status = "lost" // the call was interrupted, or its result could not be kept
)

// Record is a call with a key, as it is stored.
type Record struct {
	Arguments string           `json:"arguments"` // digest
	Status    Status           `json:"status"`
	Task      string           `json:"task,omitempty"`   // ID of the task that the call has become
	Result    *result.Cached   `json:"result,omitempty"` // of a call that is done, unless it has failed
	Failure   *RecordedFailure `json:"failure,omitempty"`
}

// RecordedFailure is how a call has failed, as its client was told.
type RecordedFailure struct {
	Message string `json:"message"`
	ID      string `json:"id,omitempty"` // under which the cause is in the log
}

// Decode returns the record of a row.
func Decode(row *state.Record) (Record, error) {
	var r Record
	err := json.Unmarshal(row.Body, &r)
	return r, err
}

// ReplayedError is the failure of another call with the same key.
type ReplayedError struct{ *RecordedFailure }

func (e ReplayedError) Error() string { return e.Message }

// Failure implements the interface of package failure.
func (e ReplayedError) Failure() *failure.Failure {
	return &failure.Failure{Message: e.Message, Refused: true, ID: e.ID}
}

// ErrGone is why the outcome of a call is not kept: the record of its key has expired or was
// replaced.
var ErrGone = errors.New("the record of the idempotency key has expired or was replaced")

// retryFinishFor is how long Finish is retried while the store is unavailable.
const retryFinishFor = 5 * time.Minute

// Claim is the attempt of one call to carry out the work of a key. It belongs to the goroutine of
// the call.
type Claim struct {
	Record Record
	Result *result.Cached // of the call; nil when there is none

	lease *state.Lease
	key   string
	ttl   time.Duration
	hold  *state.Hold // nil unless this call has the key
	held  bool        // this call has the key, and has not said what it came to
}

// NewLease returns the lease of all claims of a process.
func NewLease(process *state.Process) *state.Lease { return &state.Lease{Process: process, Kind: Kind} }

// New returns a claim for a key. Arguments is a digest of the arguments; ttl is how long the
// outcome is kept.
func New(lease *state.Lease, key, arguments string, ttl time.Duration) *Claim {
	return &Claim{lease: lease, key: key, ttl: ttl, Record: Record{Arguments: arguments}}
}

// Held reports whether this call has the key and has not finished.
func (c *Claim) Held() bool { return c != nil && c.held }

// Name returns the name of the record that this call holds.
func (c *Claim) Name() string { return c.hold.Record.Name }

// Acquire takes the key and returns nil, or returns the record of the call that has it. Paused is
// the name of the record that a call resumes with, which it gets back; that call has paused, or its process
// has died while it waited. The record outlives
// the longest time that a call takes.
func (c *Claim) Acquire(ctx context.Context, paused string, longest time.Duration) (*state.Record, error) {
	existing, err := c.begin(ctx, nil, longest)
	if err != nil || existing == nil || existing.Name != paused {
		return existing, err
	}
	r, err := Decode(existing)
	if died := r.Status == Started && !existing.OwnerAlive; err != nil || r.Status != Paused && !died {
		return existing, err
	}
	return c.begin(ctx, existing, longest)
}

func (c *Claim) begin(ctx context.Context, paused *state.Record, longest time.Duration) (*state.Record, error) {
	c.Record.Status = Started
	row := &state.Record{Name: rand.Text(), UniqueKey: c.key, NoNotify: true}
	if err := c.encode(row, max(c.ttl, longest+time.Hour)); err != nil {
		return nil, err
	}
	hold, existing, err := c.lease.Begin(ctx, row, paused)
	if err != nil || existing != nil {
		return existing, err
	}
	c.hold, c.held = hold, true
	return nil, nil
}

// encode writes the record into its row.
func (c *Claim) encode(row *state.Record, ttl time.Duration) (err error) {
	row.Expires = time.Now().Add(ttl)
	row.Body, err = json.Marshal(&c.Record)
	return err
}

// Find returns the record of the key, nil for none.
func (c *Claim) Find(ctx context.Context) (*state.Record, error) {
	store, err := c.lease.Process.Store(ctx)
	if err != nil {
		return nil, err
	}
	return store.ByUniqueKey(ctx, Kind, c.key)
}

// Finish stores what the key has come to, also when the client has gone. It does nothing for a call
// that does not have the key.
func (c *Claim) Finish(ctx context.Context, status Status) error {
	if !c.held {
		return nil
	}
	c.held = false
	c.Record.Status = status
	return c.finish(context.WithoutCancel(ctx))
}

func (c *Claim) finish(ctx context.Context) error {
	finished, err := c.replace(ctx)
	if errors.Is(err, state.ErrFull) {
		c.Record = Record{Arguments: c.Record.Arguments, Status: Lost}
		finished, err = c.replace(ctx)
	}
	if err == nil && !finished {
		err = ErrGone
	}
	return err
}

func (c *Claim) replace(ctx context.Context) (bool, error) {
	if err := c.encode(c.hold.Record, c.ttl); err != nil {
		return false, err
	}
	return c.hold.Finish(ctx)
}

// RetryFinish repeats a Finish in the background while the store is unavailable. Until then other
// calls find the key in progress. It calls failed when it gives up, and reports false when the
// server is shutting down.
func (c *Claim) RetryFinish(failed func(error)) bool {
	return c.lease.Process.RetryLater(retryFinishFor, c.finishIfStarted, failed)
}

// finishIfStarted finishes the claim unless it was finished: a store that became unavailable may
// have stored it.
func (c *Claim) finishIfStarted(ctx context.Context) error {
	row, err := c.Find(ctx)
	if err != nil {
		return err
	}
	if row == nil || row.Name != c.hold.Record.Name {
		return ErrGone
	}
	if r, err := Decode(row); err != nil || r.Status != Started {
		return err
	}
	return c.finish(ctx)
}

// Release frees the key: nothing was done.
func (c *Claim) Release(ctx context.Context) error {
	if !c.held {
		return nil
	}
	c.held = false
	c.hold.Release()
	store, err := c.lease.Process.Store(ctx)
	if err == nil {
		_, err = store.Remove(context.WithoutCancel(ctx), c.hold.Record)
	}
	return err
}
