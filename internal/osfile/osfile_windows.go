package osfile

import (
	"io/fs"
	"os"
)

// SyncDir does nothing: Windows flushes no directory, and its file system logs changes of names.
func SyncDir(*os.File) error { return nil }

// Inode returns 0: Windows does not report it with the other facts of a file.
func Inode(fs.FileInfo) uint64 { return 0 }

// Owner returns nothing: Windows does not report it with the other facts of a file.
func Owner(fs.FileInfo) string { return "" }

// IsPrivate reports true: what is in the profile of a user inherits its access list, and so does its temporary
// directory.
func IsPrivate(fs.FileInfo) bool { return true }
