package runtime

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"hatchel/runtime/failure"
	"hatchel/runtime/result"
	"hatchel/runtime/state"
)

// What has become of a deed.
const (
	keyStarted = "begun"
	keyPaused  = "paused" // it waits for its client, who has been given the state to go on from
	keyTask    = "task"   // it went on as a task
	keyDone    = "done"
	keyLost    = "lost" // it was interrupted, or its answer could not be kept
)

// idempotencyRecord is a call with a key, as it is remembered.
type idempotencyRecord struct {
	Arguments string           `json:"of"` // digest of the arguments
	State     string           `json:"state"`
	Task      string           `json:"task,omitempty"`
	Answer    *result.Cached   `json:"answer,omitempty"` // of one that is done, unless it failed
	Failed    *recordedFailure `json:"failed,omitempty"`
}

// recordedFailure is how a call failed, as its client was told.
type recordedFailure struct {
	Message string `json:"message"`
	ID      string `json:"id,omitempty"` // under which the cause is in the log
}

// kindDeed is that of the records of deeds. The slot of one is its key, so that there is one at a time; its name is its own: the state of a paused call goes on with it, and nobody who
// comes late changes a later one of the same key. Nobody watches them.
const kindDeed = "deed"

// claim is what a call holds that carries out a deed. It belongs to the goroutine of the call.
type claim struct {
	tasks  *taskRegistry
	key    string       // the slot of the deed
	row    state.Record // as the call has remembered it last
	record idempotencyRecord
	ttl    time.Duration
	held   bool           // the call is the one that carries it out, and has not said yet what it came to
	result *result.Cached // the answer, when there is one
}

// acquire begins the deed, or goes on with the one that was paused under this name, and returns nil; or the one that is in its way.
func (k *claim) acquire(ctx context.Context, paused string, longest time.Duration) (*state.Record, error) {
	before, err := k.start(ctx, nil, longest)
	if err != nil || before == nil || before.Name != paused {
		return before, err
	}
	var d idempotencyRecord
	if err := json.Unmarshal(before.Body, &d); err != nil || d.State != keyPaused {
		return before, err
	}
	return k.start(ctx, before, longest)
}

// start remembers that the deed begins, or that a paused one goes on, and returns nil; or the one that is in its way. Until it is settled, it is remembered for longer than the call
// can take.
func (k *claim) start(ctx context.Context, paused *state.Record, longest time.Duration) (before *state.Record, err error) {
	store, _, err := k.tasks.state.open(ctx)
	if err != nil {
		return nil, err
	}
	k.row = state.Record{Kind: kindDeed, Name: rand.Text(), Slot: k.key, Quiet: true}
	if paused != nil {
		k.row.Name, k.row.Version = paused.Name, paused.Version
	}
	k.record.State = keyStarted
	if err := k.encode(k.tasks.owner, max(k.ttl, longest+time.Hour)); err != nil {
		return nil, err
	}
	k.tasks.claims.Add(1)
	if err = k.tasks.heartbeat(ctx, store); err == nil {
		if before, err = k.store(ctx, store, paused); err != nil && !errors.Is(err, state.ErrFull) {
			k.retryRelease(store, paused)
		}
	}
	k.held = before == nil && err == nil
	if !k.held {
		k.tasks.claims.Add(-1)
	}
	return before, err
}

func (k *claim) store(ctx context.Context, store state.Store, paused *state.Record) (*state.Record, error) {
	if paused == nil {
		return store.Add(ctx, &k.row)
	}
	if taken, err := store.Replace(ctx, &k.row); err != nil || taken {
		return nil, err
	}
	return paused, nil
}

// encode puts what is known of the deed into its row.
func (k *claim) encode(owner string, life time.Duration) (err error) {
	k.row.Owner, k.row.Expires = owner, time.Now().Add(life)
	k.row.Body, err = json.Marshal(&k.record)
	return err
}

// find returns what is remembered of the deed, nil when that is nothing.
func (k *claim) find(ctx context.Context) (*state.Record, error) {
	store, _, err := k.tasks.state.open(ctx)
	if err != nil {
		return nil, err
	}
	return store.Holder(ctx, kindDeed, k.key)
}

// finish remembers what has become of the deed. It is remembered although the client may have gone.
func (k *claim) finish(ctx context.Context, become string) error {
	if !k.held {
		return nil
	}
	k.held = false
	defer k.tasks.claims.Add(-1)
	ctx = context.WithoutCancel(ctx)
	k.record.State = become
	settled, err := k.replace(ctx)
	if errors.Is(err, state.ErrFull) {
		k.record = idempotencyRecord{Arguments: k.record.Arguments, State: keyLost}
		settled, err = k.replace(ctx)
	}
	if err == nil && !settled {
		err = errRecordGone
	}
	return err
}

func (k *claim) replace(ctx context.Context) (bool, error) {
	store, _, err := k.tasks.state.open(ctx)
	if err == nil {
		err = k.encode("", k.ttl)
	}
	if err != nil {
		return false, err
	}
	return store.Replace(ctx, &k.row)
}

var errRecordGone = errors.New("it is not remembered any more")

// release says that nothing was done: the key is free.
func (k *claim) release(ctx context.Context) error {
	if !k.held {
		return nil
	}
	k.held = false
	defer k.tasks.claims.Add(-1)
	ctx = context.WithoutCancel(ctx)
	store, _, err := k.tasks.state.open(ctx)
	if err == nil {
		_, err = store.Remove(ctx, &k.row)
	}
	return err
}

// finishKey remembers what the call came to, for those with the same key.
func (c *call) finishKey(ctx context.Context, err error, failed *failure.Failure) {
	k := c.claim
	if k == nil || !k.held {
		return
	}
	var undone error
	switch {
	case failed == nil:
		k.record.Answer = k.result
		undone = k.finish(ctx, keyDone)
	case !c.mayHaveActed(failed):
		undone = k.release(ctx)
	case failed.Internal || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
		undone = k.finish(ctx, keyLost)
	default:
		k.record.Failed = &recordedFailure{c.publicMessage(failed), failed.ID}
		undone = k.finish(ctx, keyDone)
	}
	tell := func(err error) {
		c.operation.generation.log().LogAttrs(ctx, slog.LevelError, "what became of a call with a key cannot be remembered", slog.String("tool", c.operation.decl.Name), slog.String("error", err.Error()))
	}
	switch {
	case undone == nil:
	case k.record.State != keyStarted && errors.Is(undone, state.ErrAway) && k.retryFinish(tell):
	default:
		tell(undone)
	}
}

// pauseKey remembers that the call goes on when its client has answered; or, when nothing was done yet, nothing: then the key is free until it goes on.
func (c *call) pauseKey(ctx context.Context) error {
	k := c.claim
	if k == nil || !k.held {
		return nil
	}
	if !c.mayHaveActed(nil) {
		return k.release(ctx)
	}
	return k.finish(ctx, keyPaused)
}

// mayHaveActed reports whether the call may have had an effect; failed is what it failed of at the stage that it is at, or nil when that has not begun.
func (c *call) mayHaveActed(failed *failure.Failure) bool {
	for i, s := range c.operation.steps {
		switch {
		case s.decl.Backend.Effects.ReadOnly:
		case i < c.nextStep:
			return true
		case i == c.nextStep && failed != nil:
			return s.decl.Each != nil || s.decl.Repeat != nil || !failed.Refused && !failed.Untouched
		}
	}
	return false
}
