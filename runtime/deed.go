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
	ID     string     `json:"id"` // of this one: the state of a paused call goes on with it, and with no later one of the same key
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

// claim is what a call holds that carries out a deed. It belongs to the goroutine of the call.
type claim struct {
	tasks *tasks
	name  string // of the deed in the store
	deed  deed
	ttl   time.Duration
	held  bool  // the call is the one that carries it out, and has not said yet what it came to
	made  *memo // the answer, when there is one
}

// row is the deed for the store.
func (k *claim) row(owner string, life time.Duration) (*state.Deed, error) {
	body, err := json.Marshal(&k.deed)
	return &state.Deed{Name: k.name, Owner: owner, Expires: time.Now().Add(life), Body: body}, err
}

// enter begins the deed, or goes on with the one that was paused under this id, and returns nil; or the one that is in its way.
func (k *claim) enter(ctx context.Context, paused string, longest time.Duration) (*state.Deed, error) {
	before, err := k.begin(ctx, longest)
	if before == nil || paused == "" {
		return before, err
	}
	taken, err := k.again(ctx, before, paused, longest)
	if taken {
		before = nil
	}
	return before, err
}

// begin remembers that the deed begins, and returns nil; or the one that was begun before. Until it is settled, it is remembered for longer than the call can take.
func (k *claim) begin(ctx context.Context, longest time.Duration) (*state.Deed, error) {
	store, _, err := k.tasks.state.opened(ctx)
	if err != nil {
		return nil, err
	}
	var id [16]byte
	rand.Read(id[:])
	k.deed.ID, k.deed.State = purposeOf(string(id[:])).String(), deedBegun
	row, err := k.row(k.tasks.owner, max(k.ttl, longest+time.Hour))
	if err != nil {
		return nil, err
	}
	k.tasks.deeds.Add(1)
	before, err := (*state.Deed)(nil), k.tasks.present(ctx, store)
	if err == nil {
		before, err = store.Begin(ctx, row)
	}
	k.held = before == nil && err == nil
	if !k.held {
		k.tasks.deeds.Add(-1)
	}
	return before, err
}

// look returns what is remembered of the deed, nil when that is nothing.
func (k *claim) look(ctx context.Context) (*state.Deed, error) {
	store, _, err := k.tasks.state.opened(ctx)
	if err != nil {
		return nil, err
	}
	return store.Deed(ctx, k.name)
}

// again goes on with a deed that was paused, and reports whether it is still the same that waits.
func (k *claim) again(ctx context.Context, row *state.Deed, id string, longest time.Duration) (bool, error) {
	store, _, err := k.tasks.state.opened(ctx)
	if err != nil {
		return false, err
	}
	var before deed
	if err := json.Unmarshal(row.Body, &before); err != nil || before.State != deedPaused || before.ID != id {
		return false, err
	}
	k.deed.ID, k.deed.State = id, deedBegun
	taken, err := k.row(k.tasks.owner, max(k.ttl, longest+time.Hour))
	if err != nil {
		return false, err
	}
	k.tasks.deeds.Add(1)
	if err = k.tasks.present(ctx, store); err == nil {
		k.held, err = store.Settle(ctx, "", taken)
	}
	if !k.held {
		k.tasks.deeds.Add(-1)
	}
	return k.held, err
}

// settle remembers what has become of the deed. It is remembered although the client may have gone.
func (k *claim) settle(ctx context.Context, become string) error {
	if !k.held {
		return nil
	}
	k.held = false
	defer k.tasks.deeds.Add(-1)
	ctx = context.WithoutCancel(ctx)
	store, _, err := k.tasks.state.opened(ctx)
	if err != nil {
		return err
	}
	k.deed.State = become
	row, err := k.row("", k.ttl)
	if err != nil {
		return err
	}
	settled, err := store.Settle(ctx, k.tasks.owner, row)
	if errors.Is(err, state.ErrFull) {
		k.deed = deed{ID: k.deed.ID, Of: k.deed.Of, State: deedLost}
		if row, err = k.row("", k.ttl); err == nil {
			settled, err = store.Settle(ctx, k.tasks.owner, row)
		}
	}
	if err == nil && !settled {
		err = errDeedGone
	}
	return err
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
		_, err = store.Forget(ctx, k.name, k.tasks.owner)
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
