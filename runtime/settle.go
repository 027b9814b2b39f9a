package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"hatchel/runtime/state"
)

// retryFinishFor is how long what a deed came to waits for a store that is away.
const retryFinishFor = 5 * time.Minute

// retryFinish settles the deed when the store is back: until then others with its key find it under way. The client does not wait for that. It reports false when the server is
// being stopped, and otherwise tells of an error when there is one.
func (k *claim) retryFinish(tell func(error)) bool {
	ts := k.tasks
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if ts.stopHeartbeat == nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ts.heartbeatCtx, retryFinishFor)
	ts.claims.Add(1)
	ts.background.Go(func() {
		defer cancel()
		defer ts.claims.Add(-1)
		err := error(state.ErrAway)
		for errors.Is(err, state.ErrAway) && !waitUntil(ctx.Done(), storeRetryInterval, nil) {
			err = k.finishIfStarted(ctx)
		}
		if err != nil {
			tell(err)
		}
	})
	return true
}

// finishIfStarted settles the deed unless it was settled: that a store which went away has told nobody does not say that it has done nothing.
func (k *claim) finishIfStarted(ctx context.Context) error {
	row, err := k.find(ctx)
	if err != nil {
		return err
	}
	if row == nil || row.Name != k.row.Name {
		return errRecordGone
	}
	var found idempotencyRecord
	if err := json.Unmarshal(row.Body, &found); err != nil || found.State != keyStarted {
		return err
	}
	k.held = true
	k.tasks.claims.Add(1)
	return k.finish(ctx, k.record.State)
}

// retryRelease forgets a deed that may have begun here without anybody being told, because the store went away in that moment, or the client: nothing was done, and its key is free. One that was
// paused is so again. It returns at once; what is on its way to the store has a moment to come there.
func (k *claim) retryRelease(store state.Store, paused *state.Record) {
	ts, row := k.tasks, k.row
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if ts.stopHeartbeat == nil {
		return
	}
	ctx := ts.heartbeatCtx
	ts.background.Go(func() {
		for !waitUntil(ctx.Done(), storeRetryInterval, nil) && !tryRelease(ctx, store, row, paused) {
		}
	})
}

// tryRelease reports whether a deed has not begun as this row, for all that the store knows.
func tryRelease(ctx context.Context, store state.Store, row state.Record, paused *state.Record) bool {
	now, err := store.Record(ctx, kindDeed, row.Name)
	if err != nil {
		return false
	}
	if now == nil || now.Owner != row.Owner || now.Version != row.Version+1 {
		return true
	}
	now.Quiet = true
	if paused == nil {
		_, err = store.Remove(ctx, now)
	} else {
		now.Owner, now.Expires, now.Body = "", paused.Expires, paused.Body
		_, err = store.Replace(ctx, now)
	}
	return err == nil
}
