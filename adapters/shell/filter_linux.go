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

// newFilter refuses what Landlock does not know of: leaving the session, by which a call's processes are found; the limits of other processes; calls in the
// interface of another architecture, which have other numbers; and, without a network, every socket but pairs that are connected already. Those cannot be addressed
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
