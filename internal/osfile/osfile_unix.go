//go:build unix

package osfile

import (
	"errors"
	"io/fs"
	"os"
	"strconv"
	"syscall"
)

// SyncDir makes new names in an open directory durable. Some file systems do not support this.
func SyncDir(dir *os.File) error {
	err := dir.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	return err
}

// Inode distinguishes files of one file system; 0 if it is unknown.
func Inode(info fs.FileInfo) uint64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(s.Ino)
	}
	return 0
}

// Owner returns the numeric user ID of the owner; empty if it is unknown.
func Owner(info fs.FileInfo) string {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return strconv.FormatUint(uint64(s.Uid), 10)
	}
	return ""
}

// IsPrivate reports whether only the user of this process can access a file.
func IsPrivate(info fs.FileInfo) bool {
	return info.Mode().Perm()&0o077 == 0 && Owner(info) == strconv.Itoa(os.Getuid())
}
