// Package sqlitefile tells whether the files of an open SQLite database are still those at its path. SQLite itself
// does not notice that something else than SQLite has replaced, removed or overwritten them.
package sqlitefile

import (
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Files identify the files of a database at one moment.
type Files struct {
	main     file
	size     int64
	modified int64 // nanoseconds since 1970
	wal, shm file  // only there while a database is open in WAL mode
}

// file identifies a file. Its zero value is none.
type file struct{ device, inode uint64 }

// Resolve returns the path at which SQLite opens a database: that of the target of symbolic links. For a missing file
// it returns the path itself.
func Resolve(path string) (string, error) {
	resolved, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		return path, nil
	}
	return resolved, err
}

// Paths are those of the files of a database.
type Paths struct{ Main, WAL, SHM string }

// PathsOf returns the paths of a database whose path has no symbolic links.
func PathsOf(path string) Paths { return Paths{path, path + "-wal", path + "-shm"} }

// Stat returns the files of a database. An error that is fs.ErrNotExist says that there is no main file.
func (p *Paths) Stat() (Files, error) {
	f, err := StatMain(p.Main)
	if err == nil {
		err = p.StatLog(&f)
	}
	return f, err
}

// StatLog adds the WAL and its index to the main file of a database.
func (p *Paths) StatLog(f *Files) (err error) {
	if f.wal, err = statBeside(p.WAL); err == nil {
		f.shm, err = statBeside(p.SHM)
	}
	return err
}

// StatMain returns the main file of a database alone. It follows symbolic links.
func StatMain(path string) (f Files, err error) {
	var info syscall.Stat_t
	f.main, err = stat(path, &info)
	f.size, f.modified = info.Size, modified(&info)
	return f, err
}

// statBeside returns a file, or none if it is missing.
func statBeside(path string) (file, error) {
	var info syscall.Stat_t
	f, err := stat(path, &info)
	if errors.Is(err, fs.ErrNotExist) {
		return file{}, nil
	}
	return f, err
}

func stat(path string, info *syscall.Stat_t) (file, error) {
	err := error(syscall.EINTR)
	for err == syscall.EINTR {
		err = syscall.Stat(path, info)
	}
	if err != nil {
		return file{}, &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	return file{uint64(info.Dev), info.Ino}, nil
}

// IsEmpty reports whether the main file has no content.
func (f Files) IsEmpty() bool { return f.size == 0 }

// SameMain reports whether the main file is the same one, whatever its content.
func (f Files) SameMain(now Files) bool { return f.main == now.main }

// SameContent reports whether the main file is the same one and nothing was written to it.
func (f Files) SameContent(now Files) bool {
	return f.main == now.main && f.size == now.size && f.modified == now.modified
}

// SameLog reports whether the WAL and its index are the same files.
func (f Files) SameLog(now Files) bool { return f.wal == now.wal && f.shm == now.shm }

// OwnsLog reports whether the WAL now at the path is the one of f.
func (f Files) OwnsLog(now Files) bool { return f.wal == now.wal && f.wal != file{} }

// Log is what the header of a WAL says.
type Log struct {
	Salt uint64 // changes when the WAL begins again, after all of it is in the main file; 0 for an empty WAL
	Size int64
}

// ReadLog reads the header of the WAL; a missing one is empty. SQLite holds no locks on this file, so it may be opened
// and closed.
func (p *Paths) ReadLog() (log Log, err error) {
	f, err := os.Open(p.WAL)
	if errors.Is(err, fs.ErrNotExist) {
		return log, nil
	}
	if err != nil {
		return log, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return log, err
	}
	log.Size = info.Size()
	const saltAt = 16
	var salt [8]byte
	if log.Size >= saltAt+int64(len(salt)) {
		switch _, err = f.ReadAt(salt[:], saltAt); {
		case errors.Is(err, io.EOF): // it was emptied meanwhile
			return Log{}, nil
		case err == nil:
			log.Salt = binary.BigEndian.Uint64(salt[:])
		}
	}
	return log, err
}
