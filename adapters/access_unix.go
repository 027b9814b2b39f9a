//go:build unix

package adapters

import "golang.org/x/sys/unix"

// MayRead reports whether the server may read a file or list a directory.
func MayRead(path string) bool { return mayAccess(path, unix.R_OK) }

// MayWrite reports whether the server may write to a file, or in a directory.
func MayWrite(path string) bool { return mayAccess(path, unix.W_OK) }

func mayAccess(path string, mode uint32) bool {
	return unix.Faccessat(unix.AT_FDCWD, path, mode, unix.AT_EACCESS) == nil
}
