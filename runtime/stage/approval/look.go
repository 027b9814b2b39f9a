package approval

import (
	"context"
	"errors"
	"time"

	"hatchel/runtime/durable/state"
)

// maxLook is how long LookAgain waits for a call that reads the state.
const maxLook = 8 * time.Second

// LookAgain has a call that waits for an approval read again what the before blocks read, and returns the approval with
// it. Without before blocks it returns the approval as it is. It fails like Decide, and with [ErrNobodyWaits] when no
// call has read it within 8 seconds.
func (b *Store) LookAgain(ctx context.Context, id string) (*Approval, error) {
	a, err := b.findPending(ctx, id)
	if err != nil || len(a.Before) == 0 {
		return a, err
	}
	asked := time.Now().UTC()
	a, err = b.changePending(ctx, id, "", func(a *Approval) Status {
		a.Look = asked
		return Pending
	})
	if err != nil {
		return nil, err
	}
	changed := b.addWaiter(a.ID)
	defer b.removeWaiter(a.ID, changed)
	ctx, cancel := context.WithTimeoutCause(ctx, maxLook, ErrNobodyWaits)
	defer cancel()
	for {
		switch a, err = b.findPending(ctx, id); {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case err != nil:
			return nil, err
		case a.Look.IsZero() && len(a.Before) > 0 && !a.Before[0].At.Before(asked):
			return a, nil
		}
		select {
		case <-changed:
		case <-time.After(minRecheck):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// observe reads what an approver wants to look at again, unless another waiting call does or somebody decides.
func (b *Store) observe(ctx context.Context, a *Approval, read func() []Observation) error {
	a.Look = time.Time{}
	claimed, err := b.setStatus(ctx, a, Pending)
	if err != nil || !claimed {
		return ignoreUnavailable(err)
	}
	seen := read()
	_, err = b.changePending(ctx, a.ID, "", func(a *Approval) Status {
		a.Before = seen
		return Pending
	})
	if errors.As(err, new(*DecidedError)) || errors.Is(err, ErrNotFound) {
		return nil
	}
	return ignoreUnavailable(err)
}

// ignoreUnavailable returns nil for an unavailable store, for which a waiting call waits.
func ignoreUnavailable(err error) error {
	if errors.Is(err, state.ErrUnavailable) {
		return nil
	}
	return err
}
