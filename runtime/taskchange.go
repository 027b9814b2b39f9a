package runtime

import (
	"context"

	"hatchel/runtime/state"
)

// changed is called when another process has updated a task, or with an empty id when it may have updated any.
func (ts *tasks) changed(ctx context.Context, store state.Store, id string) {
	ids := []string{id}
	if id == "" {
		ids = ts.worked()
	}
	for _, id := range ids {
		ts.look(ctx, store, id)
	}
}

// worked are the tasks that this process works on.
func (ts *tasks) worked() (ids []string) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	for s := range ts.running {
		ids = append(ids, s.task.row.Name)
	}
	return ids
}

// look ends the work on a task that is not this process's any more, and tells who follows it here what it is now. What cannot be read now is seen when the work on it is
// remembered next.
func (ts *tasks) look(ctx context.Context, store state.Store, id string) {
	ts.saving.Lock()
	defer ts.saving.Unlock()
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
		ts.end(id, errTaskCancelled)
	default:
		ts.end(id, errTaskLost)
	}
	ts.mu.Lock()
	told := ts.told
	ts.mu.Unlock()
	if told != nil {
		told(id, t.appendMembers(nil, true))
	}
}

// handBack lets a task wait again, as it did before, that this process may have taken without knowing it: the store went away in that moment. It returns at once.
func (ts *tasks) handBack(store state.Store, waiting state.Record) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if ts.beat == nil {
		return
	}
	ctx := ts.living
	ts.beating.Go(func() {
		for !ts.handedBack(ctx, store, waiting) && !within(againAfter, ctx.Done(), nil) {
		}
	})
}

// handedBack reports whether the task is not this process's, for all that the store knows.
func (ts *tasks) handedBack(ctx context.Context, store state.Store, waiting state.Record) bool {
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
