package source

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// Size limits of files. The language applies its own limit to *.hcl files.
const (
	maxSourceFile = 4 << 20
	maxOtherFile  = 64 << 20
)

// ReadRegularFile reads a regular file of at most maxSize bytes. It rejects other files, such as
// pipes and devices, without blocking on them.
func ReadRegularFile(name string, maxSize int64) ([]byte, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	return readRegularFile(f, name, maxSize, err)
}

// readFileBelow reads a file below dir and follows links. For a file outside dir the error is
// fs.ErrInvalid.
func readFileBelow(dir, name string, maxSize int64) ([]byte, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errno := syscall.Errno(0); err != nil && !errors.As(err, &errno) {
		err = &fs.PathError{Op: "read", Path: name, Err: fs.ErrInvalid}
	}
	return readRegularFile(f, name, maxSize, err)
}

// fileError is the reason for the author why a file cannot be read.
type fileError string

func (u fileError) Error() string  { return string(u) }
func (u fileError) Reason() string { return string(u) }

func readRegularFile(f *os.File, name string, maxSize int64, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "read", Path: name, Err: fileError("it is not a regular file")}
	}
	content, err := io.ReadAll(io.LimitReader(f, maxSize+1))
	if err == nil && int64(len(content)) > maxSize {
		why := fileError(fmt.Sprintf("it has more than %d bytes", maxSize))
		return nil, &fs.PathError{Op: "read", Path: name, Err: why}
	}
	return content, err
}
