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

// FileError describes why a file cannot be used; nil stays nil. The sentence otherwise is for the
// errors about which there is nothing more to say.
func FileError(err error, otherwise Error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return Error("its directory does not exist")
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return Error("permission denied")
	case errors.Is(err, syscall.ENOTDIR):
		return Error("a part of its path is not a directory")
	case errors.Is(err, syscall.EISDIR):
		return Error("it is a directory, not a file")
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return Error("the disk is full")
	}
	return otherwise
}
