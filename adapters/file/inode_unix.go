//go:build unix

package file

import (
	"io/fs"
	"syscall"
)

// inode returns the number that distinguishes a file from one that replaced it.
func inode(info fs.FileInfo) uint64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(s.Ino)
	}
	return 0
}
