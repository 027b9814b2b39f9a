//go:build unix

package audit

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// acquire makes this process the one that writes. It is so until what it returns is closed, or the process ends in whatever way.
func acquire(path string) (io.Closer, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, mode)
	if err != nil {
		return nil, why(err, "its lock cannot be made")
	}
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err != nil {
		said, _ := io.ReadAll(io.LimitReader(f, 32))
		f.Close()
		if holder, err := strconv.Atoi(strings.TrimSpace(string(said))); err == nil {
			return nil, refused(fmt.Sprintf("process %d writes it, and only one can at a time", holder))
		}
		return nil, refused("another process writes it, and only one can at a time")
	}
	if err := f.Truncate(0); err == nil {
		f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	return f, nil
}

// syncFolder makes the names in a folder durable.
func syncFolder(name string) error {
	d, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
