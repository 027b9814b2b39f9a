//go:build cgo

package sqlitefile

import (
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// files identify the files of a database at one moment.
type files struct {
	main     file
	size     int64
	modified int64 // nanoseconds since 1970; 0 where the system reports it late
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

// IsNew reports whether there is no file at a path, or an empty one, which SQLite makes a database of.
func IsNew(path string) bool {
	main, err := statMain(path)
	return err != nil || main.isEmpty()
}

// Identity is that of the main file of a database.
type Identity struct{ file }

// Identify returns the identity of the file at a path; that of a missing file equals none.
func Identify(path string) Identity {
	main, _ := statMain(path) // of a missing file, or of one that Open will report
	return Identity{main.main}
}

// paths are those of the files of a database.
type paths struct{ main, wal, shm string }

// pathsOf returns the paths of a database whose path has no symbolic links.
func pathsOf(path string) paths { return paths{path, path + "-wal", path + "-shm"} }

// stat returns the files of a database. An error that is fs.ErrNotExist says that there is no main file.
func (p *paths) stat() (files, error) {
	f, err := statMain(p.main)
	if err == nil {
		err = p.statLog(&f)
	}
	return f, err
}

// statLog adds the WAL and its index to the main file of a database.
func (p *paths) statLog(f *files) (err error) {
	if f.wal, err = statBeside(p.wal); err == nil {
		f.shm, err = statBeside(p.shm)
	}
	return err
}

// statBeside returns a file, or none if it is missing.
func statBeside(path string) (file, error) {
	f, err := statMain(path)
	if errors.Is(err, fs.ErrNotExist) {
		return file{}, nil
	}
	return f.main, err
}

// isEmpty reports whether the main file has no content.
func (f files) isEmpty() bool { return f.size == 0 }

// sameMain reports whether the main file is the same one, whatever its content.
func (f files) sameMain(now files) bool { return f.main == now.main }

// sameContent reports whether the main file is the same one and nothing was written to it.
func (f files) sameContent(now files) bool {
	return f.main == now.main && f.size == now.size && f.modified == now.modified
}

// sameLog reports whether the WAL and its index are the same files.
func (f files) sameLog(now files) bool { return f.wal == now.wal && f.shm == now.shm }

// ownsLog reports whether the WAL now at the path is the one of f.
func (f files) ownsLog(now files) bool { return f.wal == now.wal && f.wal != file{} }

// logHeader is what the header of a WAL says.
type logHeader struct {
	salt uint64 // changes when the WAL begins again, after all of it is in the main file; 0 for an empty WAL
	size int64
}

// readLog reads the header of the WAL; a missing one is empty. SQLite holds no locks on this file, so it may be
// opened and closed.
func (p *paths) readLog() (log logHeader, err error) {
	f, err := os.Open(p.wal)
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
	log.size = info.Size()
	const saltAt = 16
	var salt [8]byte
	if log.size >= saltAt+int64(len(salt)) {
		switch _, err = f.ReadAt(salt[:], saltAt); {
		case errors.Is(err, io.EOF): // it was emptied meanwhile
			return logHeader{}, nil
		case err == nil:
			log.salt = binary.BigEndian.Uint64(salt[:])
		}
	}
	return log, err
}
