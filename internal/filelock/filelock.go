// Package filelock locks files between processes. A lock is released when its file is closed, or
// when the process ends in any way.
package filelock

import (
	"context"
	"errors"
	"os"
	"syscall"
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

// TryLock takes the exclusive lock of an open file without waiting. It reports false when another
// open file holds the lock. Locks of two open files of one process exclude each other, too.
func TryLock(f *os.File) (bool, error) {
	// Fd would make the file blocking.
	raw, err := f.SyscallConn()
	if err != nil {
		return false, err
	}
	for {
		var locked error
		err := raw.Control(func(fd uintptr) {
			locked = syscall.Flock(int(fd), syscall.LOCK_EX|syscall.LOCK_NB)
		})
		switch {
		case err != nil:
			return false, err
		case locked == nil:
			return true, nil
		case errors.Is(locked, syscall.EWOULDBLOCK):
			return false, nil
		case !errors.Is(locked, syscall.EINTR):
			return false, locked
		}
	}
}
