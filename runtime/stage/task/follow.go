package task

import (
	"context"
	"maps"
	"slices"

	"hatchel/runtime/durable/state"
)

// Audience is notified of tasks that change. Its methods may be called concurrently and must not block.
type Audience interface {
	// TaskChanged is called when a task has changed, with its members as encoded JSON without braces; nil if they
	// depend on who reads them.
	TaskChanged(id string, members []byte)

	// TaskFinished is called when this process has ended a task.
	TaskFinished(t *Task)

	// FollowsTask reports whether a task has subscribers.
	FollowsTask(id string) bool
}

// SetAudience sets the Audience.
func (r *Registry) SetAudience(a Audience) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.audience = a
}

func (r *Registry) notify(t *Task) {
	r.mu.Lock()
	audience := r.audience
	r.mu.Unlock()
	if audience == nil {
		return
	}
	var members []byte
	if len(t.Lifted) == 0 {
		members = t.AppendMembers(nil, true)
	}
	audience.TaskChanged(t.row.Name, members)
}

// notifyEnd tells that a task has ended, if it has.
func (r *Registry) notifyEnd(t *Task) {
	r.mu.Lock()
	audience := r.audience
	r.mu.Unlock()
	if audience != nil && t.IsFinal() {
		audience.TaskFinished(t)
	}
}

// follows reports whether this process works on a task, or has subscribers to it.
func (r *Registry) follows(id string) bool {
	r.mu.Lock()
	audience, working := r.audience, len(r.running[id]) > 0
	r.mu.Unlock()
	return working || audience != nil && audience.FollowsTask(id)
}

// see remembers the version of a task if this process follows it.
func (r *Registry) see(t *Task) {
	if id := t.row.Name; r.follows(id) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.seen != nil {
			r.seen[id] = max(r.seen[id], t.row.Version)
		}
	}
}

// followed returns the tasks that this process follows, as far as it has seen them, and forgets the others.
func (r *Registry) followed() []string {
	r.mu.Lock()
	ids := slices.AppendSeq(slices.Collect(maps.Keys(r.seen)), maps.Keys(r.running))
	r.mu.Unlock()
	slices.Sort(ids)
	return slices.DeleteFunc(slices.Compact(ids), func(id string) bool {
		if r.follows(id) {
			return false
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.seen, id)
		return true
	})
}

// Look finds the followed tasks that another process has changed without an announcement, because it died.
func (r *Registry) Look(ctx context.Context, store state.RemoteStore) error {
	ids := r.followed()
	versions, err := store.Versions(ctx, Kind, ids)
	for _, id := range ids {
		r.mu.Lock()
		changed := versions[id] > r.seen[id]
		r.mu.Unlock()
		if changed {
			r.refresh(ctx, id)
		}
	}
	return err
}

// OnRemoteChange is called when another process has changed a task, or, with an empty id, any task.
func (r *Registry) OnRemoteChange(ctx context.Context, id string) {
	ids := []string{id}
	if id == "" {
		ids = r.followed()
	}
	for _, id := range ids {
		if r.follows(id) {
			r.refresh(ctx, id)
		}
	}
}

// refresh ends the work on a task that another process has taken or ended, and tells its
// subscribers here. A task that cannot be read now is noticed when it is saved next.
func (r *Registry) refresh(ctx context.Context, id string) {
	defer r.lockSaves(id)()
	t, err := r.load(ctx, id)
	if err != nil || t == nil {
		return
	}
	r.see(t)
	switch {
	case t.row.Owner == r.lease.Process.Name():
		return // its changes were reported when they were made
	case t.Status == Cancelled:
		r.stop(id, ErrCancelled)
	default:
		r.stop(id, ErrLost)
	}
	r.notify(t)
}
