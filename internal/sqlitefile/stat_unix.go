//go:build cgo && unix

package sqlitefile

import (
	"io/fs"
	"syscall"
)

// statMain returns the main file of a database alone. It follows symbolic links.
func statMain(path string) (files, error) {
	var info syscall.Stat_t
	err := error(syscall.EINTR)
	for err == syscall.EINTR {
		err = syscall.Stat(path, &info)
	}
	if err != nil {
		return files{}, &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	return files{main: file{uint64(info.Dev), info.Ino}, size: info.Size, modified: modified(&info)}, nil
}
