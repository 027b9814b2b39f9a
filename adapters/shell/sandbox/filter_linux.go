//go:build linux && cgo

package sandbox

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"

	"golang.org/x/sys/unix"
)

// filter is a seccomp program in classic BPF, which decides about every system call. When a program
// gets its filter, the kernel translates it to machine code and runs it for each system call
// number. A start is the faster, the shorter the filter and its paths are.
type filter []unix.SockFilter

// auditArch are the architectures that programs can be confined on, as seccomp names them. All are
// little-endian: the lower half of an argument comes first, and is all that the kernel reads of an
// int.
var auditArch = map[string]uint32{
	"amd64":   unix.AUDIT_ARCH_X86_64,
	"arm64":   unix.AUDIT_ARCH_AARCH64,
	"riscv64": unix.AUDIT_ARCH_RISCV64,
}

// Offsets in struct seccomp_data, in bytes.
const (
	offsetNumber    = 0
	offsetArch      = 4
	offsetArguments = 16
)

// x32Numbers is the first system call number of the x32 ABI of x86-64, whose calls are denied.
const x32Numbers = 0x40000000

// verdict is what happens to a system call: a return value of a seccomp filter.
type verdict uint32

const (
	allow  verdict = unix.SECCOMP_RET_ALLOW
	notify verdict = unix.SECCOMP_RET_USER_NOTIF // the supervisor decides
)

// deny lets a call fail with an error.
func deny(errno unix.Errno) verdict { return unix.SECCOMP_RET_ERRNO | verdict(errno) }

// rule decides about one system call: the first clause that applies, or else the default.
type rule struct {
	clauses  []clause
	fallback verdict
}

// clause applies if all of its conditions hold.
type clause struct {
	when []condition
	then verdict
}

// condition compares 32 bits of the arguments.
type condition struct {
	offset uint32 // in struct seccomp_data
	mask   uint32 // applied before the comparison; 0: none
	test   uint16 // BPF_JEQ or BPF_JSET
	value  uint32
	not    bool
}

// argument is the offset of the lower half of an argument.
func argument(index uint32) uint32 { return offsetArguments + 8*index }

// isEqual holds if an argument has a value.
func isEqual(index, value uint32) condition {
	return condition{offset: argument(index), test: unix.BPF_JEQ, value: value}
}

// hasBits holds if an argument has at least one of some bits.
func hasBits(index, bits uint32) condition {
	return condition{offset: argument(index), test: unix.BPF_JSET, value: bits}
}

// masked applies a mask before the comparison.
func (c condition) masked(mask uint32) condition {
	c.mask = mask
	return c
}

var filters sync.Map // of filter, by filterKey

// filterKey holds the parameters of a filter.
type filterKey struct{ network, modes, controlsTruncate bool }

// newFilter returns the filter for a policy.
func newFilter(p Policy, abi ABI) (filter, error) {
	arch, ok := auditArch[runtime.GOARCH]
	if !ok {
		return nil, &UnsupportedError{fmt.Sprintf("Programs cannot be confined on %s. Write sandbox { mode = \"none\" } "+
			"to give them all rights of the server.", runtime.GOARCH)}
	}
	key := filterKey{p.Network, p.Modes, abi.controlsTruncate()}
	if f, ok := filters.Load(key); ok {
		return f.(filter), nil
	}
	f := assembleFilter(newSyscallRules(key, runtime.GOARCH), arch)
	filters.Store(key, f)
	return f, nil
}

// numberRange is a range of system call numbers with the same rule.
type numberRange struct {
	first, last uint32
	rule        rule
}

// ranges returns the numbers that have a rule, in order.
func (s syscallRules) ranges(arch uint32) (ranges []numberRange) {
	for _, number := range slices.Sorted(maps.Keys(s)) {
		last := len(ranges) - 1
		if last >= 0 && ranges[last].last+1 == number && ranges[last].rule.key() == s[number].key() {
			ranges[last].last = number
			continue
		}
		ranges = append(ranges, numberRange{number, number, s[number]})
	}
	if arch == unix.AUDIT_ARCH_X86_64 {
		ranges = append(ranges, numberRange{x32Numbers, ^uint32(0), rule{fallback: deny(unix.ENOSYS)}})
	}
	return ranges
}

// key is equal for equal rules.
func (r rule) key() string { return fmt.Sprint(r) }

// assembleFilter makes a filter of rules. Calls without a rule are allowed; calls of other
// architectures, which have other numbers, are denied.
func assembleFilter(rules syscallRules, arch uint32) filter {
	a := &assembler{verdicts: map[verdict]label{}, rules: map[string]label{}}
	ranges := rules.ranges(arch)
	for _, r := range ranges { // first, so that the tree is in one piece
		a.rule(r.rule)
	}
	a.tree(ranges)
	number := a.emit(unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offsetNumber})
	a.branch(unix.BPF_JEQ, arch, number, a.verdict(deny(unix.ENOSYS)))
	a.emit(unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offsetArch})
	slices.Reverse(a.reversed)
	return a.reversed
}
