//go:build unix

package filelock

import (
	"errors"
	"os"
	"syscall"
)

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
