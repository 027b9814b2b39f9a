package state

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"hatchel/internal/operator"
)

// createFile creates the file and its directory if they are missing, and makes sure that only the
// owner can read the file: it holds the key of sealed values, and answers of users. SQLite creates its
// other files with the same permissions. An existing file is not opened, because closing it would
// release the locks that this process has on it.
func createFile(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return operator.FileError(err, "its directory cannot be created")
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		return f.Close()
	}
	if !errors.Is(err, fs.ErrExist) {
		return operator.FileError(err, "it cannot be created")
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return operator.FileError(err, "its permissions cannot be read")
	case info.IsDir():
		return operator.Error("it is a directory, not a file")
	case !info.Mode().IsRegular():
		return operator.Error("it is not a regular file")
	case info.Mode().Perm()&0o077 != 0:
		if err := os.Chmod(path, 0o600); err != nil {
			return operator.Error("other users can read it, and its permissions cannot be changed")
		}
	}
	return nil
}
