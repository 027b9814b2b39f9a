//go:build linux && cgo

package sandbox

import (
	"golang.org/x/sys/unix"

	"hatchel/adapters/shell/sandbox/supervisor"
)

// createCall is a system call that creates a file with a mode.
type createCall struct {
	number uint32
	mode   uint32 // the argument with the mode
	flags  uint32 // the argument with the flags of open, or noFlags
}

// noFlags means that a call always creates a file.
const noFlags = ^uint32(0)

// createCalls are these calls by architecture. Directories and sockets get no setuid and setgid
// bits.
var createCalls = map[string][]createCall{
	"amd64": {
		{unix.SYS_OPENAT, 3, 2},
		{unix.SYS_MKNODAT, 2, noFlags},
		{2, 2, 1},         // open
		{85, 1, noFlags},  // creat
		{133, 1, noFlags}, // mknod
	},
	"arm64":   {{unix.SYS_OPENAT, 3, 2}, {unix.SYS_MKNODAT, 2, noFlags}},
	"riscv64": {{unix.SYS_OPENAT, 3, 2}, {unix.SYS_MKNODAT, 2, noFlags}},
}

// createFlags are the flags with which open creates a file. Without them the mode has no meaning.
const createFlags = unix.O_CREAT | unix.O_TMPFILE&^unix.O_DIRECTORY

// denySetID denies creating setuid and setgid files. The bits vanish when the program writes to the
// file, but not when somebody with more rights writes to it, nor through fallocate and a mapping
// before Linux 5.19.
//
// The mode of openat2 is in memory, where a filter cannot read it. Programs fall back to openat.
func (s syscallRules) denySetID(arch string) {
	s[unix.SYS_OPENAT2] = rule{fallback: deny(unix.ENOSYS)}
	for _, c := range createCalls[arch] {
		conditions := []condition{hasBits(c.mode, supervisor.SetIDBits)}
		if c.flags != noFlags {
			conditions = append(conditions, hasBits(c.flags, createFlags))
		}
		s.addClause(c.number, deny(unix.EPERM), conditions...)
	}
}

// denyNoAccessMode denies opening a file with the access mode that is neither for reading nor for
// writing. Landlock requires no right for it, and the descriptor would allow setting the times of
// the file to now and, before Linux 6.10, ioctl commands for devices.
func (s syscallRules) denyNoAccessMode(arch string) {
	for _, c := range createCalls[arch] {
		if c.flags != noFlags {
			s.addClause(c.number, deny(unix.EACCES), isEqual(c.flags, unix.O_ACCMODE).masked(unix.O_ACCMODE))
		}
	}
}

// denyTruncate denies truncating files that may not be written. Before Linux 6.2, Landlock has no
// right for it, and there are three ways:
//
//   - truncate names a path. It is denied.
//   - open with O_TRUNC truncates a file also when it is opened for reading only, which is denied. Other access modes
//     need the right to write or are denied by denyNoAccessMode, and O_PATH does not truncate.
//   - openat2 has its flags in memory. It is denied by denySetID.
func (s syscallRules) denyTruncate(arch string) {
	s[unix.SYS_TRUNCATE] = rule{fallback: deny(unix.ENOSYS)}
	for _, c := range createCalls[arch] {
		if c.flags != noFlags {
			const mask = unix.O_TRUNC | unix.O_ACCMODE
			s.addClause(c.number, deny(unix.EACCES), isEqual(c.flags, unix.O_TRUNC|unix.O_RDONLY).masked(mask))
		}
	}
}
