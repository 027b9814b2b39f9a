//go:build linux && cgo

package shell

import (
	"maps"
	"runtime"
	"slices"

	"golang.org/x/sys/unix"

	"hatchel/hcl"
)

// A filter is a program of seccomp, which the kernel asks what becomes of a system call. It asks about every number there is when a program gets the filter, so that what
// a start costs depends on how many steps an answer takes.
type filter []unix.SockFilter

// A verdict is the part of a filter about one system call, whose number is loaded before it. It ends in every case with what becomes of the call.
type verdict []unix.SockFilter

// verdicts are those about calls by their numbers. The others are allowed.
type verdicts map[uint32]verdict

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

// otherABI is where the numbers of the 32-bit interface of x86-64 begin.
const otherABI = 0x40000000

// newFilter refuses what Landlock does not know of, see refusals_linux.go, and calls in the interface of another architecture, which have other numbers.
func newFilter(c *confinement) (filter, error) {
	arch, known := architectures[runtime.GOARCH]
	if !known {
		return nil, hcl.Blame(&architectures, "Programs cannot be confined on %s. Write sandbox { mode = %q } to let them do all that the server may.", runtime.GOARCH, unconfined)
	}
	f := filter{load(atArchitecture), jump(unix.BPF_JEQ, arch, 1, 0), refuse(unix.ENOSYS), load(atNumber)}
	return append(f, choose(newVerdicts(c, runtime.GOARCH).ranges(runtime.GOARCH))...), nil
}

// A numbers is a range of numbers of system calls, up to the next one's, and what becomes of them.
type numbers struct {
	from uint32
	then verdict
}

// ranges are all numbers there are, in order, as few ranges as there can be.
func (v verdicts) ranges(arch string) []numbers {
	r := []numbers{{then: verdict{allow}}}
	add := func(from uint32, then verdict) {
		if r[len(r)-1].from == from {
			r = r[:len(r)-1]
		}
		if !slices.Equal(r[len(r)-1].then, then) {
			r = append(r, numbers{from, then})
		}
	}
	for _, number := range slices.Sorted(maps.Keys(v)) {
		add(number, v[number])
		add(number+1, verdict{allow})
	}
	if arch == "amd64" {
		add(otherABI, verdict{refuse(unix.ENOSYS)})
	}
	return r
}

// choose finds the range of the number that is loaded by halving.
func choose(r []numbers) filter {
	if len(r) == 1 {
		return filter(r[0].then)
	}
	below, rest := choose(r[:len(r)/2]), choose(r[len(r)/2:])
	from := r[len(r)/2].from
	f := filter{jump(unix.BPF_JGE, from, 0, 1), {Code: unix.BPF_JMP | unix.BPF_JA, K: uint32(len(below))}}
	if near := uint8(len(below)); int(near) == len(below) {
		f = filter{jump(unix.BPF_JGE, from, near, 0)}
	}
	return slices.Concat(f, below, rest)
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
