//go:build linux && cgo

package shell

import (
	"runtime"

	"golang.org/x/sys/unix"

	"hatchel/hcl"
)

// A filter is a program of seccomp, which the kernel runs at every system call.
type filter []unix.SockFilter

// architectures is how seccomp calls those of Go.
var architectures = map[string]uint32{
	"amd64":   unix.AUDIT_ARCH_X86_64,
	"arm64":   unix.AUDIT_ARCH_AARCH64,
	"riscv64": unix.AUDIT_ARCH_RISCV64,
}

// Where seccomp puts what it asks about, in bytes. All architectures above are little-endian: an argument's lower half comes first, and is all that the
// kernel reads of an int.
const (
	atNumber       = 0
	atArchitecture = 4
	atArguments    = 16
)

// otherABI marks the numbers of system calls in the 32-bit interface of x86-64.
const otherABI = 0x40000000

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
	{unix.ENOSYS, []uint32{unix.SYS_CLONE3}},
	{unix.EPERM, []uint32{unix.SYS_SETNS, unix.SYS_MOUNT, unix.SYS_PIVOT_ROOT, unix.SYS_BPF, unix.SYS_USERFAULTFD, unix.SYS_PERF_EVENT_OPEN, unix.SYS_OPEN_BY_HANDLE_AT}},
}

// A mask is what an argument of a system call must not have.
type mask struct{ call, argument, bits uint32 }

const (
	grantsRights = unix.S_ISUID | unix.S_ISGID // to who runs the file
	another      = ^uint32(0)                  // a process that is not the caller itself: the server is one of the same user
	ofMany       = 2                           // of a group of processes, or of all of a user
)

// masked are those masks by architecture, because old calls exist on the oldest alone.
var masked = map[string][]mask{
	"amd64":   append([]mask{{90, 1, grantsRights}}, masks...), // chmod
	"arm64":   masks,
	"riscv64": masks,
}

var masks = []mask{
	{unix.SYS_CLONE, 0, unix.CLONE_NEWUSER}, {unix.SYS_UNSHARE, 0, unix.CLONE_NEWUSER},
	{unix.SYS_SCHED_SETAFFINITY, 0, another}, {unix.SYS_SCHED_SETSCHEDULER, 0, another}, {unix.SYS_SCHED_SETPARAM, 0, another}, {unix.SYS_SCHED_SETATTR, 0, another},
	{unix.SYS_SETPRIORITY, 0, unix.PRIO_USER}, {unix.SYS_SETPRIORITY, 1, another}, {unix.SYS_IOPRIO_SET, 0, ofMany}, {unix.SYS_IOPRIO_SET, 1, another},
	{unix.SYS_FCHMOD, 1, grantsRights}, {unix.SYS_FCHMODAT, 2, grantsRights}, {unix.SYS_FCHMODAT2, 2, grantsRights},
}

// newFilter refuses what Landlock does not know of: leaving the session, by which a call's processes are found; the limits of other processes; refusals and masks; calls in
// the interface of another architecture, which have other numbers; and, without a network, every socket but pairs that are connected already. Those cannot be addressed
// to anybody else, which pairs of datagram sockets can.
func newFilter(network bool) (filter, error) {
	arch, known := architectures[runtime.GOARCH]
	if !known {
		return nil, hcl.Blame(&architectures, "Programs cannot be confined on %s. Write sandbox { mode = %q } to let them do all that the server may.", runtime.GOARCH, unconfined)
	}
	f := filter{load(atArchitecture), jump(unix.BPF_JEQ, arch, 1, 0), refuse(unix.ENOSYS), load(atNumber)}
	if runtime.GOARCH == "amd64" {
		f = append(f, jump(unix.BPF_JGE, otherABI, 0, 1), refuse(unix.ENOSYS))
	}
	f = append(f, jump(unix.BPF_JEQ, unix.SYS_SETSID, 0, 1), refuse(unix.EPERM))
	for _, r := range refusals {
		for _, number := range r.calls {
			f = append(f, jump(unix.BPF_JEQ, number, 0, 1), refuse(r.with))
		}
	}
	for _, m := range masked[runtime.GOARCH] {
		f = append(f, jump(unix.BPF_JEQ, m.call, 0, 4), load(atArguments+8*m.argument), jump(unix.BPF_JSET, m.bits, 0, 1), refuse(unix.EPERM), load(atNumber))
	}
	f = append(f, jump(unix.BPF_JEQ, unix.SYS_PRLIMIT64, 0, 4), load(atArguments), jump(unix.BPF_JEQ, 0, 0, 1), allow, refuse(unix.EPERM))
	if !network {
		f = append(f, jump(unix.BPF_JEQ, unix.SYS_SOCKET, 0, 1), refuse(unix.EACCES))
		f = append(f, jump(unix.BPF_JEQ, unix.SYS_IO_URING_SETUP, 0, 1), refuse(unix.ENOSYS))
		f = append(f,
			jump(unix.BPF_JEQ, unix.SYS_SOCKETPAIR, 0, 8),
			load(atArguments), jump(unix.BPF_JEQ, unix.AF_UNIX, 0, 5),
			load(atArguments+8), unix.SockFilter{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: 0xf},
			jump(unix.BPF_JEQ, unix.SOCK_STREAM, 1, 0), jump(unix.BPF_JEQ, unix.SOCK_SEQPACKET, 0, 1), allow, refuse(unix.EACCES))
	}
	return append(f, allow), nil
}

var allow = unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW}

// refuse lets a system call fail with an error.
func refuse(err unix.Errno) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(err)}
}

func load(offset uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
}

// jump passes over so many instructions, depending on whether a comparison holds.
func jump(comparison uint16, k uint32, holds, fails uint8) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | comparison | unix.BPF_K, K: k, Jt: holds, Jf: fails}
}
