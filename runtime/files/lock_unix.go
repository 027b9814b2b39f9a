//go:build unix

package files

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// lockFile opens a file and locks it, if nobody else has: until it is closed, or the process ends in whatever way.
func lockFile(name string, flag int) (f *os.File, held bool, err error) {
	if f, err = os.OpenFile(name, os.O_RDWR|flag, 0o600); err != nil {
		return nil, false, err
	}
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EINTR) {
			return f, err == nil, nil
		}
	}
}

// ours reports whether something belongs to the user of this process.
func ours(info fs.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(s.Uid) == os.Getuid()
}
