package filelock

import (
	"errors"
	"math"
	"os"

	"golang.org/x/sys/windows"
)

// TryLock takes the exclusive lock of an open file without waiting. It reports false when another
// open file holds the lock. Locks of two open files of one process exclude each other, too. Others cannot read or write
// the file meanwhile.
func TryLock(f *os.File) (bool, error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return false, err
	}
	var locked error
	err = raw.Control(func(handle uintptr) {
		const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
		locked = windows.LockFileEx(windows.Handle(handle), flags, 0, math.MaxUint32, math.MaxUint32,
			new(windows.Overlapped))
	})
	switch {
	case err != nil:
		return false, err
	case errors.Is(locked, windows.ERROR_LOCK_VIOLATION), errors.Is(locked, windows.ERROR_IO_PENDING):
		return false, nil
	}
	return locked == nil, locked
}
