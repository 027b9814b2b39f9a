//go:build linux && cgo

package sandbox

import (
	"sync"

	"golang.org/x/sys/unix"
)

// LandlockABI returns the version of Landlock of this kernel; 0 if it has none or it is turned off.
var LandlockABI = sync.OnceValue(func() ABI {
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return ABI(version)
})

// Access rights of Landlock that rules grant together. Every ABI has accessRead.
const (
	accessRead = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE |
		unix.LANDLOCK_ACCESS_FS_READ_DIR
	accessDevice = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE |
		unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	accessCreate = unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG |
		unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_SYM
	accessRemove = unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE
	accessWrite  = accessRead | accessCreate | accessRemove | unix.LANDLOCK_ACCESS_FS_WRITE_FILE |
		unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_REFER

	// fileAccess are the rights that a rule for a file can grant; the others are about directories.
	fileAccess = unix.LANDLOCK_ACCESS_FS_EXECUTE | accessDevice
)

// landlockABIs lists what each ABI added. A kernel rejects rights and scopes that its ABI does not have.
var landlockABIs = []struct {
	rights uint64 // to files and directories
	scopes uint64 // restrictions of access to other processes
}{
	// Linux 5.13. Renaming and linking between directories is not a right yet: it is always denied.
	1: {rights: accessRead | accessCreate | accessRemove | unix.LANDLOCK_ACCESS_FS_WRITE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK},
	// Linux 5.19.
	2: {rights: unix.LANDLOCK_ACCESS_FS_REFER},
	// Linux 6.2. Before, truncating a file needs no right, and the seccomp filter denies it.
	3: {rights: unix.LANDLOCK_ACCESS_FS_TRUNCATE},
	// Linux 6.10.
	5: {rights: unix.LANDLOCK_ACCESS_FS_IOCTL_DEV},
	// Linux 6.12.
	6: {scopes: unix.LANDLOCK_SCOPE_SIGNAL | unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET},
}

// rights returns all rights of the ABI. A ruleset handles all of them: what no rule grants is denied.
func (v ABI) rights() (all uint64) {
	for _, added := range landlockABIs[:v.known()] {
		all |= added.rights
	}
	return all
}

// scopes returns all scopes of the ABI.
func (v ABI) scopes() (all uint64) {
	for _, added := range landlockABIs[:v.known()] {
		all |= added.scopes
	}
	return all
}

// controlsTruncate reports whether Landlock denies truncating files that may not be written.
func (v ABI) controlsTruncate() bool { return v.rights()&unix.LANDLOCK_ACCESS_FS_TRUNCATE != 0 }

// known returns the length of the part of landlockABIs that the ABI has.
func (v ABI) known() int { return min(int(v)+1, len(landlockABIs)) }
