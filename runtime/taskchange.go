package runtime

import (
	"context"

	"hatchel/runtime/state"
)

// onRemoteChange is called when another process has updated a task, or with an empty id when it may have updated any.
func (ts *taskRegistry) onRemoteChange(ctx context.Context, store state.Store, id string) {
	ids := []string{id}
	if id == "" {
		ids = ts.runningIDs()
	}
	for _, id := range ids {
		ts.refresh(ctx, store, id)
	}
}

// runningIDs are the tasks that this process works on.
func (ts *taskRegistry) runningIDs() (ids []string) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	for s := range ts.running {
		ids = append(ids, s.task.row.Name)
	}
	return ids
}

// refresh ends the work on a task that is not this process's any more, and tells who follows it here what it is now. What cannot be read now is seen when the work on it is
// remembered next.
func (ts *taskRegistry) refresh(ctx context.Context, store state.Store, id string) {
	ts.saveMu.Lock()
	defer ts.saveMu.Unlock()
	row, err := store.Record(ctx, kindTask, id)
	if err != nil || row == nil {
		return
	}
	t, err := readTask(row)
	if err != nil {
		return
	}
	switch {
	case row.Owner == ts.owner:
	case t.Status == taskCancelled:
		ts.stop(id, errTaskCancelled)
	default:
		ts.stop(id, errTaskLost)
	}
	ts.mu.Lock()
	told := ts.onChange
	ts.mu.Unlock()
	if told != nil {
		told(id, t.appendMembers(nil, true))
	}
}

// retryReturn lets a task wait again, as it did before, that this process may have taken without knowing it: the store went away in that moment. It returns at once.
func (ts *taskRegistry) retryReturn(store state.Store, waiting state.Record) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if ts.stopHeartbeat == nil {
		return
	}
	ctx := ts.heartbeatCtx
	ts.background.Go(func() {
		for !ts.tryReturn(ctx, store, waiting) && !waitUntil(ctx.Done(), storeRetryInterval, nil) {
		}
	})
}

// tryReturn reports whether the task is not this process's, for all that the store knows.
func (ts *taskRegistry) tryReturn(ctx context.Context, store state.Store, waiting state.Record) bool {
	now, err := store.Record(ctx, kindTask, waiting.Name)
	if err != nil {
		return false
	}
	if now == nil || now.Owner != ts.owner || now.Version != waiting.Version+1 {
		return true
	}
	now.Owner, now.Body = "", waiting.Body
	_, err = store.Replace(ctx, now)
	return err == nil
}
