package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"hatchel/runtime/state"
)

// settleFor is how long what a deed came to waits for a store that is away.
const settleFor = 5 * time.Minute

// settleLater settles the deed when the store is back: until then others with its key find it under way. The client does not wait for that. It reports false when the server is
// being stopped, and otherwise tells of an error when there is one.
func (k *claim) settleLater(tell func(error)) bool {
	ts := k.tasks
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if ts.beat == nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ts.living, settleFor)
	ts.deeds.Add(1)
	ts.beating.Go(func() {
		defer cancel()
		defer ts.deeds.Add(-1)
		err := error(state.ErrAway)
		for errors.Is(err, state.ErrAway) && !within(againAfter, ctx.Done(), nil) {
			err = k.settleAgain(ctx)
		}
		if err != nil {
			tell(err)
		}
	})
	return true
}

// settleAgain settles the deed unless it was settled: that a store which went away has told nobody does not say that it has done nothing.
func (k *claim) settleAgain(ctx context.Context) error {
	row, err := k.look(ctx)
	if err != nil {
		return err
	}
	if row == nil || row.Name != k.row.Name {
		return errDeedGone
	}
	var found deed
	if err := json.Unmarshal(row.Body, &found); err != nil || found.State != deedBegun {
		return err
	}
	k.held = true
	k.tasks.deeds.Add(1)
	return k.settle(ctx, k.deed.State)
}
