// Package operator has errors in words for the operator of a server.
package operator

import (
	"errors"
	"io/fs"
	"syscall"
)

// Error is a sentence for the operator, without the place that it is about.
type Error string

func (e Error) Error() string { return string(e) }

// FileError describes why a file cannot be used. The sentence otherwise is for the errors about which
// there is nothing more to say.
func FileError(err error, otherwise Error) Error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "its directory does not exist"
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return "permission denied"
	case errors.Is(err, syscall.ENOTDIR):
		return "a part of its path is not a directory"
	case errors.Is(err, syscall.EISDIR):
		return "it is a directory, not a file"
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return "the disk is full"
	}
	return otherwise
}
