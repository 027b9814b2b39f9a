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
type filterKey struct{ network, modes, memory, controlsTruncate bool }

// newFilter returns the filter for a policy.
func newFilter(p Policy, abi ABI) (filter, error) {
	arch, ok := auditArch[runtime.GOARCH]
	if !ok {
		return nil, &UnsupportedError{fmt.Sprintf("Programs cannot be confined on %s. Write sandbox { mode = \"none\" "+
			"} to give them all rights of the server.", runtime.GOARCH)}
	}
	key := filterKey{p.Network, p.Modes, p.Memory > 0, abi.controlsTruncate()}
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

// assembler writes a filter from its end to its beginning, because jumps only lead forward.
// Verdicts and rules that occur several times are written once.
type assembler struct {
	reversed filter
	verdicts map[verdict]label
	rules    map[string]label
}

// label is the position of an instruction, counted from the end of the filter.
type label int

func (a *assembler) emit(instruction unix.SockFilter) label {
	a.reversed = append(a.reversed, instruction)
	return label(len(a.reversed) - 1)
}

// distance is how many instructions a jump passes over that is emitted next.
func (a *assembler) distance(to label) int { return len(a.reversed) - int(to) - 1 }

// branch emits a conditional jump.
func (a *assembler) branch(test uint16, value uint32, holds, fails label) label {
	holds, fails = a.near(holds), a.near(fails)
	return a.emit(unix.SockFilter{
		Code: unix.BPF_JMP | test | unix.BPF_K, K: value,
		Jt: uint8(a.distance(holds)), Jf: uint8(a.distance(fails)),
	})
}

// near returns a label that the two jumps of a branch can reach, which have eight bits for the
// distance.
func (a *assembler) near(to label) label {
	const reach = 254 // one less than the largest distance: the other jump may need an instruction between
	if a.distance(to) <= reach {
		return to
	}
	return a.emit(unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JA, K: uint32(a.distance(to))})
}

func (a *assembler) verdict(v verdict) label {
	at, ok := a.verdicts[v]
	if !ok {
		at = a.emit(unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: uint32(v)})
		a.verdicts[v] = at
	}
	return at
}

func (a *assembler) rule(r rule) label {
	if len(r.clauses) == 0 {
		return a.verdict(r.fallback)
	}
	key := r.key()
	at, ok := a.rules[key]
	if !ok {
		for _, c := range r.clauses { // first, so that no verdict lies within the rule
			a.verdict(c.then)
		}
		at = a.verdict(r.fallback)
		for i, c := range slices.Backward(r.clauses) {
			var before []condition
			if i > 0 {
				before = r.clauses[i-1].when
			}
			at = a.clause(c, before, at)
		}
		a.rules[key] = at
	}
	return at
}

// clause emits a clause that another one follows. It loads nothing that the previous clause has
// loaded.
func (a *assembler) clause(c clause, before []condition, next label) label {
	holds := a.verdict(c.then)
	for i, cond := range slices.Backward(c.when) {
		previous := before
		if i > 0 {
			previous = c.when[i-1 : i]
		}
		yes, no := holds, next
		if cond.not {
			yes, no = no, yes
		}
		holds = a.branch(cond.test, cond.value, yes, no)
		if len(previous) == 0 || slices.ContainsFunc(previous, func(p condition) bool {
			return p.offset != cond.offset || p.mask != cond.mask
		}) {
			if cond.mask != 0 {
				a.emit(unix.SockFilter{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: cond.mask})
			}
			holds = a.emit(unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: cond.offset})
		}
	}
	return holds
}

// maxChain is how many ranges are compared one after the other at the leaves of the decision tree.
const maxChain = 3

// tree finds the rule of the number that is loaded, by halving the ranges.
func (a *assembler) tree(ranges []numberRange) label {
	if len(ranges) <= maxChain {
		at := a.verdict(allow)
		for _, r := range slices.Backward(ranges) {
			at = a.match(r, at)
		}
		return at
	}
	middle := len(ranges) / 2
	upper := a.tree(ranges[middle:])
	lower := a.tree(ranges[:middle])
	return a.branch(unix.BPF_JGE, ranges[middle].first, upper, lower)
}

// match emits the comparison of the number with one range.
func (a *assembler) match(r numberRange, next label) label {
	rule := a.rule(r.rule)
	switch {
	case r.first == r.last:
		return a.branch(unix.BPF_JEQ, r.first, rule, next)
	case r.last == ^uint32(0):
		return a.branch(unix.BPF_JGE, r.first, rule, next)
	}
	above := a.branch(unix.BPF_JGE, r.first, rule, a.verdict(allow))
	return a.branch(unix.BPF_JGT, r.last, next, above)
}
