// Package queue passes items between the goroutines of a process.
package queue

import (
	"context"
	"iter"
	"sync"
)

// Queue passes items to the goroutine that takes them, in their order. While it takes none, a number of items wait, and
// further ones are missed. Make one with New. Its methods may be called concurrently.
type Queue[T any] struct {
	limit int
	wake  Signal // after each change

	mu     sync.Mutex
	items  []T  // guarded by mu
	missed bool // there was no room for an item; guarded by mu
	closed bool // guarded by mu
}

// New returns an empty Queue, in which up to limit items wait.
func New[T any](limit int) *Queue[T] { return &Queue[T]{limit: limit, wake: NewSignal()} }

// Add adds an item. It reports false when the item is missed, or the Queue is closed.
func (q *Queue[T]) Add(item T) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	defer q.wake.Send()
	if q.closed || len(q.items) >= q.limit {
		q.missed = q.missed || !q.closed
		return false
	}
	q.items = append(q.items, item)
	return true
}

// Close lets no more items be added. What waits is still taken.
func (q *Queue[T]) Close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.wake.Send()
}

// Batches takes the items, up to limit at once, until ctx ends or the Queue is closed and empty. With the last ones
// that wait it yields whether items were missed after them; if so, there may be none.
func (q *Queue[T]) Batches(ctx context.Context, limit int) iter.Seq2[[]T, bool] {
	return func(yield func([]T, bool) bool) {
		for ctx.Err() == nil {
			batch, missed, closed := q.take(limit)
			switch {
			case len(batch) > 0 || missed:
				if !yield(batch, missed) {
					return
				}
				continue
			case closed:
				return
			}
			select {
			case <-q.wake:
			case <-ctx.Done():
			}
		}
	}
}

func (q *Queue[T]) take(limit int) (batch []T, missed, closed bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.items) > limit {
		batch, q.items = q.items[:limit:limit], q.items[limit:]
		return batch, false, false
	}
	batch, missed, q.items, q.missed = q.items, q.missed, nil, false
	return batch, missed, q.closed
}
