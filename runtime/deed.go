package runtime

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"hatchel/runtime/state"
)

// What has become of a deed.
const (
	deedBegun  = "begun"
	deedPaused = "paused" // it waits for its client, who has been given the state to go on from
	deedTask   = "task"   // it went on as a task
	deedDone   = "done"
	deedLost   = "lost" // it was interrupted, or its answer could not be kept
)

// deed is a call with a key, as it is remembered.
type deed struct {
	Of     string     `json:"of"` // digest of the arguments
	State  string     `json:"state"`
	Task   string     `json:"task,omitempty"`
	Answer *memo      `json:"answer,omitempty"` // of one that is done, unless it failed
	Failed *deedError `json:"failed,omitempty"`
}

// deedError is how a call failed, as its client was told.
type deedError struct {
	Message string `json:"message"`
	ID      string `json:"id,omitempty"` // under which the cause is in the log
}

// kindDeed is that of the records of deeds. The slot of one is its key, so that there is one at a time; its name is its own: the state of a paused call goes on with it, and nobody who
// comes late changes a later one of the same key. Nobody watches them.
const kindDeed = "deed"

// claim is what a call holds that carries out a deed. It belongs to the goroutine of the call.
type claim struct {
	tasks *tasks
	key   string       // the slot of the deed
	row   state.Record // as the call has remembered it last
	deed  deed
	ttl   time.Duration
	held  bool  // the call is the one that carries it out, and has not said yet what it came to
	made  *memo // the answer, when there is one
}

// enter begins the deed, or goes on with the one that was paused under this name, and returns nil; or the one that is in its way.
func (k *claim) enter(ctx context.Context, paused string, longest time.Duration) (*state.Record, error) {
	before, err := k.begin(ctx, nil, longest)
	if err != nil || before == nil || before.Name != paused {
		return before, err
	}
	var d deed
	if err := json.Unmarshal(before.Body, &d); err != nil || d.State != deedPaused {
		return before, err
	}
	return k.begin(ctx, before, longest)
}

// begin remembers that the deed begins, or that a paused one goes on, and returns nil; or the one that is in its way. Until it is settled, it is remembered for longer than the call
// can take.
func (k *claim) begin(ctx context.Context, paused *state.Record, longest time.Duration) (before *state.Record, err error) {
	store, _, err := k.tasks.state.opened(ctx)
	if err != nil {
		return nil, err
	}
	k.row = state.Record{Kind: kindDeed, Name: rand.Text(), Slot: k.key, Quiet: true}
	if paused != nil {
		k.row.Name, k.row.Version = paused.Name, paused.Version
	}
	k.deed.State = deedBegun
	if err := k.encode(k.tasks.owner, max(k.ttl, longest+time.Hour)); err != nil {
		return nil, err
	}
	k.tasks.deeds.Add(1)
	if err = k.tasks.present(ctx, store); err == nil {
		if before, err = k.remember(ctx, store, paused); err != nil && !errors.Is(err, state.ErrFull) {
			k.letGo(store, paused)
		}
	}
	k.held = before == nil && err == nil
	if !k.held {
		k.tasks.deeds.Add(-1)
	}
	return before, err
}

func (k *claim) remember(ctx context.Context, store state.Store, paused *state.Record) (*state.Record, error) {
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
	k.row.Body, err = json.Marshal(&k.deed)
	return err
}

// look returns what is remembered of the deed, nil when that is nothing.
func (k *claim) look(ctx context.Context) (*state.Record, error) {
	store, _, err := k.tasks.state.opened(ctx)
	if err != nil {
		return nil, err
	}
	return store.Holder(ctx, kindDeed, k.key)
}

// settle remembers what has become of the deed. It is remembered although the client may have gone.
func (k *claim) settle(ctx context.Context, become string) error {
	if !k.held {
		return nil
	}
	k.held = false
	defer k.tasks.deeds.Add(-1)
	ctx = context.WithoutCancel(ctx)
	k.deed.State = become
	settled, err := k.replace(ctx)
	if errors.Is(err, state.ErrFull) {
		k.deed = deed{Of: k.deed.Of, State: deedLost}
		settled, err = k.replace(ctx)
	}
	if err == nil && !settled {
		err = errDeedGone
	}
	return err
}

func (k *claim) replace(ctx context.Context) (bool, error) {
	store, _, err := k.tasks.state.opened(ctx)
	if err == nil {
		err = k.encode("", k.ttl)
	}
	if err != nil {
		return false, err
	}
	return store.Replace(ctx, &k.row)
}

var errDeedGone = errors.New("it is not remembered any more")

// forget says that nothing was done: the key is free.
func (k *claim) forget(ctx context.Context) error {
	if !k.held {
		return nil
	}
	k.held = false
	defer k.tasks.deeds.Add(-1)
	ctx = context.WithoutCancel(ctx)
	store, _, err := k.tasks.state.opened(ctx)
	if err == nil {
		_, err = store.Remove(ctx, &k.row)
	}
	return err
}

// settle remembers what the call came to, for those with the same key.
func (c *call) settle(ctx context.Context, err error, failed *failure) {
	k := c.claim
	if k == nil || !k.held {
		return
	}
	var undone error
	switch {
	case failed == nil:
		k.deed.Answer = k.made
		undone = k.settle(ctx, deedDone)
	case !c.acted(failed):
		undone = k.forget(ctx)
	case failed.internal || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
		undone = k.settle(ctx, deedLost)
	default:
		k.deed.Failed = &deedError{c.told(failed), failed.id}
		undone = k.settle(ctx, deedDone)
	}
	tell := func(err error) {
		c.routine.generation.log().LogAttrs(ctx, slog.LevelError, "what became of a call with a key cannot be remembered", slog.String("tool", c.routine.decl.Name), slog.String("error", err.Error()))
	}
	switch {
	case undone == nil:
	case k.deed.State != deedBegun && errors.Is(undone, state.ErrAway) && k.settleLater(tell):
	default:
		tell(undone)
	}
}

// pause remembers that the call goes on when its client has answered; or, when nothing was done yet, nothing: then the key is free until it goes on.
func (c *call) pause(ctx context.Context) error {
	k := c.claim
	if k == nil || !k.held {
		return nil
	}
	if !c.acted(nil) {
		return k.forget(ctx)
	}
	return k.settle(ctx, deedPaused)
}

// acted reports whether the call may have had an effect; failed is what it failed of at the stage that it is at, or nil when that has not begun.
func (c *call) acted(failed *failure) bool {
	for i, s := range c.routine.stages {
		switch {
		case s.step.Backend.Facts.ReadOnly:
		case i < c.at:
			return true
		case i == c.at && failed != nil:
			return s.step.Each != nil || s.step.Repeat != nil || !failed.refused && !failed.untouched
		}
	}
	return false
}
