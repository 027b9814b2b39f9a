//go:build !unix

package filelock

import "os"

// TryLock fails with ErrUnsupported.
func TryLock(*os.File) (bool, error) { return false, ErrUnsupported }
