//go:build linux && cgo

package sandbox

import (
	"golang.org/x/sys/unix"

	"hatchel/adapters/sandbox/supervisor"
)

// denyRules lists the calls that no confined program may make, by the error that it gets: where possible one that
// programs take for a kernel without the feature.
var denyRules = []struct {
	errno   unix.Errno
	numbers []uint32
}{
	// Shared memory, message queues, semaphores and keys outlive the call, and belong to other programs of the same
	// user, too.
	{unix.ENOSYS, []uint32{
		unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_SHMCTL, unix.SYS_MSGGET, unix.SYS_MSGSND, unix.SYS_MSGRCV,
		unix.SYS_MSGCTL, unix.SYS_SEMGET, unix.SYS_SEMOP, unix.SYS_SEMTIMEDOP, unix.SYS_SEMCTL, unix.SYS_MQ_OPEN,
		unix.SYS_MQ_UNLINK, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_KEYCTL,
	}},
	// Extended attributes and flags of files that may only be read.
	{unix.EOPNOTSUPP, []uint32{
		unix.SYS_SETXATTR, unix.SYS_LSETXATTR, unix.SYS_FSETXATTR, unix.SYS_SETXATTRAT, unix.SYS_REMOVEXATTR,
		unix.SYS_LREMOVEXATTR, unix.SYS_FREMOVEXATTR, unix.SYS_REMOVEXATTRAT, unix.SYS_FILE_SETATTR,
	}},
	// A user namespace would give a program all capabilities within it, and with them most of the kernel. The flags of
	// clone3 are in memory, where a filter cannot read them; C libraries fall back to clone. Requests in the rings of
	// io_uring pass no filter.
	{unix.ENOSYS, []uint32{unix.SYS_CLONE3, unix.SYS_IO_URING_SETUP}},
	{unix.EPERM, []uint32{
		unix.SYS_SETNS, unix.SYS_MOUNT, unix.SYS_PIVOT_ROOT, unix.SYS_BPF, unix.SYS_USERFAULTFD,
		unix.SYS_PERF_EVENT_OPEN, unix.SYS_OPEN_BY_HANDLE_AT,
	}},
	// The processes of a call are found by their session, so that no process may leave it.
	{unix.EPERM, []uint32{unix.SYS_SETSID}},
}

const (
	anyBit      = ^uint32(0) // for process IDs: not 0, which is the calling process itself
	ioprioGroup = 2          // a bit of IOPRIO_WHO_PGRP and IOPRIO_WHO_USER

	setDelegation = 1040 // F_SETDELEG
)

// argRules lists the arguments with which a call is denied, or allowed before a later line denies it.
var argRules = []struct {
	number uint32
	then   verdict
	when   []condition // one of them holds
}{
	{unix.SYS_CLONE, deny(unix.EPERM), []condition{hasBits(0, unix.CLONE_NEWUSER|unix.CLONE_PARENT)}},
	{unix.SYS_UNSHARE, deny(unix.EPERM), []condition{hasBits(0, unix.CLONE_NEWUSER)}},

	// Calls that change another process are limited to the calling process, because the server has the same user.
	{unix.SYS_PRLIMIT64, deny(unix.EPERM), []condition{hasBits(0, anyBit)}},
	{unix.SYS_SCHED_SETAFFINITY, deny(unix.EPERM), []condition{hasBits(0, anyBit)}},
	{unix.SYS_SCHED_SETSCHEDULER, deny(unix.EPERM), []condition{hasBits(0, anyBit)}},
	{unix.SYS_SCHED_SETPARAM, deny(unix.EPERM), []condition{hasBits(0, anyBit)}},
	{unix.SYS_SCHED_SETATTR, deny(unix.EPERM), []condition{hasBits(0, anyBit)}},
	{unix.SYS_SETPRIORITY, deny(unix.EPERM), []condition{hasBits(0, unix.PRIO_USER), hasBits(1, anyBit)}},
	{unix.SYS_IOPRIO_SET, deny(unix.EPERM), []condition{hasBits(0, ioprioGroup), hasBits(1, anyBit)}},

	// Landlock controls ioctl commands for devices only. File systems have commands that change a file which is open
	// for reading, or other files. These have a type that is denied below, but other file systems have them, too, and
	// they write to files that are open for writing only.
	{unix.SYS_IOCTL, allow, []condition{
		isEqual(1, unix.FICLONE), isEqual(1, unix.FICLONERANGE), isEqual(1, unix.FIDEDUPERANGE),
	}},
	// The flags of files, their generation, their verity and their encryption.
	{unix.SYS_IOCTL, deny(unix.EOPNOTSUPP), []condition{
		isEqual(1, unix.FS_IOC_SETFLAGS),
		isEqual(1, 0x401c5820), // FS_IOC_FSSETXATTR
		isEqual(1, 0x40087602), // FS_IOC_SETVERSION
		isEqual(1, 0x40086604), // EXT4_IOC_SETVERSION_OLD
		isEqual(1, 0x40047211), // FAT_IOCTL_SET_ATTRIBUTES
		isEqual(1, unix.FS_IOC_ENABLE_VERITY), isEqual(1, unix.FS_IOC_SET_ENCRYPTION_POLICY),
		isEqual(1, unix.FS_IOC_ADD_ENCRYPTION_KEY), isEqual(1, unix.FS_IOC_REMOVE_ENCRYPTION_KEY),
	}},
	// All commands, by their second byte, of file systems that make and remove directories and snapshots by commands,
	// without asking Landlock: btrfs and bcachefs.
	{unix.SYS_IOCTL, deny(unix.EOPNOTSUPP), []condition{
		isEqual(1, 0x9400).masked(0xff00), isEqual(1, 0xbc00).masked(0xff00),
	}},

	// Leases and delegations, with which the owner of a file that is open for reading can block every process that
	// opens it. The error is that of a file system without leases.
	{unix.SYS_FCNTL, deny(unix.EINVAL), []condition{isEqual(1, unix.F_SETLEASE), isEqual(1, setDelegation)}},
}

// syscallRules are rules by system call number. Calls without one are allowed.
type syscallRules map[uint32]rule

// newSyscallRules returns the rules for all that Landlock does not control.
func newSyscallRules(key filterKey, arch string) syscallRules {
	s := syscallRules{}
	for _, d := range denyRules {
		for _, number := range d.numbers {
			s[number] = rule{fallback: deny(d.errno)}
		}
	}
	for _, r := range argRules {
		for _, c := range r.when {
			s.addClause(r.number, r.then, c)
		}
	}
	if key.memory { // files without a name are in memory, and no process needs to have mapped them
		s[unix.SYS_MEMFD_CREATE] = rule{fallback: deny(unix.ENOSYS)}
		s[unix.SYS_MEMFD_SECRET] = rule{fallback: deny(unix.ENOSYS)}
	}
	s.superviseAttrs(key.modes, arch)
	if !key.controlsTruncate {
		s.denyTruncate(arch)
	}
	s.denySetID(arch)
	s.denyNoAccessMode(arch)
	if !key.network {
		s.denySockets(key.modes)
	}
	return s
}

// addClause adds a clause to the rule of a call.
func (s syscallRules) addClause(number uint32, then verdict, when ...condition) {
	r, ok := s[number]
	if !ok {
		r.fallback = allow
	}
	r.clauses = append(r.clauses, clause{when, then})
	s[number] = r
}

// superviseAttrs forwards changes of modes, groups and times to the supervisor, unless the policy allows all of them.
func (s syscallRules) superviseAttrs(allowed bool, arch string) {
	for _, call := range supervisor.AttrSyscalls[arch] {
		if index, ok := call.ModeArg(); ok {
			s.addClause(call.Number, deny(unix.EPERM), hasBits(index, supervisor.SetIDBits))
		}
		switch {
		case allowed:
		case call.Number == unix.SYS_UTIMENSAT:
			// Setting the times of an open file to now is allowed, which is what touch does: Landlock has let the
			// program open it. Then both the path (1) and the times (2) are null, in both halves.
			for _, offset := range []uint32{argument(1), argument(1) + 4, argument(2), argument(2) + 4} {
				s.addClause(call.Number, notify, condition{offset: offset, test: unix.BPF_JSET, value: anyBit})
			}
		default:
			r := s[call.Number]
			r.fallback = notify
			s[call.Number] = r
		}
	}
}

// denySockets denies sockets. Where there is a supervisor, it is what denies them, so that it knows of them. Pairs of
// stream sockets are allowed, because they can be addressed to nobody else.
func (s syscallRules) denySockets(unsupervised bool) {
	const typeMask = 0xf // without flags
	s[unix.SYS_SOCKET] = rule{fallback: notify}
	if unsupervised {
		s[unix.SYS_SOCKET] = rule{fallback: deny(unix.EACCES)}
	}
	notUnix := isEqual(0, unix.AF_UNIX)
	notUnix.not = true
	s[unix.SYS_SOCKETPAIR] = rule{
		clauses: []clause{
			{[]condition{notUnix}, deny(unix.EACCES)},
			{[]condition{isEqual(1, unix.SOCK_STREAM).masked(typeMask)}, allow},
			{[]condition{isEqual(1, unix.SOCK_SEQPACKET).masked(typeMask)}, allow},
		},
		fallback: deny(unix.EACCES),
	}
}

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
