package state

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// createFile creates the file and its directory if they are missing, and makes sure that only the
// owner can read the file: it holds the key of sealed values, and answers of users. SQLite creates its
// other files with the same permissions. An existing file is not opened, because closing it would
// release the locks that this process has on it.
func createFile(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fileError(err, "its directory cannot be created")
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		return f.Close()
	}
	if !errors.Is(err, fs.ErrExist) {
		return fileError(err, "it cannot be created")
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return fileError(err, "its permissions cannot be read")
	case info.IsDir():
		return operatorError("it is a directory, not a file")
	case !info.Mode().IsRegular():
		return operatorError("it is not a regular file")
	case info.Mode().Perm()&0o077 != 0:
		if err := os.Chmod(path, 0o600); err != nil {
			return operatorError("other users can read it, and its permissions cannot be changed")
		}
	}
	return nil
}

func fileError(err error, otherwise string) error {
	switch {
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return operatorError("permission denied")
	case errors.Is(err, syscall.ENOTDIR):
		return operatorError("a part of its path is not a directory")
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return operatorError("the disk is full")
	}
	return operatorError(otherwise)
}
