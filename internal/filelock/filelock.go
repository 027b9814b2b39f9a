// Package filelock locks files between processes. A lock is released when its file is closed, or
// when the process ends in any way.
package filelock

import "errors"

// ErrUnsupported is returned on systems whose file locks do not end with the process.
var ErrUnsupported = errors.New("this system has no file locks that end with the process")
