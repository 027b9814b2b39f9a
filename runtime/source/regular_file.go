package source

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// The most that is read of a file: one of the configuration beside *.hcl, of which the language says itself what it accepts.
const (
	maxSourceFile = 4 << 20
	maxOtherFile  = 64 << 20
)

// ReadRegularFile reads a regular file of at most so many bytes. What is none, such as a pipe or a device, is refused without waiting for it.
func ReadRegularFile(name string, most int64) ([]byte, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	return readRegularFile(f, name, most, err)
}

// readFileBelow reads a file that lies below dir, links followed. One that does not is fs.ErrInvalid.
func readFileBelow(dir, name string, most int64) ([]byte, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errno := syscall.Errno(0); err != nil && !errors.As(err, &errno) {
		err = &fs.PathError{Op: "read", Path: name, Err: fs.ErrInvalid}
	}
	return readRegularFile(f, name, most, err)
}

// fileError is why a file is not read, for the author.
type fileError string

func (u fileError) Error() string  { return string(u) }
func (u fileError) Reason() string { return string(u) }

func readRegularFile(f *os.File, name string, most int64, err error) ([]byte, error) {
	refuse := func(why fileError) ([]byte, error) {
		return nil, &fs.PathError{Op: "read", Path: name, Err: why}
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return refuse("it is not a plain file")
	case info.Size() > most:
		return refuse(fileError(fmt.Sprintf("it has more than %d bytes", most)))
	}
	content, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(content)) > most {
		return refuse(fileError(fmt.Sprintf("it has more than %d bytes", most)))
	}
	return content, err
}
