//go:build linux && cgo

package shell

import (
	"golang.org/x/sys/unix"
)

// refusals are what no confined program may do, by the error that it gets: one that programs take for a system that has nothing of the kind, where there is such.
var refusals = []struct {
	with  unix.Errno
	calls []uint32
}{
	// What outlives the call and belongs to other programs of the same user, too: memory, queues, semaphores, keys.
	{unix.ENOSYS, []uint32{unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_SHMCTL, unix.SYS_MSGGET, unix.SYS_MSGSND, unix.SYS_MSGRCV, unix.SYS_MSGCTL, unix.SYS_SEMGET, unix.SYS_SEMOP, unix.SYS_SEMTIMEDOP,
		unix.SYS_SEMCTL, unix.SYS_MQ_OPEN, unix.SYS_MQ_UNLINK, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_KEYCTL}},
	// Attributes of files that may only be read.
	{unix.EOPNOTSUPP, []uint32{unix.SYS_SETXATTR, unix.SYS_LSETXATTR, unix.SYS_FSETXATTR, unix.SYS_SETXATTRAT, unix.SYS_REMOVEXATTR, unix.SYS_LREMOVEXATTR, unix.SYS_FREMOVEXATTR, unix.SYS_REMOVEXATTRAT,
		unix.SYS_FILE_SETATTR}},
	// A user namespace would give back the capabilities, within it, and with them most of the kernel. The flags of clone3 cannot be read here; libraries go on with clone.
	// What is asked for in the memory of io_uring nobody asks a filter about.
	{unix.ENOSYS, []uint32{unix.SYS_CLONE3, unix.SYS_IO_URING_SETUP}},
	{unix.EPERM, []uint32{unix.SYS_SETNS, unix.SYS_MOUNT, unix.SYS_PIVOT_ROOT, unix.SYS_BPF, unix.SYS_USERFAULTFD, unix.SYS_PERF_EVENT_OPEN, unix.SYS_OPEN_BY_HANDLE_AT}},
	// The session, by which a call's processes are found, is not left.
	{unix.EPERM, []uint32{unix.SYS_SETSID}},
}

// A mask is what an argument of a system call must not have.
type mask struct{ call, argument, bits uint32 }

const (
	another = ^uint32(0) // a process that is not the caller itself: the server is one of the same user
	ofMany  = 2          // of a group of processes, or of all of a user
)

var masks = []mask{
	{unix.SYS_CLONE, 0, unix.CLONE_NEWUSER | unix.CLONE_PARENT}, {unix.SYS_UNSHARE, 0, unix.CLONE_NEWUSER}, {unix.SYS_PRLIMIT64, 0, another},
	{unix.SYS_SCHED_SETAFFINITY, 0, another}, {unix.SYS_SCHED_SETSCHEDULER, 0, another}, {unix.SYS_SCHED_SETPARAM, 0, another}, {unix.SYS_SCHED_SETATTR, 0, another},
	{unix.SYS_SETPRIORITY, 0, unix.PRIO_USER}, {unix.SYS_SETPRIORITY, 1, another}, {unix.SYS_IOPRIO_SET, 0, ofMany}, {unix.SYS_IOPRIO_SET, 1, another},
}

// newVerdicts are about all that a confinement refuses beside what Landlock does.
func newVerdicts(c *confinement, arch string) verdicts {
	v := verdicts{}
	for _, r := range refusals {
		for _, number := range r.calls {
			v[number] = verdict{refuse(r.with)}
		}
	}
	for _, m := range masks {
		v.mask(m)
	}
	v[unix.SYS_IOCTL], v[unix.SYS_FCNTL] = obey(), withoutLeases()
	for _, change := range changes[arch] {
		if !c.modes {
			v[change.call] = verdict{tell}
		}
		if change.call == unix.SYS_UTIMENSAT && !c.modes {
			v[change.call] = touches
		}
		if change.of == ofMode {
			v.mask(mask{change.call, uint32(change.what), rightsToRunners})
		}
	}
	if !c.landlock.keepsFiles() {
		v.keepFiles(arch)
	}
	v.keepBits(arch)
	v.keepClosed(arch)
	if !c.network {
		v[unix.SYS_SOCKET] = verdict{refuse(unix.EACCES)}
		v[unix.SYS_SOCKETPAIR] = connectedPairs
	}
	return v
}

// mask adds to a verdict that a call with such an argument is refused.
func (v verdicts) mask(m mask) {
	v.before(m.call, verdict{load(atArguments + 8*m.argument), jump(unix.BPF_JSET, m.bits, 0, 1), refuse(unix.EPERM)})
}

// before adds to a verdict what comes first. Where it does not end, the rest follows.
func (v verdicts) before(call uint32, first verdict) {
	rest := v[call]
	if rest == nil {
		rest = verdict{allow}
	}
	v[call] = append(first, rest...)
}

// tell leaves a call to who listens, see supervisor_linux.go.
var tell = unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_USER_NOTIF}

// touches lets utimensat say "now" about a file that is open, which is what touch does: Landlock has let the program open it, to read it or to write to it. Both the path
// and the times are addresses, and null. The rest is told.
var touches = verdict{
	load(atArguments + 8), jump(unix.BPF_JEQ, 0, 0, 7), load(atArguments + 12), jump(unix.BPF_JEQ, 0, 0, 5),
	load(atArguments + 16), jump(unix.BPF_JEQ, 0, 0, 3), load(atArguments + 20), jump(unix.BPF_JEQ, 0, 0, 1),
	allow, tell,
}

// connectedPairs are pairs of sockets that cannot be addressed to anybody else, which pairs of datagram sockets can.
var connectedPairs = verdict{
	load(atArguments), jump(unix.BPF_JEQ, unix.AF_UNIX, 0, 5),
	load(atArguments + 8), {Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: 0xf},
	jump(unix.BPF_JEQ, unix.SOCK_STREAM, 1, 0), jump(unix.BPF_JEQ, unix.SOCK_SEQPACKET, 0, 1), allow, refuse(unix.EACCES),
}
