//go:build unix

package file

import (
	"io/fs"
	"syscall"
)

// inode tells a file from another one that took its name.
func inode(info fs.FileInfo) uint64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(s.Ino)
	}
	return 0
}
