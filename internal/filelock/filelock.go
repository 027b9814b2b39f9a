// Package filelock locks files between processes. A lock is released when its file is closed, or
// when the process ends in any way.
package filelock

import (
	"context"
	"os"
	"time"

	"hatchel/internal/backoff"
)

// lockBackoff is how often the lock is tried again: flock would wait in the kernel, where a context cannot end it.
var lockBackoff = backoff.Policy{First: 2 * time.Millisecond, Max: 50 * time.Millisecond}

// Lock is TryLock until it takes the lock or fails, or ctx ends.
func Lock(ctx context.Context, f *os.File) error {
	for range lockBackoff.Attempts(ctx) {
		if locked, err := TryLock(f); locked || err != nil {
			return err
		}
	}
	return ctx.Err()
}
