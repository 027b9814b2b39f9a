package state

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// secure makes the file and its folder, if they are missing, and sees to it that nobody but the owner can read the file: it holds the key to what is sealed, and
// answers of users. What SQLite puts beside it gets the same rights. A file that is there is not opened: to close it would let go of the locks that this process
// has on it.
func secure(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return why(err, "its folder cannot be made")
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		return f.Close()
	}
	if !errors.Is(err, fs.ErrExist) {
		return why(err, "it cannot be made")
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return why(err, "it cannot be looked at")
	case info.IsDir():
		return refused("this is a folder, not a file")
	case !info.Mode().IsRegular():
		return refused("this is not a plain file")
	case info.Mode().Perm()&0o077 != 0:
		if err := os.Chmod(path, 0o600); err != nil {
			return refused("others can read it, and that cannot be changed")
		}
	}
	return nil
}

func why(err error, otherwise string) error {
	switch {
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return refused("permission denied")
	case errors.Is(err, syscall.ENOTDIR):
		return refused("a part of its path is not a folder")
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return refused("no space is left for it")
	}
	return refused(otherwise)
}
