//go:build linux && cgo

package sandbox

import (
	"golang.org/x/sys/unix"
)

// Landlock controls ioctl commands for devices only. File systems have commands that change a file
// which is open for reading, or other files.

// deniedIoctls change the flags of files, their generation, their verity and their encryption.
var deniedIoctls = []uint32{
	unix.FS_IOC_SETFLAGS,
	0x401c5820, // FS_IOC_FSSETXATTR
	0x40087602, // FS_IOC_SETVERSION
	0x40086604, // EXT4_IOC_SETVERSION_OLD
	0x40047211, // FAT_IOCTL_SET_ATTRIBUTES
	unix.FS_IOC_ENABLE_VERITY, unix.FS_IOC_SET_ENCRYPTION_POLICY,
	unix.FS_IOC_ADD_ENCRYPTION_KEY, unix.FS_IOC_REMOVE_ENCRYPTION_KEY,
}

// deniedIoctlTypes are the second byte of all commands of a file system that makes and removes
// directories and snapshots by commands, without asking Landlock: btrfs and bcachefs.
var deniedIoctlTypes = []uint32{0x9400, 0xbc00}

// allowedIoctls have a denied type, but other file systems have them, too. They write to files that
// are open for writing only.
var allowedIoctls = []uint32{unix.FICLONE, unix.FICLONERANGE, unix.FIDEDUPERANGE}

// allowOtherIoctls denies the commands above.
func (s syscallRules) allowOtherIoctls() {
	const command, typeMask = 1, 0xff00
	for _, c := range allowedIoctls {
		s.addClause(unix.SYS_IOCTL, allow, isEqual(command, c))
	}
	for _, c := range deniedIoctls {
		s.addClause(unix.SYS_IOCTL, deny(unix.EOPNOTSUPP), isEqual(command, c))
	}
	for _, t := range deniedIoctlTypes {
		s.addClause(unix.SYS_IOCTL, deny(unix.EOPNOTSUPP), isEqual(command, t).masked(typeMask))
	}
}

// denyLeases denies the fcntl commands with which the owner of a file that is open for reading can
// block every process that opens it. The error is that of a file system without leases.
func (s syscallRules) denyLeases() {
	const command, setDelegation = 1, 1040
	for _, c := range []uint32{unix.F_SETLEASE, setDelegation} {
		s.addClause(unix.SYS_FCNTL, deny(unix.EINVAL), isEqual(command, c))
	}
}
