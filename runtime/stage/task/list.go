package task

import (
	"context"

	"hatchel/runtime/durable/state"
)

// List returns up to limit tasks of all callers with a status, the oldest first, after a task; nil for the first.
func (r *Registry) List(ctx context.Context, status string, after *Task, limit int) ([]*Task, error) {
	if !r.isOpen() {
		return nil, nil
	}
	store, err := r.lease.Process.Store(ctx)
	if err != nil {
		return nil, err
	}
	query := state.Query{Kind: Kind, Group: status, Limit: limit}
	if after != nil {
		query.After = &after.row
	}
	rows, err := store.List(ctx, query)
	if err != nil {
		return nil, err
	}
	tasks := make([]*Task, len(rows))
	for i, row := range rows {
		if tasks[i], err = decode(row); err != nil {
			return nil, err
		}
	}
	return tasks, nil
}

// FindAny returns a task of any caller; nil for none.
func (r *Registry) FindAny(ctx context.Context, id string) (*Task, error) {
	if !r.isOpen() {
		return nil, nil
	}
	return r.load(ctx, id)
}
